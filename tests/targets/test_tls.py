"""PostgreSQL and Redis behind TLS: only the server whose certificate was vouched for gets to hear anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing import postgres as pg
from tailrace.testing import redis as rd
from tailrace.testing.certificates import Certificate, make_certificate
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.tls_proxy import TlsProxy
from targets.iceberg_tables import until


class Tls:
    """Servers behind proxies with a certificate, and another one that vouches for nobody here."""

    def __init__(self, directory: Path, postgres: Postgres, redis: Redis) -> None:
        self.ours, self.other, self.elsewhere = (self._made(directory, name) for name in ("ours", "other", "elsewhere"))
        self.ports = {"POSTGRES": postgres.port, "REDIS": redis.port}

    def _made(self, directory: Path, name: str) -> Certificate:
        (directory / name).mkdir()
        return make_certificate(directory / name, *(["DNS:elsewhere.example"] if name == "elsewhere" else []))

    def proxy(self, kind: str, certificate: Certificate) -> TlsProxy:
        return TlsProxy(self.ports[kind], certificate, asked_first=kind == "POSTGRES")


@pytest.fixture(scope="module")
def tls(engine: Engine, tmp_path_factory: pytest.TempPathFactory, postgres: Postgres, redis: Redis) -> Iterator[Tls]:
    made = Tls(tmp_path_factory.mktemp("tls"), postgres, redis)
    for name in ("ours", "other", "elsewhere"):
        engine.sql(f"CREATE SECRET {name} AS '{getattr(made, name).certificate}'")
    engine.sql(f"CREATE SECRET of_postgres AS '{pg.PASSWORD}'; CREATE SECRET of_redis AS '{rd.PASSWORD}'")
    return made


def connection(name: str, kind: str, proxy: TlsProxy, mode: str, authority: str) -> str:
    more = ", USER postgres, DATABASE postgres" if kind == "POSTGRES" else ""
    return (
        f"CREATE CONNECTION {name} TO {kind} (HOST '127.0.0.1', PORT {proxy.port}{more}, PASSWORD SECRET"
        f" of_{kind.lower()}, SSL MODE {mode}, SSL CERTIFICATE AUTHORITY SECRET {authority})"
    )


def test_a_table_behind_tls(engine: Engine, postgres: Postgres, tls: Tls) -> None:
    with tls.proxy("POSTGRES", tls.ours) as proxy:
        engine.sql(connection("pg_tls", "POSTGRES", proxy, "verify_full", "ours"))
        engine.sql("CREATE TABLE a (k int NOT NULL, PRIMARY KEY (k)); INSERT INTO a VALUES (7)")
        engine.sql("CREATE SINK a_out FROM a INTO POSTGRES CONNECTION pg_tls (TABLE 'behind_tls') KEY (k) MODE UPSERT")
        with postgres.connect() as reader:
            there = "SELECT to_regclass('behind_tls') IS NOT NULL"
            until(lambda: reader.execute(there).fetchone() == (True,))
            until(lambda: reader.execute("SELECT k FROM behind_tls").fetchall() == [(7,)])
        engine.sql("DROP SINK a_out")


def test_keys_behind_tls(engine: Engine, redis: Redis, tls: Tls) -> None:
    with tls.proxy("REDIS", tls.ours) as proxy:
        engine.sql(connection("redis_tls", "REDIS", proxy, "verify_full", "ours"))
        engine.sql("CREATE TABLE b (k int NOT NULL, PRIMARY KEY (k)); INSERT INTO b VALUES (7)")
        engine.sql(
            "CREATE SINK b_out FROM b INTO REDIS CONNECTION redis_tls (KEY TEMPLATE 'tls:{k}') KEY (k)"
            " FORMAT JSON MODE UPSERT"
        )
        with redis.connect() as client:
            until(lambda: json.loads(client.get("tls:7") or "0") == {"k": 7})
        engine.sql("DROP SINK b_out")


@pytest.mark.parametrize("kind", ["POSTGRES", "REDIS"])
def test_a_server_that_nobody_vouches_for_is_refused(kind: str, engine: Engine, tls: Tls) -> None:
    with tls.proxy(kind, tls.ours) as proxy:
        for mode in ("verify_ca", "verify_full"):
            with pytest.raises(SqlError, match="could not trust the server"):
                engine.sql(connection("nobody", kind, proxy, mode, "other"))
        until(lambda: proxy.refused == 2)
        assert not proxy.asked  # no password, nothing


@pytest.mark.parametrize("kind", ["POSTGRES", "REDIS"])
def test_a_server_of_another_name_is_refused_by_verify_full_alone(kind: str, engine: Engine, tls: Tls) -> None:
    with tls.proxy(kind, tls.elsewhere) as proxy:
        with pytest.raises(SqlError, match="could not trust the server"):
            engine.sql(connection("nobody", kind, proxy, "verify_full", "elsewhere"))
        engine.sql(connection(f"by_ca_{kind}", kind, proxy, "verify_ca", "elsewhere"))
        assert proxy.asked
