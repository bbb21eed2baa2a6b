"""FORMAT AVRO: a zero byte, the id of the writer's schema in a registry, and a record.

What columns there are was decided when the source was made, by the reader's schema; later writers are resolved to
it by Avro's rules.  Ids are looked up before the text is made (`learned`): the registry is asked once for each id, by
the driver.  Schemas never change under their id, so a replay reads the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tailrace.formats import registry
from tailrace.formats.avro_names import renamed
from tailrace.formats.avro_reading import OK, RecordReading, after_of, is_schema, place, reading_of
from tailrace.formats.decode_contract import Decoded, decode_error
from tailrace.formats.encode_scalars import literal
from tailrace.formats.registry import RegistryConnection
from tailrace.types.core import Schema

_FRAME = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class AvroDecoder:
    """`reader` is the schema to read with.  `writers`: schemas by id, None for an id that stands for nothing.

    Without a `connection` everything was written with the reader's schema, and an id, if `framed`, tells nothing.
    `changes`: values are changes as of ENVELOPE DEBEZIUM, of which only `after` counts.
    """

    reader: str
    connection: RegistryConnection | None = None
    framed: bool = True
    changes: bool = False
    writers: tuple[tuple[int, str | None], ...] = ()

    keyword: ClassVar[str] = "AVRO"
    is_single: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        return self._reading.columns

    @property
    def head(self) -> int:
        return 0 if self.connection is None else _FRAME

    def learned(self, heads: Iterable[bytes]) -> AvroDecoder:
        known = dict(self.writers)
        wanted = {int.from_bytes(head[1:], "big") for head in heads if len(head) == _FRAME and head[0] == 0}
        if self.connection is None or wanted <= known.keys():
            return self
        for id in sorted(wanted - known.keys()):
            found = registry.schema_of(self.connection, id)
            known[id] = found if found is not None and is_schema(found) else None
        return replace(self, writers=tuple(sorted(known.items())))

    def decoded(self, data: str) -> Decoded:
        reading, shared = self._reading, f"{data}_shared"
        row = f"{shared}.{place(0)}" if self.changes else shared
        columns = [field.value(f"{row}.{place(i)}") for i, field in reading.fields]
        wrong = [
            f"WHEN {why} IS NOT NULL THEN {decode_error(why, data)}"
            for i, field in reading.fields
            if field.error is not None
            for why in (field.error(f"{row}.{place(i)}"),)
        ]
        failed = decode_error("'Avro: the message does not fit its schema'", data)
        error = f"CASE {self._frame_errors(data)}WHEN NOT ({shared}.{OK} <=> true) THEN {failed} {' '.join(wrong)} END"
        absent = f"{row} IS NULL" if self.changes else None
        return Decoded(tuple(columns), error, once=((shared, self._shared(data)),), absent=absent)

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False

    @property
    def _reading(self) -> RecordReading:
        return after_of(self.reader) if self.changes else reading_of(self.reader)

    def _shared(self, data: str) -> str:
        body = f"substring({data}, {_FRAME + 1})" if self.framed else data
        if self.connection is None:
            return self._read(body, self.reader)
        known = [(id, writer) for id, writer in self.writers if writer is not None]
        # With no id known every message is an error; the branch that is never taken gives the type.
        cases = " ".join(f"WHEN X'{_head(id)}' THEN {self._read(body, writer)}" for id, writer in known)
        return f"CASE substring({data}, 1, {_FRAME}) {cases or f'WHEN NULL THEN {self._read(body, self.reader)}'} END"

    def _read(self, body: str, writer: str) -> str:
        plain = self._reading.plain
        options = f"map('mode', 'PERMISSIVE', 'avroSchema', {literal(plain)})"
        return f"from_avro({body}, {literal(renamed(writer, plain))}, {options})"

    def _frame_errors(self, data: str) -> str:
        if not self.framed:
            return ""
        bare = decode_error("'Avro: the message does not begin with a schema id'", data)
        reasons = f"WHEN octet_length({data}) < {_FRAME} OR substring({data}, 1, 1) <> X'00' THEN {bare} "
        if self.connection is not None:
            known = ", ".join(f"X'{_head(id)}'" for id, writer in self.writers if writer is not None)
            number = f"conv(hex(substring({data}, 2, 4)), 16, 10)"
            unknown = decode_error(f"concat('Avro: the registry has no schema with id ', {number})", data)
            condition = f"NOT substring({data}, 1, {_FRAME}) IN ({known})" if known else "true"
            reasons += f"WHEN {condition} THEN {unknown} "
        return reasons


def _head(id: int) -> str:
    return f"00{id:08x}"
