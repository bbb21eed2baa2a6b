"""COPY … TO 's3://…': a relation or query at one tick, as files in a bucket, written by Spark's tasks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tailrace.catalog.items import Item
from tailrace.engine import aws, copying
from tailrace.engine.asking import answers, settled
from tailrace.engine.contents import reading, text_of
from tailrace.engine.privileges import use
from tailrace.engine.queries import collect, columns_of
from tailrace.errors import InvalidOption, NotSupported, SqlError, TailraceError, TypeMismatch
from tailrace.formats import parquet_columns
from tailrace.formats.csv_lines import CsvStyle
from tailrace.plan.bind import BoundQuery
from tailrace.plan.data_errors import explain
from tailrace.sinks.s3_export import Export, new_id
from tailrace.sinks.s3_files import CsvFiles, FileFormat, ParquetFiles
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option
from tailrace.sql.unparse import quote_ident
from tailrace.statements import copy
from tailrace.statements.contract import Notice, Result
from tailrace.statements.select import Select
from tailrace.ticks.beside import Errand
from tailrace.types.core import TEXT, UNKNOWN, Char, Schema, Varchar

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.copy import CopyTo

_UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_DEFAULT_SIZE, _LEAST_SIZE, _MOST_SIZE = 256 << 20, 16 << 20, 4 << 30
_SAY_SECONDS = 5.0
_CANCEL_SECONDS = 0.5
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b)?\s*", re.IGNORECASE)


def to_bucket(session: EngineSession, statement: CopyTo) -> Result:
    """Runs a Spark job for the target, if that is an expression; the one that writes is still to be done."""
    if statement.format is None:
        raise InvalidOption("COPY TO <expr> requires a FORMAT option")
    connection = _connection(session, statement)
    largest = _largest(statement)
    bound = _bound(session, statement)
    schema = columns_of(bound)
    if not schema:
        raise NotSupported("COPY of a query without columns to files not yet supported")
    format, select = _format(statement, schema)
    scheme, directory = _target(session, statement)
    reached = aws.connection(session.engine, connection)
    if scheme == "gs" and reached.endpoint is None:
        raise InvalidOption(
            f'AWS connection "{reached.name}" has no ENDPOINT, which a \'gs://...\' url needs',
            hint="Google's is 'https://storage.googleapis.com'.",
            position=statement.options.position(copy.AWS_CONNECTION),
        )
    mark = hashlib.sha256(session.engine.region.encode()).hexdigest()[:8]
    export = Export(
        id=new_id(mark),
        mark=mark,
        connection=reached,
        directory=directory,
        format=format,
        largest=largest,
        scheme=scheme,
    )
    notices = [_begins_anew(export, left)] if (left := export.check()) else []
    return Result(tag="COPY {rows}", notices=notices, work=_work(session, export, bound, select))


def _begins_anew(export: Export, left: int) -> Notice:
    return Notice(
        f"a COPY to {export.shown} has not finished, and is begun anew",
        detail=f"It has left {left} objects, which are replaced.",
    )


def _work(session: EngineSession, export: Export, bound: BoundQuery, select: str) -> Generator[Notice, None, int]:
    """Writes beside, and says now and then how far it is.  Whoever closes it ends the Spark job."""
    running = session.engine.exports
    if running.setdefault(export.directory, export.id) != export.id:
        raise SqlError(f"another COPY to {export.shown} is running", sqlstate="55006")
    try:
        return (yield from _written(session, export, bound, select))
    finally:
        del running[export.directory]


def _written(session: EngineSession, export: Export, bound: BoundQuery, select: str) -> Generator[Notice, None, int]:
    rows: list[int] = []
    writing = Errand(work=lambda: _write(session, export, bound, select), then=rows.append)
    session.exported_bytes = 0
    writing.begin()
    try:
        while not writing.is_over(_SAY_SECONDS):
            try:
                files, session.exported_bytes = export.complete()
            except TailraceError:  # whether the bucket can be written to, the tasks will tell
                continue
            yield Notice(f"{files} files with {session.exported_bytes} bytes are complete in {export.shown}")
        writing.finish()
    finally:
        while not writing.is_over(_CANCEL_SECONDS):
            session.cancel()
        session.exported_bytes = None
    return rows[0]


def _write(session: EngineSession, export: Export, bound: BoundQuery, select: str) -> int:
    """Runs one Spark job.  Returns when every file is complete."""
    engine = session.engine
    node = settled(bound.node, answers(session))
    with reading(engine, node) as t:
        rows = engine.views.files.sql(f"SELECT {select} FROM ({text_of(engine, node, t)})")
        try:
            return export.run(rows, lambda outcomes: session.interruptible(outcomes.toArrow)).messages
        except Exception as error:
            raise explain(error) from error


def _connection(session: EngineSession, statement: CopyTo) -> Item:
    name = statement.options.get(copy.AWS_CONNECTION)
    if name is None:
        raise InvalidOption("AWS CONNECTION is required for COPY ... TO <expr>")
    return use(session, name)


def _bound(session: EngineSession, statement: CopyTo) -> BoundQuery:
    match statement.of:
        case Name() as name:
            relation = session.resolve(name)
            if relation.schema is None:
                raise SqlError(f"{relation.kind} {relation.name.item} has no rows to copy", sqlstate="42809")
            full = relation.name.parts
            return session.bind(QueryText("SELECT * FROM " + ".".join(map(quote_ident, full))))
        case Select(query=query, as_of=None):
            bound = session.bind(query)
            if bound.order_by:
                raise NotSupported(
                    "ORDER BY is not supported in SELECT query for COPY statements",
                    detail="Rows are spread over files that are written at the same time.",
                )
            return bound
        case Select():
            raise NotSupported("AS OF in COPY ... TO <expr> not yet supported")
        case _:
            raise NotSupported("SUBSCRIBE in COPY ... TO <expr> not supported")


def _format(statement: CopyTo, schema: Schema) -> tuple[FileFormat, str]:
    """And the select list that makes the columns it writes."""
    places = [f"c{i}" for i in range(len(schema))]
    match statement.format:
        case "csv":
            given = copying.style(statement, "TO")
            style = CsvStyle(delimiter=given.delimiter, quote=given.quote, escape=given.escape, null=given.null)
            header = style.header(schema) if given.header else ""
            return CsvFiles(header), f"{style.line(schema, places)} AS line"
        case "parquet":
            for option in (copy.DELIMITER, copy.NULL, copy.QUOTE, copy.ESCAPE, copy.HEADER):
                _refuse(statement, option, "FORMAT parquet")
            unknown = parquet_columns.not_encodable(schema)
            if unknown:
                raise NotSupported(
                    f"Cannot encode the following columns/types: [{', '.join(unknown)}]",
                    hint="Cast them, for example to text.",
                )
            return ParquetFiles(parquet_columns.arrow_schema(schema)), parquet_columns.select(schema, places)
        case "text" | "binary":
            raise NotSupported(f"FORMAT {str(statement.format).upper()} not yet supported")
        case _:
            raise InvalidOption(
                f"unknown FORMAT: {statement.format}", position=statement.options.position(copy.FORMAT)
            )


def _refuse(statement: CopyTo, option: Option[Any], where: str) -> None:
    if statement.options.has(option):
        message = f"{option.name} option is not supported with {where}"
        raise InvalidOption(message, position=statement.options.position(option))


def _largest(statement: CopyTo) -> int:
    given = statement.options.get(copy.MAX_FILE_SIZE)
    if given is None:
        return _DEFAULT_SIZE
    position = statement.options.position(copy.MAX_FILE_SIZE)
    found = _SIZE.fullmatch(given)
    if found is None:
        raise InvalidOption(f"invalid MAX FILE SIZE: {given}", hint="For example '100MB'.", position=position)
    size = int(float(found[1]) * _UNITS[(found[2] or "").lower()])
    if size < _LEAST_SIZE:
        raise InvalidOption("MAX FILE SIZE cannot be less than 16MB", position=position)
    if size > _MOST_SIZE:
        raise InvalidOption("MAX FILE SIZE cannot be greater than 4GB", position=position)
    return size


def _target(session: EngineSession, statement: CopyTo) -> tuple[str, str]:
    """The scheme, and the bucket and path, that the target's expression gives, evaluated once."""
    assert statement.target is not None
    expression, select = statement.target, "SELECT "
    bound = session.bind(QueryText(select + expression.text, expression.start - len(select)))
    [column] = columns_of(bound)
    if column.type not in (TEXT, UNKNOWN) and not isinstance(column.type, Varchar | Char):
        raise TypeMismatch(
            f"COPY TO target must have type text, not type {column.type}", position=expression.start + 1
        )
    [target] = collect(session, bound, ()).column(0).to_pylist()
    if target is None:
        raise SqlError("COPY TO target value can not be null", position=expression.start + 1, sqlstate="22004")
    parts = urlsplit(target)
    if parts.scheme not in ("s3", "gs") or not parts.netloc:
        raise SqlError(
            "only 's3://...' and 'gs://...' urls are supported as COPY TO target",
            position=expression.start + 1,
            sqlstate="22023",
        )
    directory = target.split("://", 1)[1].rstrip("/")
    odd = {"", ".", ".."} & set(directory.split("/"))
    if odd:  # S3 has keys like that, and most of its clients cannot name them
        raise SqlError(
            f'COPY TO target must not have "{min(odd)}" between two slashes',
            position=expression.start + 1,
            sqlstate="22023",
        )
    return parts.scheme, directory
