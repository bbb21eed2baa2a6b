"""Every statement in tests/data/statements, and every example of the reference pages, parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.sql.parser import StatementText, split
from tailrace.statements.registry import MODULES, parse_statement

DATA = Path(__file__).parents[2] / "data"


def statements(folder: str, pattern: str = "*.sql") -> list[object]:
    return [
        pytest.param(statement, id=f"{file.stem}-{i}")
        for file in sorted((DATA / folder).glob(pattern))
        for i, statement in enumerate(split(file.read_text()))
    ]


@pytest.mark.parametrize("statement", statements("statements"))
def test_it_parses(statement: StatementText) -> None:
    parse_statement(statement.text, statement.start)


@pytest.mark.parametrize("statement", statements("seed_statements"))
def test_an_example_of_the_reference_parses(statement: StatementText) -> None:
    parse_statement(statement.text, statement.start)


def test_no_two_statements_begin_alike() -> None:
    starts = [start for module in MODULES for start in module.STARTS]
    assert len(starts) == len(set(starts))


def test_every_file_of_the_folder_with_a_start_is_registered() -> None:
    import tailrace.statements.registry as registry

    folder = Path(registry.__file__).parent
    declared = {file.stem for file in folder.glob("*.py") if "\nSTARTS" in file.read_text()}
    assert declared == {module.__name__.rsplit(".", 1)[1] for module in MODULES}  # type: ignore[attr-defined]
