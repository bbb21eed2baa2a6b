"""Statements inside statements: EXPLAIN, PREPARE, DECLARE and COPY hold another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.sql.parser import Parser

if TYPE_CHECKING:
    from tailrace.statements.registry import Statement


def parse_nested(p: Parser) -> Statement:
    """Any statement, from here to where it ends."""
    from tailrace.statements.registry import dispatch  # the registry lists the callers of this

    with p.nested():
        return dispatch(p)
