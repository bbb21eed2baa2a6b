"""The page of Flink's options says what there is, and every option has a test."""

from __future__ import annotations

import pytest

from docs.flink_options_page import PAGE, covering, page, used_by
from tailrace.statements.flink.format_options import FORMATS
from tailrace.statements.flink.options import CONNECTORS

NAMES = sorted(
    {option.name for options in CONNECTORS.values() for option in options}
    | {f"{format}.{option.name}" for format, options in FORMATS.items() for option in options}
)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_used_by_a_test(name: str) -> None:
    assert used_by(name, covering()) is not None


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page()
