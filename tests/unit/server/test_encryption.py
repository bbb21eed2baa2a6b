"""TLS and passwords, with real clients."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import asyncpg
import psycopg
import pytest

from tailrace.server import Scram, Verifier, tls_context
from tailrace.server import messages as wire
from unit.server.conftest import PATIENCE, Running, StartServer

PASSWORDS = {"me": Verifier.of("pencil é")}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on PATH")
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "server.crt", folder / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(chain)],
        check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    return chain, key


@pytest.fixture
def encrypted(start_server: StartServer, certificate: tuple[Path, Path]) -> Running:
    return start_server(tls=tls_context(*certificate), authenticator=Scram(PASSWORDS.get))


def test_psycopg_verifies_and_signs_in(encrypted: Running, certificate: tuple[Path, Path]) -> None:
    chain = certificate[0]
    with psycopg.connect(
        encrypted.url, password="pencil é", sslmode="verify-full", sslrootcert=str(chain)
    ) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("numbers 100000 10000").rowcount == 100_000
    startup = encrypted.sessions[0].startup
    assert startup is not None
    assert startup.encrypted


def test_asyncpg_signs_in(encrypted: Running, certificate: tuple[Path, Path]) -> None:
    async def use() -> int:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        connection = await asyncpg.connect(encrypted.url, password="pencil é", ssl=context, timeout=PATIENCE)
        try:
            return int(await connection.fetchval("select 5"))
        finally:
            await connection.close()

    assert asyncio.run(use()) == 5


@pytest.mark.parametrize(("user", "password"), [("me", "pen"), ("you", "pencil é")])
def test_wrong_passwords_and_unknown_users_stay_out(encrypted: Running, user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=f'password authentication failed for user "{user}"'):
        psycopg.connect(encrypted.url, user=user, password=password, sslmode="disable")
    assert encrypted.sessions == []


def test_nothing_is_taken_before_the_password(encrypted: Running) -> None:
    with encrypted.raw() as client:
        client.send(wire.StartupMessage(3 << 16, (("user", "me"),)), wire.Query("select 1"))
        assert isinstance(client.receive(), wire.Authentication)
        error = client.receive()
        assert isinstance(error, wire.ErrorResponse)
        assert ("C", "08P01") in error.fields
        assert client.receive() is None
    assert encrypted.sessions == []


def test_plain_text_slipped_in_before_encryption_is_refused(encrypted: Running) -> None:
    with encrypted.raw() as client:
        client.send(wire.EncryptionRequest(wire.SSL_CODE), wire.StartupMessage(3 << 16, (("user", "me"),)))
        error = client.receive()
        assert isinstance(error, wire.ErrorResponse)
        assert ("M", "received unencrypted data after SSL request") in error.fields


def test_a_broken_handshake_ends_one_connection(encrypted: Running) -> None:
    with encrypted.raw() as client:
        client.send(wire.EncryptionRequest(wire.SSL_CODE))
        assert client.byte() == b"S"
        client.socket.sendall(b"this is no handshake")
        while client.receive() is not None:
            pass
    with psycopg.connect(encrypted.url, password="pencil é", sslmode="require") as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_with_both_it_listens_anywhere(start_server: StartServer, certificate: tuple[Path, Path]) -> None:
    running = start_server(host="0.0.0.0", tls=tls_context(*certificate), authenticator=Scram(PASSWORDS.get))
    with psycopg.connect(running.url, password="pencil é", sslmode="require") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
