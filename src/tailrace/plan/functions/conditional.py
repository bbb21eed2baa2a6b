"""COALESCE, NULLIF, GREATEST, LEAST."""

from __future__ import annotations

from tailrace.plan.functions.entry import function, joined

COALESCE = "coalesce"

FUNCTIONS = (
    function("coalesce(T...) -> T", joined("coalesce({})", ", "), nulls="always"),
    function("nullif(T, T) -> T", "nullif({0}, {1})", nulls="always"),
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
