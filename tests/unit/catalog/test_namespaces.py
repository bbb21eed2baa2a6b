"""What a name means: by the database and the path of who says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.database import Database
from tailrace.catalog.items import FullName, Item
from tailrace.catalog.namespaces import Namespace
from tailrace.catalog.storage import Storage
from tailrace.engine.variables import identifiers, joined
from tailrace.errors import SqlError, UnknownObject

X = Namespace(id="u2", name="x", database="materialize")
OTHER = (Namespace(id="u2", name="other"), Namespace(id="u3", name="public", database="other"))


def table(number: int, *name: str, kind: str = "table") -> Item:
    return Item(id=f"u{number}", kind=kind, name=FullName(*name), statement=None, create_sql="")


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog(temporary="pg_temp_1")
    made = replace(made, namespaces=made.namespaces.changed((X, *OTHER)))
    for number, name in enumerate(
        [
            ("materialize", "public", "t"),
            ("materialize", "x", "t"),
            ("materialize", "x", "Flinks"),
            ("other", "public", "t"),
            ("materialize", "pg_temp_1", "own"),
            ("materialize", "x", "own"),
        ]
    ):
        made = made.with_item(table(number, *name))
    return made.with_item(replace(table(0, "materialize", "pg_catalog", "pg_class"), id="s1"))


@pytest.mark.parametrize(
    ("database", "path", "hint"),
    [
        ("materialize", "nobody", 'Did you mean "public.t"?'),
        ("other", "nobody", 'Did you mean "public.t"?'),
    ],
)
def test_a_name_that_is_in_another_schema_is_told(catalog: Catalog, database: str, path: str, hint: str) -> None:
    with pytest.raises(UnknownObject, match="unknown catalog item 't'") as caught:
        replace(catalog, database=database, path=(path,)).resolve(("t",))
    assert caught.value.hint == hint


def test_a_name_that_is_in_another_database_is_told(catalog: Catalog) -> None:
    with pytest.raises(UnknownObject) as caught:
        replace(catalog, database="other").resolve(("flinks2",))
    assert caught.value.hint is None
    made = catalog.with_item(table(99, "materialize", "x", "far"))
    with pytest.raises(UnknownObject) as caught:
        replace(made, database="other").resolve(("far",))
    assert caught.value.hint == 'Did you mean "materialize.x.far"?'


def test_an_unknown_schema_is_told_with_its_place(catalog: Catalog) -> None:
    with pytest.raises(UnknownObject, match="unknown schema 'nobody'") as caught:
        catalog.resolve(("nobody", "t"), position=7)
    assert caught.value.position == 7


@pytest.mark.parametrize(
    ("database", "path", "name", "meant"),
    [
        ("materialize", "public", "t", "materialize.public.t"),
        ("materialize", "x", "t", "materialize.x.t"),
        ("materialize", "public, x", "t", "materialize.public.t"),
        ("materialize", "nobody, x, public", "t", "materialize.x.t"),
        ("materialize", "x", "public.t", "materialize.public.t"),
        ("materialize", "x", "flinks", "materialize.x.Flinks"),
        ("materialize", "x", "own", "materialize.pg_temp_1.own"),
        ("materialize", "x", "pg_temp.own", "materialize.pg_temp_1.own"),
        ("materialize", "x", "pg_class", "materialize.pg_catalog.pg_class"),
        ("other", "public", "t", "other.public.t"),
        ("other", "public", "materialize.public.t", "materialize.public.t"),
        ("other", "public", "pg_catalog.pg_class", "materialize.pg_catalog.pg_class"),
        ("other", "public", "x.t", "unknown schema 'x'"),
        ("materialize", "", "t", "unknown catalog item 't'"),
        ("materialize", "public", "nobody.public.t", "unknown database 'nobody'"),
    ],
)
def test_a_name_is_looked_for_along_the_path(
    catalog: Catalog, database: str, path: str, name: str, meant: str
) -> None:
    seen = replace(catalog, database=database, path=identifiers(path))
    parts = tuple(name.split("."))
    if not meant.startswith("unknown"):
        assert str(seen.resolve(parts).name) == meant
        return
    with pytest.raises(UnknownObject, match=meant):
        seen.resolve(parts)


def test_new_things_go_to_the_first_schema_of_the_path_that_exists(catalog: Catalog) -> None:
    seen = replace(catalog, path=("nobody", "x", "public"))
    assert str(seen.full_name(("new",))) == "materialize.x.new"
    assert str(seen.full_name(("pg_temp", "new"))) == "materialize.pg_temp_1.new"
    with pytest.raises(SqlError, match="no schema has been selected to create in") as refused:
        replace(catalog, path=("nobody",)).full_name(("new",))
    assert refused.value.sqlstate == "3F000"


def test_an_object_behind_another_of_its_name_is_not_found_by_it(catalog: Catalog) -> None:
    in_x = catalog.resolve(("x", "t"))
    assert not catalog.finds(in_x)
    assert replace(catalog, path=("x",)).finds(in_x)
    assert not replace(catalog, path=("public", "x")).finds(in_x)


def test_a_path_is_read_as_it_was_set() -> None:
    assert identifiers('public, "Other", "a "" and , in it",Folded') == ("public", "Other", 'a " and , in it', "folded")
    assert joined("search_path", ("public", "Other", "$user")) == 'public, "Other", "$user"'
    assert identifiers(joined("schema", ("public", "Other", "$user"))) == ("public", "Other", "$user")
    assert identifiers("") == identifiers('""') == ()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


def test_the_first_namespaces_are_there_until_they_are_dropped(database: Database) -> None:
    storage = Storage(database)
    storage.comment("schema public", 0, "from before there were others")
    first = storage.namespaces()
    assert [str(each) for each in first.all] == ["materialize", "materialize.public"]
    assert storage.comments() == {("schema", 0): "from before there were others"}
    assert storage.next_namespace_id("schema") == "u2"
    storage.add_namespaces(X)
    public = first.schema("materialize", "public")
    assert public is not None
    storage.remove([], [public])
    assert [str(each) for each in Storage(database).namespaces().all] == ["materialize", "materialize.x"]
    assert storage.comments() == {}
