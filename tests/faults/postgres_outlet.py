"""Sinks into PostgreSQL tables whose triggers write down every change, with the tick that it belongs to.

So a table tells as much as a topic: a tick that is written twice, or half, is seen even if the rows are right in
the end.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field

from faults.pipeline import KEYS
from tailrace.testing.postgres import PASSWORD, Postgres
from tailrace.testing.topics import Message

_CONNECTION = """
CREATE SECRET IF NOT EXISTS password AS '{password}';
CREATE CONNECTION IF NOT EXISTS pg TO POSTGRES (HOST '127.0.0.1', PORT {port}, USER postgres, DATABASE postgres,
  PASSWORD SECRET password)
"""
_SINK = """
CREATE SINK IF NOT EXISTS {name}_out FROM {name} INTO POSTGRES CONNECTION pg (TABLE '{schema}.{name}')
KEY ({key}) {enforced} MODE UPSERT
"""
_TABLES = {
    "totals": "item text PRIMARY KEY, orders bigint, amount bigint",
    "prices": "item text PRIMARY KEY, price int",
    "lines": "id bigint PRIMARY KEY, item text, amount bigint",
}
_AUDIT = """
CREATE SCHEMA {schema};
CREATE TABLE {schema}.told (n bigserial, name text, tick bigint, key jsonb, value jsonb);
CREATE FUNCTION {schema}.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {schema}.told (name, tick, key, value)
  SELECT TG_TABLE_NAME, current_setting('tailrace.tick')::bigint,
    jsonb_build_object(TG_ARGV[0], to_jsonb(coalesce(new, old)) -> TG_ARGV[0]), to_jsonb(new);
  RETURN NULL;
END $$
"""
_AUDITED = """
CREATE TABLE {schema}.{name} ({columns});
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON {schema}.{name}
FOR EACH ROW EXECUTE FUNCTION {schema}.tell('{key}')
"""


@dataclass(frozen=True, slots=True)
class Tables:
    """`port`: where the engine finds the server, if not at its own."""

    server: Postgres
    names: list[str]
    port: int = 0
    schema: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        with self.server.connect() as connection:
            connection.execute(_AUDIT.format(schema=self.schema).encode())
            for name in self.names:
                audited = _AUDITED.format(schema=self.schema, name=name, columns=_TABLES[name], key=KEYS[name])
                connection.execute(audited.encode())

    def statements(self) -> list[str]:
        there = _CONNECTION.format(password=PASSWORD, port=self.port or self.server.port)
        enforced = {"totals": ""}  # the others' keys nobody can prove
        sinks = [
            _SINK.format(name=name, schema=self.schema, key=KEYS[name], enforced=enforced.get(name, "NOT ENFORCED"))
            for name in self.names
        ]
        return [*there.split(";"), *sinks]

    def told(self, name: str) -> list[Message]:
        """What the triggers saw; and the table is where the last of it leaves it."""
        query = f"SELECT n, tick, key, value FROM {self.schema}.told WHERE name = '{name}' ORDER BY n"
        with self.server.connect() as connection:
            seen = connection.execute(query.encode()).fetchall()
            found = connection.execute(f"SELECT to_jsonb(t) FROM {self.schema}.{name} t".encode()).fetchall()
        last = {json.dumps(key): value for _, _, key, value in seen}
        left = sorted(json.dumps(value) for value in last.values() if value is not None)
        assert left == sorted(json.dumps(value) for (value,) in found)
        return [
            Message(
                partition=0,
                offset=n,
                key=json.dumps(key).encode(),
                value=None if value is None else json.dumps(value).encode(),
                headers={"materialize-timestamp": str(tick).encode()},
                timestamp=0,
            )
            for n, tick, key, value in seen
        ]
