"""A name for a value inside one Spark expression, so that its text stands there once."""

from __future__ import annotations

import re

_SIMPLE = re.compile(r"[\w.`']{1,40}")


def let(values: dict[str, str], body: str) -> str:
    """`body`, in which `{a}` stands for the value named a.

    A value whose text is short is put in; others are bound by a lambda, which Spark interprets: slower than
    generated code, but the text cannot grow with every level of nesting.
    """
    long = {name: text for name, text in values.items() if not _SIMPLE.fullmatch(text)}
    places = {name: text for name, text in values.items() if name not in long}
    if not long or all(body.count("{" + name + "}") <= 1 for name in long):
        return body.format(**values)
    fields = ", ".join(f"'{name}', {text}" for name, text in long.items())
    inner = body.format(**places, **{name: f"v.{name}" for name in long})
    return f"element_at(transform(array(named_struct({fields})), v -> {inner}), 1)"
