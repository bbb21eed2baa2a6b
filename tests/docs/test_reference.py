"""The reference pages are those that the code would write now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.reference import pages

DIRECTORY = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize(("name", "text"), pages().items(), ids=pages().keys())
def test_a_page_is_what_the_code_says(name: str, text: str) -> None:
    assert (DIRECTORY / name).read_text() == text, "the page is older than the code: make reference"
