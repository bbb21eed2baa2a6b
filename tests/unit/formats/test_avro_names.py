"""A writer's schema gets the reader's names, place by place."""

from __future__ import annotations

import json
from typing import Any

from tailrace.formats.avro_names import renamed


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def test_records_are_called_as_the_reader_calls_them() -> None:
    writer = record("acme.Order", id="int", lines={"type": "array", "items": record("acme.Line", n="int")})
    reader = record("row", lines=["null", {"type": "array", "items": ["null", record("row_lines", n="int")]}])
    found = json.loads(renamed(json.dumps(writer), json.dumps(reader)))
    assert found["name"] == "row"
    assert found["fields"][1]["type"]["items"]["name"] == "row_lines"


def test_one_type_of_the_writers_may_have_two_names() -> None:
    writer = record("Envelope", before=["null", record("Value", id="int")], after=["null", "Value"])
    reader = record("r", before=["null", record("r_before", id="int")], after=["null", record("r_after", id="int")])
    found = json.loads(renamed(json.dumps(writer), json.dumps(reader)))
    assert [field["type"][1]["name"] for field in found["fields"]] == ["r_before", "r_after"]


def test_what_nobody_reads_takes_none_of_the_readers_names() -> None:
    """Also where it refers to itself."""
    tree = record("r_inner", left=["null", "r_inner"])
    writer = record("Any", tree=tree, inner=record("Inner", n="int"))
    reader = record("r", inner=record("r_inner", n="int"))
    found = json.loads(renamed(json.dumps(writer), json.dumps(reader)))
    assert found["fields"][0]["type"]["name"] == "unread.r_inner"
    assert found["fields"][0]["type"]["fields"][0]["type"][1] == "unread.r_inner"
    assert found["fields"][1]["type"]["name"] == "r_inner"


def test_where_one_name_would_mean_two_types_the_writer_stays_as_it_is() -> None:
    writer = record("W", a=record("A", n="int"), b=record("B", m="int"))
    reader = record("R", a=record("both", n="int"), b="both")
    assert renamed(json.dumps(writer), json.dumps(reader)) == json.dumps(writer)
