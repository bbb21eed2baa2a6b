"""COALESCE, NULLIF, GREATEST, LEAST, and the assertion that a value is there."""

from __future__ import annotations

from tailrace.plan.functions.entry import function, joined
from tailrace.plan.raising import raising

COALESCE = "coalesce"
ERROR_IF_NULL = "mz_error_if_null(T, text)"

FUNCTIONS = (
    function("coalesce(T...) -> T", joined("coalesce({})", ", "), nulls="always"),
    function("nullif(T, T) -> T", "nullif({0}, {1})", nulls="always"),
    function(
        f"{ERROR_IF_NULL} -> T",
        lambda call, render: "coalesce({}, {})".format(
            render(call.arguments[0]), raising("23502", "{}", render(call.arguments[1]))
        ),
    ),
    function(
        "greatest(T...) -> T",
        lambda call, render: _extreme("greatest", [render(a) for a in call.arguments]),
        nulls="always",
    ),
    function(
        "least(T...) -> T",
        lambda call, render: _extreme("least", [render(a) for a in call.arguments]),
        nulls="always",
    ),
)


def _extreme(name: str, texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{name}({', '.join(texts)})"
