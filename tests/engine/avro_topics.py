"""Topics in Avro as a stranger reads them: framing by hand, schemas from the registry by id, values by fastavro."""

from __future__ import annotations

import io
import json
import urllib.request
from typing import Any

import fastavro

from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import read_committed, settle


def schema_of(registry: Registry, subject: str) -> dict[str, Any]:
    """The latest one, as the registry has it."""
    return json.loads(_get(registry, f"/subjects/{subject}/versions/latest")["schema"])


def level_of(registry: Registry, subject: str) -> str:
    return _get(registry, f"/config/{subject}")["compatibilityLevel"]


def decoded(registry: Registry, part: bytes | None) -> Any:
    """One message part."""
    if part is None:
        return None
    assert part[0] == 0
    schema = json.loads(_get(registry, f"/schemas/ids/{int.from_bytes(part[1:5], 'big')}")["schema"])
    body = io.BytesIO(part[5:])
    value = fastavro.schemaless_reader(body, fastavro.parse_schema(schema), None)
    assert body.read() == b""
    return value


def messages(broker: Broker, registry: Registry, topic: str) -> list[tuple[Any, Any]]:
    """Committed keys and values, in the order of partitions and offsets."""
    settle(broker.bootstrap, topic)
    return [
        (decoded(registry, each.key), decoded(registry, each.value))
        for each in read_committed(broker.bootstrap, topic)
    ]


def _get(registry: Registry, path: str) -> Any:
    with urllib.request.urlopen(registry.url + path, timeout=10) as answer:
        return json.load(answer)
