"""ALTER CLUSTER [IF EXISTS] name SET (option,…) | RESET (option,…) | SWAP WITH other | RENAME | OWNER."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tailrace.engine import clusters
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.options import Given, Options, option_name, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common
from tailrace.statements.contract import Result
from tailrace.statements.create_cluster import OPTIONS

STARTS = (("ALTER", "CLUSTER"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterCluster:
    name: Name
    change: Options = field(default_factory=Options)
    reset: Options = field(default_factory=Options)
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SwapCluster:
    name: Name
    other: str


ChangeCluster: TypeAlias = AlterCluster | SwapCluster | Common


def parse(p: Parser) -> ChangeCluster:
    p.expect("ALTER", "CLUSTER")
    target = alter_object.target(p, ObjectKind.CLUSTER)
    if common := alter_object.common(p, target):
        return common
    if p.accept("SWAP", "WITH"):
        return SwapCluster(name=target.name, other=p.identifier("cluster name"))
    if p.accept("SET"):
        change = parse_options(p, OPTIONS)
        return AlterCluster(name=target.name, change=change, if_exists=target.if_exists)
    if p.accept("RESET"):
        reset = Options(p.items(lambda: Given(option_name(p, OPTIONS), None)))
        return AlterCluster(name=target.name, reset=reset, if_exists=target.if_exists)
    raise p.expected("one of SET or RESET or SWAP or RENAME or OWNER")


def execute(statement: AlterCluster | SwapCluster, session: Session, arguments: Arguments) -> Result:
    if isinstance(statement, SwapCluster):
        clusters.swap(session, statement.name, statement.other)
    else:
        clusters.alter(session, statement)
    return Result(tag="ALTER CLUSTER")
