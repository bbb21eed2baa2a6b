"""The same SQL means the same to PostgreSQL and to Tailrace: values, types, and the SQLSTATE of what must fail.

`expressions/*.sql` hold one expression a line; `queries/*.sql` statements that end in a semicolon, tables and
rows first.  After each change of a row in `queries`, every materialized view made so far is compared.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postgres.both import Both, difference

_HERE = Path(__file__).parent


def _files(folder: str) -> list[Path]:
    return sorted((_HERE / folder).glob("*.sql"))


def expressions(file: Path) -> list[str]:
    lines = file.read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("--")]


def statements(file: Path) -> list[str]:
    text = re.sub(r"^--.*$", "", file.read_text(), flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";\s*$", text, flags=re.MULTILINE) if part.strip()]


@pytest.mark.parametrize("file", _files("expressions"), ids=lambda file: file.stem)
def test_an_expression_means_the_same(file: Path, both: Both) -> None:
    found = both.differences(expressions(file))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("file", _files("queries"), ids=lambda file: file.stem)
def test_a_query_means_the_same(file: Path, both: Both) -> None:
    views: list[str] = []
    found: list[str] = []
    for statement in statements(file):
        asked = [statement]
        if re.match(r"INSERT|UPDATE|DELETE", statement, re.IGNORECASE):
            asked += [f"SELECT * FROM {view}" for view in views]
        if made := re.match(r"CREATE MATERIALIZED VIEW (\w+)", statement, re.IGNORECASE):
            views.append(made[1])
            asked.append(f"SELECT * FROM {made[1]}")
        for each in asked:
            postgres, tailrace = both.run(each)
            if not postgres.same_as(tailrace):
                when = each if each == statement else f"{each}  -- after {statement}"
                found.append(difference(when, postgres, tailrace))
    assert not found, "\n" + "\n".join(found)


def test_there_is_much_to_compare() -> None:
    """So that a folder that is not found does not pass."""
    assert sum(len(expressions(file)) for file in _files("expressions")) >= 300
    assert sum(len(statements(file)) for file in _files("queries")) >= 100
