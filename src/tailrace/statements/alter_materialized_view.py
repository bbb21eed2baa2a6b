"""ALTER MATERIALIZED VIEW [IF EXISTS] name APPLY REPLACEMENT other | SET (RETAIN HISTORY …) | RESET (…)
| RENAME TO | OWNER TO"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object, retain_history
from tailrace.statements.alter_object import Common
from tailrace.statements.retain_history import AlterHistory

STARTS = (("ALTER", "MATERIALIZED", "VIEW"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplyReplacement:
    name: Name
    replacement: Name
    if_exists: bool = False


AlterMaterializedView: TypeAlias = ApplyReplacement | AlterHistory | Common


def parse(p: Parser) -> AlterMaterializedView:
    p.expect("ALTER", "MATERIALIZED", "VIEW")
    target = alter_object.target(p, ObjectKind.MATERIALIZED_VIEW)
    if p.accept("APPLY"):
        p.expect("REPLACEMENT")
        replacement = p.name("view name")
        return ApplyReplacement(name=target.name, replacement=replacement, if_exists=target.if_exists)
    change = alter_object.common(p, target) or retain_history.parse_change(p, target)
    if change is None:
        raise p.expected("one of APPLY or SET or RESET or RENAME or OWNER")
    return change
