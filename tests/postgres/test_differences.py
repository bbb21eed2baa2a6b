"""Every difference that docs/postgres-differences.md lists is real: what it says of both is what they answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postgres.both import Answer, Both

_PAGE = Path(__file__).parents[2] / "docs" / "postgres-differences.md"
_LINE = re.compile(r"^\| `(.+)` \| (`(?:.*)`|error \w{5}) \| (`(?:.*)`|error \w{5}) \| ", re.MULTILINE)
LISTED = [found.groups() for found in _LINE.finditer(_PAGE.read_text())]


def _told(answer: Answer) -> str:
    return f"error {answer.error}" if answer.error is not None else f"`{answer.rows[0][0]}`"


@pytest.mark.parametrize(("sql", "theirs", "ours"), LISTED, ids=lambda text: text[:40])
def test_a_listed_difference_is_real(sql: str, theirs: str, ours: str, both: Both) -> None:
    found = [client.ask(f"SELECT {sql}", exactly=True) for client in (both.postgres, both.tailrace)]
    assert [_told(answer) for answer in found] == [theirs, ours]
    assert theirs != ours


def test_the_page_is_read() -> None:
    assert len(LISTED) == _PAGE.read_text().count("\n| `")
