"""A Redis sink as the catalog keeps it: its keys and values as Spark text, and the script that applies them.

A key is the template with values in place of columns.  In a value, `%` and the characters that stand between two
columns are percent-encoded, and NULL is `%00`: so two keys are never the same by accident.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.encode_json import json_object
from tailrace.formats.encode_scalars import literal
from tailrace.formats.encode_text import text_form
from tailrace.ivm.zset import ZSet
from tailrace.sinks import upserts
from tailrace.sinks.redis_connection import RedisConnection
from tailrace.sinks.upserts import DELETE, Encoding
from tailrace.types.core import Schema

JSON, HASH = "json", "hash"


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisSinkDefinition:
    """Which relation goes under which keys.  One that exists is valid.

    `template`: text and the place of the column after it, by turns.  `sole`: a key that comes new must not be there
    yet; `proven`: the key is known to be unique; both as in postgres_definition.py.
    """

    id: str
    name: str
    connection: RedisConnection
    region: str
    schema: Schema
    template: tuple[tuple[str, int | None], ...]
    format: str = JSON
    sole: bool = False
    proven: bool = False

    @property
    def progress_key(self) -> str:
        return f"tailrace:progress:{self.region}-{self.id}"

    @property
    def fields(self) -> tuple[str, ...]:
        """Names that the script needs: those of a hash."""
        return tuple(column.name for column in self.schema) if self.format == HASH else ()

    @property
    def values(self) -> int:
        """Arguments of the script for a row, beside its key and what has become of it."""
        return len(self.fields) if self.format == HASH else 1

    def rows(self, delta: ZSet, partitions: int) -> str:
        """Spark text: `args`, a row's arguments as Redis reads them from the wire; `k`, `came`, `change`."""
        changes = upserts.per_key(delta, self._encoding(), partitions, proven=self.proven)
        gone = f"CASE WHEN change = '{DELETE}' THEN '' ELSE r END"
        return (
            f"SELECT CAST(concat({_argument('k')}, {_argument('change')}, {gone}) AS binary) AS args, k, came, change"
            f" FROM ({changes})"
        )

    def encoded(self, delta: ZSet) -> str:
        """For `rows_here`.  No shuffle."""
        return upserts.encoded(delta, self._encoding())

    def rows_here(self, encoded: pa.Table) -> pa.Table:
        """The same rows, made on the driver."""
        rows = upserts.per_key_here(encoded)
        length = pc.binary_length(rows["k"]).cast(pa.string())
        kept = pc.if_else(pc.equal(rows["change"], DELETE), "", rows["r"])
        parts = ("$", length, "\r\n", rows["k"], "\r\n$1\r\n", rows["change"], "\r\n", kept)
        return rows.append_column("args", pc.binary_join_element_wise(*parts, "").cast(pa.binary()))

    def repeated(self, delta: ZSet, partitions: int) -> str:
        """Spark text: some keys that have more than one row."""
        changes = upserts.per_key(delta, self._encoding(), partitions, proven=self.proven)
        return f"SELECT k FROM ({changes}) WHERE came > 1 LIMIT 1"

    def _encoding(self) -> Encoding:
        return Encoding(self._key(), self._value(), "''")

    def _key(self) -> str:
        between = {c for text, column in self.template[1:] if column is not None for c in text}
        parts = []
        for text, place in self.template:
            parts += [literal(text)] if text else []
            parts += [self._in_key(place, sorted(between))] if place is not None else []
        return f"concat({', '.join(parts)})"

    def _in_key(self, place: int, between: list[str]) -> str:
        shown = text_form(f"c{place}", self.schema[place].type)
        for character in ("%", *(c for c in between if c != "%")):
            encoded = "".join(f"%{byte:02X}" for byte in character.encode())
            shown = f"replace({shown}, {literal(character)}, {literal(encoded)})"
        return f"coalesce({shown}, '%00')"

    def _value(self) -> str:
        """All arguments of a row's value, ready for the wire."""
        places = [f"c{i}" for i in range(len(self.schema))]
        if self.format == JSON:
            return _argument(json_object(self.schema, places))
        # A hash has no NULL: `-` stands for a field that is not there, `+` is put before any other value.
        texts = (
            f"coalesce(concat('+', {text_form(place, column.type)}), '-')"
            for place, column in zip(places, self.schema, strict=True)
        )
        return f"concat({', '.join(_argument(text) for text in texts)})"


def _argument(x: str) -> str:
    """A bulk string.  The list of one stands for a LET: the text is named twice."""
    return f"transform(array({x}), a -> concat('$', octet_length(a), '\\r\\n', a, '\\r\\n'))[0]"


SCRIPT = """
-- KEYS: progress.  ARGV: generation, tick held, tick, what follows, 'sole' or '', number of fields, fields…, rows…
-- What follows: 'more' of this tick, or this is the 'last'; a test may have it 'unrecorded', and have no generation.
-- A row: its key, what has become of it (i, u, d) and, unless it is gone, its values.
local progress, count = KEYS[1], tonumber(ARGV[6])
local held = redis.call('HMGET', progress, 'generation', 'tick', 'unfinished')
local ours = held[1] == ARGV[1] and (held[2] or '') == ARGV[2] and (not held[3] or held[3] == ARGV[3])
if ARGV[1] ~= '' and not ours then
  return redis.error_reply('FENCED by generation ' .. tostring(held[1]))
end
local first, values = 7 + count, math.max(count, 1)
local function each(act)
  local i = first
  while i <= #ARGV do
    act(ARGV[i], ARGV[i + 1], i + 2)
    i = i + 2 + (ARGV[i + 1] == 'd' and 0 or values)
  end
end
if ARGV[5] == 'sole' then
  local twice
  each(function(key, change) if change == 'i' and redis.call('EXISTS', key) == 1 then twice = key end end)
  if twice then return redis.error_reply('TWICE ' .. twice) end
end
if ARGV[4] ~= 'unrecorded' then redis.call('HSET', progress, 'unfinished', ARGV[3]) end
each(function(key, change, at)
  if change == 'd' then
    redis.call('DEL', key)
  elseif count == 0 then
    redis.call('SET', key, ARGV[at])
  else
    local row = {}
    for n = 1, count do
      local value = ARGV[at + n - 1]
      if string.sub(value, 1, 1) == '+' then
        row[#row + 1] = ARGV[6 + n]
        row[#row + 1] = string.sub(value, 2)
      end
    end
    redis.call('DEL', key)
    if #row > 0 then redis.call('HSET', key, unpack(row)) end
  end
end)
if ARGV[4] == 'last' then
  redis.call('HSET', progress, 'tick', ARGV[3])
  redis.call('HDEL', progress, 'unfinished')
end
return 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Defences:
    """What exactly-once rests on.  Each can be switched off, by tests alone; as in postgres_definition.py."""

    progress_record: bool = True
    fence_before_progress: bool = True
    generation: bool = True
