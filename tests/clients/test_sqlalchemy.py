"""SQLAlchemy over psycopg, pg8000 and asyncpg: tables made and dropped, rows written and read, by its own means."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, UUID
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tailrace.server.listener import Server


@pytest.fixture(params=["psycopg", "pg8000"])
def database(server: Server, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"postgresql+{request.param}://materialize@127.0.0.1:{server.port}/materialize")
    yield engine
    engine.dispose()


def test_tables_are_made_filled_asked_and_dropped(database: sa.Engine) -> None:
    metadata = sa.MetaData()
    values = sa.Table(
        f"sqlalchemy_{database.driver}",
        metadata,
        sa.Column("k", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("amount", sa.Numeric(38, 2)),
        sa.Column("day", sa.Date, comment="when"),
        sa.Column("tags", ARRAY(sa.Text)),
        sa.Column("document", JSONB),
        sa.Column("ident", UUID(as_uuid=False)),
    )
    metadata.create_all(database)
    metadata.create_all(database)  # asks first what is there
    full = (1, Decimal("1.5"), date(2024, 7, 3), ["a"], {"x": 1}, "00000000-0000-0001-0000-000000000002")
    rows = [dict(zip(values.c.keys(), row, strict=True)) for row in (full, (2, *[None] * 5))]
    with database.begin() as connection:
        connection.execute(values.insert(), rows)
    with database.connect() as connection:
        found = connection.execute(sa.select(values).where(values.c.k.in_([1, 2])).order_by(values.c.k)).all()
        assert [tuple(row) for row in found] == [tuple(row.values()) for row in rows]
        total = connection.scalar(sa.select(sa.func.count()).select_from(values).where(sa.any_(values.c.tags) == "a"))
        assert total == 1
    with database.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        assert connection.execute(values.update().where(values.c.k == 2).values(amount=3)).rowcount == 1
        assert connection.execute(values.delete().where(values.c.k == 1)).rowcount == 1
        with pytest.raises(sa.exc.ProgrammingError):
            connection.execute(sa.text("SELECT nope"))
        assert connection.scalar(sa.text("SELECT amount FROM " + values.name)) == 3
    metadata.drop_all(database)
    assert not sa.inspect(database).has_table(values.name)


def test_keys_and_indexes_are_reflected(database: sa.Engine) -> None:
    table = f"sqlalchemy_keyed_{database.driver}"
    with database.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        columns = "day date, item int, note text, CONSTRAINT keyed PRIMARY KEY (item, day), UNIQUE (note)"
        connection.execute(sa.text(f"CREATE TABLE {table} ({columns})"))
        connection.execute(sa.text(f"CREATE INDEX {table}_idx ON {table} (note, lower(note))"))
    seen = sa.inspect(database)
    primary = seen.get_pk_constraint(table)
    assert (primary["name"], primary["constrained_columns"]) == ("keyed", ["item", "day"])
    assert [key["column_names"] for key in seen.get_unique_constraints(table)] == [["note"]]
    indexes = {index["name"]: index for index in seen.get_indexes(table)}
    assert indexes[f"{table}_idx"]["expressions"] == ["note", "lower(note)"]
    assert indexes[f"{table}_note_key"]["unique"]
    reflected = sa.Table(table, sa.MetaData(), autoload_with=database)
    assert [column.name for column in reflected.primary_key] == ["item", "day"]


class Base(DeclarativeBase):
    pass


class Bid(Base):
    __tablename__ = "sqlalchemy_bids"
    item: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    note: Mapped[str | None]


def test_mapped_objects_are_stored_and_found(database: sa.Engine) -> None:
    Base.metadata.create_all(database)
    with Session(database) as session:
        session.add_all([Bid(item=1, note="first"), Bid(item=2)])
        session.commit()
        assert session.get(Bid, 1) is not None
        assert session.scalars(sa.select(Bid.note).where(Bid.item == 1)).one() == "first"
        session.rollback()
    Base.metadata.drop_all(database)


def test_a_subscription_is_read_as_it_comes(database: sa.Engine) -> None:
    with database.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(sa.text(f"CREATE TABLE sqlalchemy_followed_{database.driver} (k int)"))
        connection.execute(sa.text(f"INSERT INTO sqlalchemy_followed_{database.driver} VALUES (7)"))
    with database.connect() as connection:
        connection.execute(sa.text(f"DECLARE c CURSOR FOR SUBSCRIBE sqlalchemy_followed_{database.driver}"))
        assert connection.execute(sa.text("FETCH 1 c")).mappings().one()["k"] == 7
