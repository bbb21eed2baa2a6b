"""From the change of a relation to messages: what a reader of the topic has to be told about one tick.

Per key and tick, the rows that left and the rows that came are paired; a pair is an update, what is left over
a deletion or an insertion.  UPSERT sends the new row, or a tombstone (no value) if there is none; DEBEZIUM
sends both sides.  Without a key nothing is paired: every row that left or came is a message of its own.
APPEND is for relations that only gain rows, with a key or without.  CHANGELOG pairs nothing: a row that left and one
that came are two messages, in this order, each in the frame that its format has for it.

Rows are encoded first, by Spark, and consolidated, paired and spread over slots by their bytes: what looks
the same to a reader is the same.  Here the pairing is Spark SQL text, for large ticks, by one shuffle (none
for a Z-set that only grows); pairing.py is the same on the driver, where a small tick is through in
milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.errors import SqlError
from tailrace.formats.encode_contract import DELETED, INSERTED, UPDATED, Encoder, Origin, TellsOrigin
from tailrace.ivm.zset import Placed, ZSet
from tailrace.types.core import Schema

UPSERT, DEBEZIUM, APPEND, CHANGELOG = "upsert", "debezium", "append", "changelog"

RESERVED_HEADERS = "materialize-"
"""How headers of our own begin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """How rows of `schema` are told.  `key`: the places of the key's columns; None: no message has a key.

    `headers`: the place of a map whose entries become headers.  `partition_by`: Spark text over the row, a bigint with
    the bits of a number below 2^64.  `timestamp`: the place of the messages' own time.  `topic`: the place of the name
    of the topic that each goes to.  All are of the new row, or of the old one if there is no new one.  `origin`:
    DEBEZIUM says also what a change did, to what, and at which `tick`.
    """

    kind: str
    schema: Schema
    key: tuple[int, ...] | None
    key_format: Encoder
    value_format: Encoder
    headers: int | None = None
    partition_by: str | None = None
    timestamp: int | None = None
    topic: int | None = None
    origin: Origin | None = None
    tick: int = 0

    def at(self, tick: int) -> Envelope:
        """For the changes of one tick."""
        return self if self.origin is None else replace(self, tick=tick)

    def check(self) -> None:
        """Raises SqlError if such rows cannot be told in this way."""
        if self.kind == UPSERT and self.key is None:
            raise SqlError("upsert sinks must specify a key")
        if self.key is not None:
            self.key_format.check(self._columns(self.key))
        self.value_format.check(self.schema)
        if self.kind == DEBEZIUM:
            self.value_format.side(self.schema, _places(range(len(self.schema))))
        if self.origin is not None and not isinstance(self.value_format, TellsOrigin):
            raise SqlError(
                f"ENVELOPE DEBEZIUM (METADATA) is not supported with FORMAT {self.value_format.name.upper()}",
                hint="Use FORMAT JSON or FORMAT AVRO.",
                sqlstate="0A000",
            )

    def registered(self) -> Envelope:
        """With formats that are ready to write.  May ask a schema registry."""
        key_format = self.key_format
        if self.key is not None:
            key_format = key_format.registered(self._columns(self.key), change=False)
        value_format = self.value_format.registered(self.schema, change=self.kind == DEBEZIUM)
        return replace(self, key_format=key_format, value_format=value_format)

    @property
    def extras(self) -> tuple[str, ...]:
        """Columns that go with a row's bytes, if the sink has them.

        p, the partition's number; h, packed headers; t, milliseconds since 1970; o, the topic.
        """
        has = {"p": self.partition_by, "h": self.headers, "t": self.timestamp, "o": self.topic}
        return tuple(name for name, given in has.items() if given is not None)

    def encoded(self, delta: ZSet) -> str:
        """Spark SQL text: k, the key's bytes or NULL; r, the row's bytes; w, the weight; extras.  No shuffle."""
        return self._encoded(delta.sql)

    def _encoded(self, rows: str | None, also: str = "") -> str:
        key = "CAST(NULL AS binary)"
        if self.key is not None:
            key = self.key_format.record(self._columns(self.key), _places(self.key))
        encode = self.value_format.side if self.kind == DEBEZIUM else self.value_format.record
        row = encode(self.schema, _places(range(len(self.schema))))
        headers = "" if self.headers is None else f", {packed_headers(f'c{self.headers}')} AS h"
        partition = "" if self.partition_by is None else f", {self.partition_by} AS p"
        time = "" if self.timestamp is None else f", unix_millis(CAST(c{self.timestamp} AS timestamp)) AS t"
        topic = "" if self.topic is None else f", c{self.topic} AS o"
        return f"SELECT {key} AS k, {row} AS r, weight AS w{partition}{headers}{time}{topic}{also} FROM ({rows})"

    def messages(self, delta: ZSet, partitions: int) -> str:
        """Spark SQL text of the messages: `key`, `value` (binary, either may be NULL), `copies` (bigint), extras.

        If pairing needs a shuffle, it makes so many partitions.
        """
        return f"SELECT {self._parts()} FROM ({self._events(delta, partitions)})"

    def slotted(self, delta: ZSet, slots: int) -> str:
        """The messages with a column `slot`, all those of one slot in one Spark partition.

        Spark's own hash partitioning is `pmod(hash(x), n)`, so a slot and its partition have the same number.
        That is a matter of balance: a slot's number depends on nothing but the bytes of the message.
        """
        events = self._events(delta, slots)
        spread = "coalesce(a, b)" if self.key is None else "k"
        if delta.positive:
            place = "a" if self.key is None else "k"
            events = f"SELECT /*+ REPARTITION({slots}, {place}) */ * FROM ({events})"
        return f"SELECT CAST(pmod(hash({spread}), {slots}) AS int) AS slot, {self._parts()} FROM ({events})"

    def in_place(self, placed: Placed) -> str:
        """The messages of a Z-set that only grows, with the place of each as its `slot`.  No shuffle."""
        events = _insertions(self._encoded(placed.sql, also=", place"))
        return f"SELECT place AS slot, {self._parts()} FROM ({events})"

    def _events(self, delta: ZSet, partitions: int) -> str:
        """k: the key's bytes, b and a: the row's bytes before and after, w: how many of these events."""
        if delta.positive:
            return _insertions(self.encoded(delta))
        if self.key is None:
            return _alone(self._consolidated(delta, "r", partitions), self.extras)
        consolidated = self._consolidated(delta, "k", partitions)
        if self.kind == CHANGELOG:
            return _alone(consolidated, self.extras) + " SORT BY b IS NULL"
        pairing = _pairs if self.kind == DEBEZIUM else _last_words
        return pairing(consolidated, self.extras)

    def _consolidated(self, delta: ZSet, spread: str, partitions: int) -> str:
        """One row per key and row, weights summed, zeros gone.  One shuffle, also for the pairing.

        Rows with the same bytes have the same extras, but for what a format cannot tell apart: then the least.  Only
        rows for different topics are never the same.
        """
        extras = "".join(f", {each}" if each == "o" else f", min({each}) AS {each}" for each in self.extras)
        topic = "" if self.topic is None else ", o"
        return (
            f"SELECT k, r, sum(w) AS w{extras} FROM"
            f" (SELECT /*+ REPARTITION({partitions}, {spread}) */ * FROM ({self.encoded(delta)}))"
            f" GROUP BY k, r{topic} HAVING sum(w) <> 0"
        )

    def _parts(self) -> str:
        """The columns of a message, over an event's.  What is NULL stays NULL: a tombstone has no framing."""
        told = {DEBEZIUM: self._change, CHANGELOG: self._came_or_left}.get(self.kind, lambda: "a")()
        value = _framed(told, self.value_format)
        key = "k" if self.key is None else _framed("k", self.key_format)
        return f"{key} AS key, {value} AS value, w AS copies{_named(self.extras)}"

    def _change(self) -> str:
        frame = self.value_format.change
        sides = (
            f"coalesce(concat({_binary(frame.present)}, {side}), {_binary(frame.absent)})" for side in "ba"
        )
        before, after = sides
        inserted, updated, deleted = map(_binary, self.closings())
        closing = inserted
        if len({inserted, updated, deleted}) > 1:
            closing = f"CASE WHEN b IS NULL THEN {inserted} WHEN a IS NULL THEN {deleted} ELSE {updated} END"
        parts = (_binary(frame.opening), before, _binary(frame.between), after, closing)
        return f"concat({', '.join(parts)})"

    def closings(self) -> tuple[bytes, bytes, bytes]:
        """What stands after both sides of an insertion, an update, a deletion."""
        format = self.value_format
        if self.origin is None or not isinstance(format, TellsOrigin):
            return (format.change.closing,) * 3
        inserted, updated, deleted = (
            format.closing(self.origin, op, self.tick) for op in (INSERTED, UPDATED, DELETED)
        )
        return inserted, updated, deleted

    def _came_or_left(self) -> str:
        sides = ((self.value_format.change.came, "a"), (self.value_format.change.left, "b"))
        framed = [f"concat({_binary(before)}, {side}, {_binary(after)})" for (before, after), side in sides]
        return f"coalesce({', '.join(framed)})"

    def _columns(self, places: Sequence[int]) -> Schema:
        return tuple(self.schema[place] for place in places)


