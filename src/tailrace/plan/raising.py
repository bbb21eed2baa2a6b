"""How generated Spark text raises an error of ours: one mark that data_errors.py recognises in Spark's
message.
"""

from __future__ import annotations

from tailrace.plan.spark_literals import quoted

BEGIN, END = "TAILRACE<", ">TAILRACE"


def raising(sqlstate: str, message: str, value: str | None = None) -> str:
    """Spark text that raises; a `{}` in the message is replaced by the text `value` at run time."""
    head, brace, tail = message.partition("{}")
    if not brace or value is None:
        return f"raise_error({quoted(f'{BEGIN}{sqlstate}:{message}{END}')})"
    return (
        f"raise_error(concat({quoted(f'{BEGIN}{sqlstate}:{head}')}, coalesce({value}, 'NULL'),"
        f" {quoted(tail + END)}))"
    )
