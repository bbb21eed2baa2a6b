"""COMMENT ON kind name IS 'text' | NULL, also ON COLUMN relation.column."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine import clusters, namespaces
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_over
from tailrace.engine.system.shows import role_key
from tailrace.errors import SyntaxFailure, UnknownColumn
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("COMMENT", "ON"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """`text` is None to remove it.  With a `column`, `object` is a relation or type and `kind` None."""

    object: Name
    text: str | None
    kind: ObjectKind | None = None
    column: str | None = None


def parse(p: Parser) -> Comment:
    p.expect("COMMENT", "ON")
    kind, column = None, None
    if p.accept("COLUMN"):
        object_, column = _column(p)
    else:
        kind = ObjectKind(p.phrase("COLUMN", *(kind.upper() for kind in ObjectKind)).lower())
        object_ = p.name(f"{kind} name")
    p.expect("IS")
    text = None if p.accept("NULL") else p.string("literal string or NULL")
    return Comment(object=object_, text=text, kind=kind, column=column)


def _column(p: Parser) -> tuple[Name, str]:
    name = p.name("column name")
    if len(name.parts) < 2:
        message = "need to specify an object and a column"
        raise SyntaxFailure(message, position=name.position)
    return Name(name.parts[:-1], name.position), name.item


def execute(statement: Comment, session: Session, arguments: Arguments) -> Result:
    if statement.kind is ObjectKind.CLUSTER:
        cluster = clusters.owned(session, statement.object)
        assert cluster is not None
        session.engine.storage.comment(cluster.key, 0, statement.text)
        return Result(tag="COMMENT")
    if statement.kind in (ObjectKind.DATABASE, ObjectKind.SCHEMA, ObjectKind.ROLE):
        session.engine.storage.comment(_key(statement, session), 0, statement.text)
        return Result(tag="COMMENT")
    item = session.resolve(statement.object) if statement.kind is None else session.resolve(
        statement.object, str(statement.kind)
    )
    place = 0
    if statement.column is not None:
        names = [column.name for column in item.schema or ()]
        if statement.column not in names:
            raise UnknownColumn(f'column "{statement.object}.{statement.column}" does not exist')
        place = names.index(statement.column) + 1
    session.engine.storage.comment(item.id, place, statement.text)
    return Result(tag="COMMENT")


def _key(statement: Comment, session: Session) -> str:
    """What a comment on something that is no item is kept under."""
    name = statement.object.item
    if statement.kind is ObjectKind.ROLE:
        require_over(session, name, "comment on role")
        return role_key(session.engine.role_store.get(name))
    found = namespaces.owned(session, str(statement.kind), statement.object)
    assert found is not None
    return found.key