def _insertions(rows: str) -> str:
    """Each row an event, and nothing to pair it with."""
    return f"SELECT *, CAST(NULL AS binary) AS b, r AS a FROM ({rows})"


def _alone(changes: str, extras: Sequence[str]) -> str:
    """Each row an event of its own."""
    return (
        f"SELECT k, CASE WHEN w < 0 THEN r END AS b, CASE WHEN w > 0 THEN r END AS a, abs(w) AS w{_named(extras)}"
        f" FROM ({changes})"
    )


def _last_words(changes: str, extras: Sequence[str]) -> str:
    """Every new row, or the key alone: d rows gone and i come leave max(0, d − i) deletions, here −net.

    The row with the least weight of a key that has lost rows is one that left; it stands for all of them.
    """
    order = "w, r" if extras else "w"  # which one it is matters only for its extras
    return (
        "SELECT k, CAST(NULL AS binary) AS b, CASE WHEN w > 0 THEN r END AS a,"
        f" CASE WHEN w > 0 THEN w ELSE -net END AS w{_named(extras)}"
        f" FROM (SELECT k, r, w{_named(extras)}, row_number() OVER (PARTITION BY k ORDER BY {order}) AS place,"
        f" sum(w) OVER (PARTITION BY k ORDER BY {order}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS net"
        f" FROM ({changes})) WHERE w > 0 OR place = 1 AND net < 0"
    )


