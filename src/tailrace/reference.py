"""`python -m tailrace.reference DIRECTORY`: the reference pages, written from the tables that the program itself uses.

Statements come from the modules of `statements/` (what a module says of itself, its options and their lines), functions
from the tables of `plan/functions/`.  `make reference` writes them to docs/reference; a test holds them to the code.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tailrace import statements
from tailrace.cli import settings
from tailrace.cli.settings import ENGINE, SERVER
from tailrace.engine.system.registry import TABLES as SYSTEM_TABLES
from tailrace.plan.functions.aggregates import AGGREGATES
from tailrace.plan.functions.registry import FAMILIES
from tailrace.plan.functions.tables import TABLES
from tailrace.plan.functions.windows import WINDOWS
from tailrace.sql.options import Option
from tailrace.statements.registry import MODULES
from tailrace.types.core import SqlType

_NOT_FOR_USERS = "Not for users."
_WRITTEN = "<!-- Written by `make reference`. -->"
_HELPERS = {"contract", "registry", "nested"}
# Modules that several statements share: options that stand inside another clause.
_CLAUSES = ("formats", "avro_options", "ingest", "topic_refresh")


def pages() -> dict[str, str]:
    """Name of a file → its text."""
    return {
        "statements.md": _statements(),
        "functions.md": _functions(),
        "system-relations.md": _system_relations(),
        "settings.md": _settings(),
    }


def main(arguments: Sequence[str]) -> int:
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text)
    return 0


# ── statements ──


def _statements() -> str:
    known = {module.__name__: module for module in map(_as_module, MODULES)}
    parts = [f"{_WRITTEN}\n\n# Statements\n"]
    parts += [_statement(module) for module in sorted(known.values(), key=_title)]
    parts.append("## What statements share\n")
    for folder in ("connections", "sources", "sinks"):
        parts += [_clause(module, folder) for module in _modules_in(folder)]
    parts += [_clause(importlib.import_module(f"{statements.__name__}.{name}"), "") for name in _CLAUSES]
    return "\n".join(part for part in parts if part)


def _as_module(module: Any) -> ModuleType:
    assert isinstance(module, ModuleType)
    return module


def _title(module: ModuleType) -> str:
    starts: tuple[tuple[str, ...], ...] = module.STARTS
    if len(starts) == 1:
        return " ".join(starts[0])
    return _name(module).upper()


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].replace("_", " ")


def _statement(module: ModuleType) -> str:
    refused = "" if hasattr(module, "execute") else "\nRead, and refused for now.\n"
    return f"## {_title(module)}\n\n```text\n{_said(module)}\n```\n{refused}{_options(module)}"


def _clause(module: ModuleType, folder: str) -> str:
    table = _options(module)
    if not table:
        return ""
    title = f"{folder.capitalize()}: {_name(module)}" if folder else _name(module).capitalize()
    return f"### {title}\n\n```text\n{_said(module)}\n```\n{table}"


def _modules_in(folder: str) -> Iterator[ModuleType]:
    package = importlib.import_module(f"{statements.__name__}.{folder}")
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        if found.name not in _HELPERS:
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def _said(module: ModuleType) -> str:
    return (module.__doc__ or "").strip()


def _options(module: ModuleType) -> str:
    """Those that the module itself declares."""
    found = [value for name, value in vars(module).items() if isinstance(value, Option) and name.isupper()]
    rows = [_option(each) for each in found if each.doc != _NOT_FOR_USERS]
    return _table(("option", "takes", "default", ""), rows) if rows else ""


def _option(option: Option[Any]) -> tuple[str, ...]:
    default = "required" if option.required else "" if option.default is None else f"`{option.default}`"
    return f"`{option.name}`", option.kind.shown, default, option.doc


# ── functions ──


def _functions() -> str:
    parts = [f"{_WRITTEN}\n\n# Functions and operators\n"]
    for family in FAMILIES:
        signatures = (_signature(each.name, each.arguments, each.result, each.variadic) for each in family.FUNCTIONS)
        parts.append(_family(family, signatures))
    parts.append(_entries("Aggregates", ((e.name, e.arguments, e.result) for e in AGGREGATES)))
    parts.append(_entries("Window functions", ((e.name, e.arguments, e.result) for e in WINDOWS)))
    tables = (f"{_call(each.name, each.arguments)} → {_columns(each.columns)}" for each in TABLES)
    parts.append(f"## Set-returning functions\n\n{_listed(tables)}")
    return "\n".join(parts)


def _family(family: ModuleType, signatures: Iterable[str]) -> str:
    title = _said(family).split("\n")[0].rstrip(".")
    return f"## {title}\n\n{_listed(signatures)}"


def _entries(title: str, entries: Iterable[tuple[str, Sequence[SqlType], SqlType]]) -> str:
    return f"## {title}\n\n{_listed(_signature(*entry) for entry in entries)}"


def _signature(name: str, arguments: Sequence[SqlType], result: SqlType, variadic: bool = False) -> str:
    return f"{_call(name, arguments, variadic)} → {result}"


def _call(name: str, arguments: Sequence[SqlType], variadic: bool = False) -> str:
    types = ", ".join(map(str, arguments))
    return f"{name}({types}{', …' if variadic else ''})"


def _columns(columns: Sequence[tuple[str, SqlType]]) -> str:
    return ", ".join(f"{name} {type}" for name, type in columns)


# ── system relations and settings ──


def _system_relations() -> str:
    parts = [f"{_WRITTEN}\n\n# System relations\n\nAnyone can SELECT from these; `?` after a type: may be NULL.\n"]
    for schema in dict.fromkeys(table.schema for table in SYSTEM_TABLES):
        lines = [
            (f"`{table.name}`", ", ".join(f"{c.name} {c.type}{'?' if c.nullable else ''}" for c in table.columns))
            for table in SYSTEM_TABLES
            if table.schema == schema
        ]
        parts.append(f"## {schema}\n{_table(('relation', 'columns'), sorted(lines))}")
    return "\n".join(parts)


def _settings() -> str:
    rows = [
        (f"`{s.flag}`", f"`{s.variable}`", s.shown, "" if s.default is None else f"`{s.default}`", s.doc)
        for s in (*SERVER, *ENGINE)
    ]
    table = _table(("flag", "variable", "takes", "default", ""), rows)
    return f"{_WRITTEN}\n\n# Settings\n\n{_said(settings)}\n{table}"


def _listed(lines: Iterable[str]) -> str:
    return "".join(f"- `{line}`\n" for line in dict.fromkeys(lines))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
