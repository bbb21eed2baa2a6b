"""Avro in sinks: from the options of FORMAT AVRO and the comments of the catalog to an encoder.

Comments are copied into the statement when the sink is created, as options of the lowest rank: what readers of the
topic were told does not change behind their back, and SHOW CREATE SINK says what it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import connections
from tailrace.errors import InvalidOption, UnknownColumn
from tailrace.formats.avro_schema import Naming
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.formats.registry import Subject, check_fits
from tailrace.sinks.envelope import DEBEZIUM
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.sql.names import Name
from tailrace.sql.options import Given, Options
from tailrace.statements.avro_options import (
    DOC_ON_COLUMN,
    DOC_ON_TYPE,
    VALUE_FULLNAME,
    AvroDoc,
    AvroSinkOptions,
    avro_sink_options,
)
from tailrace.statements.formats import AvroRegistry, Format, Formats
from tailrace.statements.sinks.contract import SinkEnvelope
from tailrace.statements.sinks.kafka import KafkaTarget

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

KEY, VALUE = "key", "value"
_FULLNAMES = {KEY: "row", VALUE: "envelope"}


def encoder(engine: Engine, format: AvroRegistry, side: str, target: KafkaTarget, relation: Item) -> AvroEncoder:
    """Of the keys or the values that go to the target's topic.  Asks nobody."""
    options = format.options
    connection = connections.registry(engine, engine.catalog.resolve(format.connection.parts))
    fullname = options.key_fullname if side == KEY else options.value_fullname
    level = options.key_compatibility_level if side == KEY else options.value_compatibility_level
    docs = _docs(engine, options, side, relation)
    naming = Naming(
        fullname=fullname or _FULLNAMES[side],
        null_defaults=options.null_defaults,
        doc=docs.get(None),
        tells_origin=target.tells_origin,
        column_docs={column: text for column, text in docs.items() if column is not None},
    )
    subject = Subject(connection=connection, name=f"{target.topic}-{side}", level=level)
    return AvroEncoder(naming=naming, subject=subject)


def _docs(engine: Engine, options: AvroSinkOptions, side: str, relation: Item) -> dict[str | None, str]:
    """Documentation by column, and of the relation itself under None.  What stands first is what counts."""
    docs: dict[str | None, str] = {}
    for doc in (*(options.key_docs if side == KEY else options.value_docs), *options.docs):
        if engine.catalog.by_name.get(engine.catalog.full_name(doc.object.parts)) == relation.id:
            docs.setdefault(doc.column, doc.text)
    return docs


def checked(engine: Engine, target: KafkaTarget, relation: Item) -> KafkaTarget:
    """The target of a new sink: its Avro options make sense, and the comments of the moment are among them."""
    formats = target.formats
    for format in (formats.of_key, formats.value):
        if isinstance(format, AvroRegistry):
            _check_docs(engine, format.options, relation)
    if isinstance(formats.value, AvroRegistry) and target.envelope is SinkEnvelope.DEBEZIUM:
        _check_fullname(formats.value.options)
    key = None if formats.key is None else _commented(engine, formats.key, relation)
    return replace(target, formats=Formats(value=_commented(engine, formats.value, relation), key=key))


def _check_docs(engine: Engine, options: AvroSinkOptions, relation: Item) -> None:
    names = [column.name for column in relation.schema or ()]
    for doc in (*options.docs, *options.key_docs, *options.value_docs):
        item = engine.catalog.resolve(doc.object.parts, doc.object.position)
        if item.id != relation.id:
            raise InvalidOption(
                f"DOC ON names {item.kind} {item.name}, which is no part of the sink's schemas",
                hint=f"Name {relation.name}, which the sink reads, or one of its columns.",
                position=doc.object.position,
            )
        if doc.column is not None and doc.column not in names:
            raise UnknownColumn(f'column "{doc.object}.{doc.column}" does not exist', position=doc.object.position)


def _check_fullname(options: AvroSinkOptions) -> None:
    if (options.value_fullname or "").rpartition(".")[2] == "row":
        raise InvalidOption(
            "AVRO VALUE FULLNAME cannot end in row with ENVELOPE DEBEZIUM",
            detail="The record of one side of a change has that name.",
            position=options.options.position(VALUE_FULLNAME),
        )


def documented_anew(engine: Engine, target: KafkaTarget, old: Item, new: Item) -> KafkaTarget:
    """For a sink that goes on with another relation: what was said of the old one and its columns is said of the new
    one and its columns of the same name."""
    columns = {None, *(column.name for column in new.schema or ())}
    name = Name(new.name.parts)

    def moved(given: Given) -> Given | None:
        doc = given.value
        if not isinstance(doc, AvroDoc) or engine.catalog.resolve(doc.object.parts).id != old.id:
            return given
        return replace(given, value=replace(doc, object=name)) if doc.column in columns else None

    def rewritten(format: Format) -> Format:
        if not isinstance(format, AvroRegistry):
            return format
        kept = tuple(each for each in map(moved, format.options.options.given) if each is not None)
        return replace(format, options=avro_sink_options(Options(kept)))

    key = None if target.formats.key is None else rewritten(target.formats.key)
    return replace(target, formats=Formats(value=rewritten(target.formats.value), key=key))


def check_compatible(sink: KafkaSinkDefinition) -> None:
    """Asks the registry whether it would take the schemas of this sink.  Publishes nothing."""
    key = () if sink.key is None else tuple(sink.schema[place] for place in sink.key)
    if isinstance(sink.key_format, AvroEncoder) and sink.key is not None:
        check_fits(sink.key_format.subject, sink.key_format.schema(key, change=False))
    if isinstance(sink.value_format, AvroEncoder):
        schema = sink.value_format.schema(sink.schema, change=sink.envelope == DEBEZIUM)
        check_fits(sink.value_format.subject, schema)


def _commented(engine: Engine, format: Format, relation: Item) -> Format:
    if not isinstance(format, AvroRegistry):
        return format
    known = {doc.column for doc in format.options.docs}
    comments = engine.storage.comments()
    name = Name(relation.name.parts)
    columns = [None, *(column.name for column in relation.schema or ())]
    copied = tuple(
        AvroDoc(name, column, comments[relation.id, place])
        for place, column in enumerate(columns)
        if (relation.id, place) in comments and column not in known
    )
    given = (Given(DOC_ON_TYPE if doc.column is None else DOC_ON_COLUMN, doc) for doc in copied)
    options = replace(
        format.options,
        options=Options((*format.options.options.given, *given)),
        docs=(*format.options.docs, *copied),
    )
    return replace(format, options=options)