def _pairs(changes: str, extras: Sequence[str]) -> str:
    """The n-th row that left with the n-th that came, both sides in the order of their bytes.

    Extras are a function of the key here.
    """
    rows, any_of = _named(extras), "".join(f", min({each}) AS {each}" for each in extras)
    single = f"SELECT k, r, w > 0 AS came{rows} FROM ({changes}) LATERAL VIEW explode(sequence(1L, abs(w))) AS n"
    return (
        f"SELECT k, max(CASE WHEN NOT came THEN r END) AS b, max(CASE WHEN came THEN r END) AS a, 1L AS w{any_of}"
        f" FROM (SELECT k, r, came{rows}, row_number() OVER (PARTITION BY k, came ORDER BY r) AS place"
        f" FROM ({single})) GROUP BY k, place"
    )


def packed_headers(map: str) -> str:
    """Spark text: the entries of a map as one text, `key:value,…` in hexadecimal and sorted; `-` is NULL.

    Keys that begin like our own are left out.  kafka_outlet.py takes it apart.
    """
    keys = f"array_sort(filter(map_keys({map}), k -> NOT startswith(k, '{RESERVED_HEADERS}')))"
    entries = f"transform({keys}, k -> concat(hex(k), ':', coalesce(hex(element_at({map}, k)), '-')))"
    return f"array_join({entries}, ',')"


def _named(extras: Sequence[str]) -> str:
    return "".join(f", {each}" for each in extras)


def _framed(part: str, format: Encoder) -> str:
    return f"concat({_binary(format.prefix)}, {part})" if format.prefix else part


def _binary(constant: bytes) -> str:
    return f"X'{constant.hex()}'"


def _places(places: Sequence[int]) -> list[str]:
    return [f"c{place}" for place in places]
