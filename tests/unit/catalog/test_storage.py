"""The catalog on disk: items come back in order of creation, ids are never used twice, secrets go with their item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tailrace.catalog.database import Database
from tailrace.catalog.items import FullName, Item
from tailrace.catalog.storage import Storage
from tailrace.secret import Secret


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


def item(id: str, name: str) -> Item:
    return Item(
        id=id,
        kind="table",
        name=FullName("materialize", "public", name),
        statement=None,
        create_sql=f"CREATE TABLE {name} (x int)",
        facts={"start": 7},
    )


def test_items_come_back_as_they_were_in_order_of_creation(database: Database) -> None:
    storage = Storage(database)
    ids = [storage.next_id() for _ in range(12)]
    assert ids == [f"u{n}" for n in range(1, 13)]
    for id in reversed(ids):  # u10 comes after u9, not after u1
        storage.add(item(id, f"t{id}"))
    stored = Storage(database).items()
    assert [each.id for each in stored] == ids
    assert stored[0].name == FullName("materialize", "public", "tu1")
    assert (stored[0].kind, stored[0].facts) == ("table", {"start": 7})
    assert stored[0].create_sql == "CREATE TABLE tu1 (x int)"


def test_an_id_is_not_used_again_after_its_item_is_gone(database: Database) -> None:
    storage = Storage(database)
    storage.add(item(storage.next_id(), "t"))
    storage.remove(["u1"])
    assert storage.items() == []
    assert Storage(database).next_id() == "u2"


def test_a_renamed_item_keeps_its_id(database: Database) -> None:
    storage = Storage(database)
    old = item("u1", "old")
    storage.add(old)
    storage.replace(replace(old, name=FullName("materialize", "public", "new"), create_sql="CREATE TABLE new (x int)"))
    [stored] = storage.items()
    assert (stored.id, stored.name.item, stored.create_sql) == ("u1", "new", "CREATE TABLE new (x int)")


def test_a_secret_goes_with_its_item(database: Database) -> None:
    storage = Storage(database)
    storage.add(item("u1", "s"), secret=Secret(b"hunter2"))
    assert storage.secret("u1").reveal() == b"hunter2"
    storage.set_secret("u1", Secret(b"other"))
    assert storage.secret("u1").reveal() == b"other"
    storage.remove(["u1"])
    with database.transaction() as sql:
        assert sql.execute("SELECT count(*) FROM secrets").fetchone() == (0,)


def test_a_comment_is_replaced_and_taken_away(database: Database) -> None:
    storage = Storage(database)
    storage.comment("u1", 0, "a table")
    storage.comment("u1", 2, "its second column")
    storage.comment("u1", 0, "the table")
    assert storage.comments() == {("u1", 0): "the table", ("u1", 2): "its second column"}
    storage.comment("u1", 0, None)
    assert storage.comments() == {("u1", 2): "its second column"}
