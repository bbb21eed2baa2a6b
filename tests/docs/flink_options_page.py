"""docs/reference/flink-kafka-options.md, made from the table of options and from the tests that mention each.

    python tests/docs/flink_options_page.py        # writes it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailrace.sql.durations import Duration
from tailrace.sql.options import Option
from tailrace.statements.flink.format_options import FORMATS
from tailrace.statements.flink.options import CONNECTORS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "flink-kafka-options.md"
TESTS = (ROOT / "tests" / "kafka", ROOT / "tests" / "unit" / "statements")

HEAD = """# Options of Kafka tables in Flink's SQL

`CREATE TABLE … WITH ('connector' = 'kafka' | 'upsert-kafka', …)`: every option there is, and a test that uses it.  An
option that is not here is refused, with its place and the nearest name; `properties.*` goes to the Kafka clients, and a
property that has no effect is told in a notice.  This page is made by `tests/docs/flink_options_page.py`.
"""


def covering() -> dict[str, str]:
    """Text in a test → the test, for all that mentions Flink's options."""
    found: dict[str, str] = {}
    for file in sorted(path for folder in TESTS for path in folder.glob("test_*flink*.py")):
        tree = ast.parse(file.read_text())
        shared = {node.targets[0].id: node for node in tree.body if _is_constant(node)}  # type: ignore[attr-defined]
        for function in tree.body:
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                named = [shared[n.id] for n in ast.walk(function) if isinstance(n, ast.Name) and n.id in shared]
                for text in _texts(function, *named):
                    found.setdefault(text, f"{file.relative_to(ROOT)}::{function.name}")
    return found


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()


def _texts(*nodes: ast.AST) -> Iterator[str]:
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.keyword) and node.arg:
                yield node.arg


def used_by(name: str, texts: dict[str, str]) -> str | None:
    """A test that mentions the option alone, or in quotes inside a statement."""
    return texts.get(name) or next((test for text, test in texts.items() if f"'{name}'" in text), None)


def page() -> str:
    texts = covering()
    parts = [HEAD]
    for connector, options in CONNECTORS.items():
        parts.append(f"\n## `'connector' = '{connector}'`\n\n" + _table(options, "", texts))
    for format, options in FORMATS.items():
        parts.append(f"\n## `'format' = '{format}'`\n\n" + _table(options, f"{format}.", texts))
    return "".join(parts)


def _table(options: tuple[Option[Any], ...], prefix: str, texts: dict[str, str]) -> str:
    lines = ["| option | type | default | meaning | test |", "|---|---|---|---|---|"]
    for option in sorted(options, key=lambda each: each.name):
        name = prefix + option.name
        test = used_by(name, texts)
        default = "required" if option.required else _shown(option.default)
        shown = f"`{test}`" if test else "none"
        lines.append(f"| `{name}` | {option.kind.shown} | {default} | {option.doc} | {shown} |")
    return "\n".join(lines) + "\n"


def _shown(default: Any) -> str:
    if default is None:
        return ""
    text = default.text if isinstance(default, Duration) else str(default)
    return f"`{text.lower() if isinstance(default, bool) else text}`"


if __name__ == "__main__":
    PAGE.write_text(page())
