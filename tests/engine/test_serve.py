"""What `tailrace serve` is told about who may connect, put to a real server: TLS, passwords, and what is too open."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from tailrace.cli import serve
from tailrace.cli.settings import ENGINE, SERVER, add_flags, resolve
from tailrace.engine.engine import Engine
from tailrace.errors import InvalidOption, SqlError
from tailrace.server.listener import TooOpen


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH")
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "server.crt", folder / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(chain)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return chain, key


def told(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser, (*SERVER, *ENGINE))
    options = parser.parse_args(["--listen", "127.0.0.1:0", *arguments])
    resolve(options, (*SERVER, *ENGINE), {})
    return options


def test_with_tls_and_passwords_nobody_listens_along_or_gets_in(
    engine: Engine, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    chain, key = certificate
    secret = tmp_path / "password"
    secret.write_text("open sesame\n")
    tls = ("--tls-certificate", str(chain), "--tls-key", str(key))
    server = serve.server_of(engine, told(*tls, "--auth", "password", "--password-file", str(secret)))
    server.start()
    try:
        address = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize sslmode=require"
        with psycopg.connect(f"{address} password='open sesame'", autocommit=True) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT current_user").fetchone() == ("materialize",)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"{address} password=guess")
    finally:
        server.stop(5.0)


@pytest.mark.parametrize("auth", ["trust", "password"])
def test_beyond_loopback_it_takes_both(engine: Engine, certificate: tuple[Path, Path], auth: str) -> None:
    with pytest.raises(TooOpen):
        serve.server_of(engine, told("--listen", "0.0.0.0:0", "--auth", auth)).start()
    tls = ("--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1]))
    if auth == "trust":
        with pytest.raises(TooOpen):
            serve.server_of(engine, told("--listen", "0.0.0.0:0", *tls)).start()
    with pytest.raises(InvalidOption, match="both a certificate and its key"):
        serve.server_of(engine, told(*tls[:2]))


def test_a_statement_that_takes_too_long_is_ended(engine: Engine) -> None:
    session = engine.session()
    list(session.sql("SET statement_timeout = '300ms'"))
    engine.sql("CREATE TABLE lazy (k int); INSERT INTO lazy SELECT generate_series(1, 1000)")
    # Slow, and yet small: what is cancelled may go on for a while, and must not take Spark's memory along.
    [result] = session.sql("SELECT count(*) FROM lazy a, lazy b, lazy c WHERE (a.k * b.k + c.k) % 7 = 3")
    with pytest.raises(SqlError, match="canceling statement due to statement timeout"):
        list(result.rows)
    with pytest.raises(SqlError, match="invalid length of time"):
        list(session.sql("SET statement_timeout = 'a while'"))
