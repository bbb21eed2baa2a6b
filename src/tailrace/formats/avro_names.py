"""A writer's Avro schema under the reader's names.

Avro resolves a record by its fields only if writer and reader call the record the same, and Java's reader says nothing
where they do not: every field has its default.  What a type is called is not in the bytes, so the writer's types are
given the names of what stands in their places in the reader's schema.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import fastavro

_NAMED = ("record", "enum", "fixed")
_OTHERS = "unread."  # where the reader has nothing in their places, types must not take its names


class _Different(Exception):
    """One name of the reader's would stand for two of the writer's types."""


@lru_cache(maxsize=256)
def renamed(writer: str, reader: str) -> str:
    """The writer's schema, which is one, with the reader's names, as far as that can be."""
    named: dict[str, Any] = {}
    named_by_reader: dict[str, Any] = {}
    parsed = fastavro.parse_schema(json.loads(writer), named_schemas=named)
    read = fastavro.parse_schema(json.loads(reader), named_schemas=named_by_reader)
    try:
        return json.dumps(_Renaming(named, named_by_reader).of(parsed, read))
    except _Different:
        return writer


class _Renaming:
    def __init__(self, named: dict[str, Any], named_by_reader: dict[str, Any]) -> None:
        self._named = named
        self._named_by_reader = named_by_reader
        self._told: dict[str, str] = {}  # names that are defined, and the writer's names of the same

    def of(self, writer: Any, reader: Any) -> Any:
        """`reader` is None where nobody reads."""
        if isinstance(writer, list):
            return [self.of(each, self._counterpart(each, reader)) for each in writer]
        definition = self._named.get(writer) if isinstance(writer, str) else writer
        if not isinstance(definition, dict):
            return writer
        reader = self._counterpart(definition, reader)
        match definition["type"]:
            case kind if kind in _NAMED:
                return self._of_named(definition, reader)
            case "array":
                return {**definition, "items": self.of(definition["items"], reader and reader["items"])}
            case "map":
                return {**definition, "values": self.of(definition["values"], reader and reader["values"])}
            case str():
                return definition
            case inner:
                return self.of(inner, reader)

    def _of_named(self, definition: dict[str, Any], reader: dict[str, Any] | None) -> Any:
        name = _OTHERS + definition["name"] if reader is None else reader["name"]
        if name in self._told:
            if self._told[name] != definition["name"]:
                raise _Different
            return name
        self._told[name] = definition["name"]
        kept = {key: value for key, value in definition.items() if not key.startswith("__") and key != "aliases"}
        kept["name"] = name
        if definition["type"] == "record":
            read = [] if reader is None else reader["fields"]
            kept["fields"] = [{**f, "type": self.of(f["type"], _field(f["name"], read))} for f in definition["fields"]]
        return kept

    def _counterpart(self, writer: Any, reader: Any) -> Any:
        """What of the reader's type such a type can be read as; None if there is nothing with names in it."""
        candidates = reader if isinstance(reader, list) else [reader]
        known = (self._named_by_reader.get(each) if isinstance(each, str) else each for each in candidates)
        definition = self._named.get(writer, writer) if isinstance(writer, str) else writer
        about = definition if isinstance(definition, dict) else {"type": definition}
        alike = [each for each in known if isinstance(each, dict) and each["type"] == about["type"]]
        return next((each for each in alike if each.get("name") == about.get("name")), alike[0] if alike else None)


def _field(name: str, fields: list[dict[str, Any]]) -> Any:
    return next((f["type"] for f in fields if name == f["name"] or name in f.get("aliases", ())), None)
