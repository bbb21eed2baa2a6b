"""SCRAM-SHA-256 without sockets.  (That real clients agree is in test_listener.py.)"""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from tailrace.errors import TailraceError
from tailrace.server.auth import AuthenticationFailed
from tailrace.server.fields import INT32, STRING, ProtocolViolation
from tailrace.server.scram import Scram
from tailrace.server.startup import StartupInfo
from tailrace.verifier import MECHANISM, Verifier

VERIFIER = Verifier.of("pencil")


def first(message: str, mechanism: str = MECHANISM) -> bytes:
    return STRING.write(mechanism) + INT32.write(len(message)) + message.encode()


def sign_in(password: str, user: str = "me", header: str = "n,,") -> None:
    """Plays the client, and checks the server's last word.  Raises what the server raises."""
    scram = Scram({"me": VERIFIER}.get)
    talk = scram.converse(StartupInfo(user=user))
    assert next(talk).data == b"SCRAM-SHA-256\0\0"
    bare = "n=,r=abc"
    server_first = talk.send(first(header + bare)).data.decode()
    nonce, salt, iterations = (part[2:] for part in server_first.split(","))
    assert nonce.startswith("abc")
    signed = f"c={base64.b64encode(header.encode()).decode()},r={nonce}"
    message = f"{bare},{server_first},{signed}".encode()
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(iterations))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(client_key).digest(), message, "sha256")
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    with pytest.raises(StopIteration) as end:
        talk.send(f"{signed},p={base64.b64encode(proof).decode()}".encode())
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    assert end.value.value.data == b"v=" + base64.b64encode(hmac.digest(server_key, message, "sha256"))


@pytest.mark.parametrize("header", ["n,,", "y,,", "n,a=me,"])
def test_the_right_password_is_let_in(header: str) -> None:
    sign_in("pencil", header=header)


@pytest.mark.parametrize(("user", "password"), [("me", "pen"), ("you", "pencil"), ("me", "")])
def test_everything_else_is_refused_in_the_same_words(user: str, password: str) -> None:
    with pytest.raises(AuthenticationFailed, match=f'password authentication failed for user "{user}"'):
        sign_in(password, user)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0",
        first("n,,n=,r=x", "SCRAM-SHA-1"),
        first("p=tls-unique,,n=,r=x"),
        first("n,,r=x"),
        first("x"),
    ],
)
def test_malformed_first_answers_are_violations(answer: bytes) -> None:
    talk = Scram({"me": VERIFIER}.get).converse(StartupInfo(user="me"))
    next(talk)
    with pytest.raises(ProtocolViolation):
        talk.send(answer)


@pytest.mark.parametrize("answer", [b"", b"\xff", b"c=biws,r=other,p=AAAA", b"c=biws,p=AAAA"])
def test_malformed_last_answers_are_refused(answer: bytes) -> None:
    talk = Scram({"me": VERIFIER}.get).converse(StartupInfo(user="me"))
    next(talk)
    talk.send(first("n,,n=,r=x"))
    with pytest.raises(TailraceError):
        talk.send(answer)


def test_an_unknown_user_always_gets_the_same_salt() -> None:
    scram = Scram(lambda user: None)

    def salt() -> str:
        talk = scram.converse(StartupInfo(user="nobody"))
        next(talk)
        return talk.send(first("n,,n=,r=x")).data.decode().split(",")[1]

    assert salt() == salt()


def test_a_verifier_is_written_as_postgres_writes_it() -> None:
    verifier = Verifier.of("pencil", salt=b"0123456789abcdef")
    assert str(verifier).startswith("SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$")
    assert Verifier.parse(str(verifier)) == verifier
    assert "***" in repr(verifier)


def test_passwords_are_prepared_as_clients_do() -> None:
    salt = b"salt"
    assert Verifier.of("\u2168", salt=salt) == Verifier.of("IX", salt=salt)
    assert Verifier.of("a\u00adb\u00a0", salt=salt) == Verifier.of("ab ", salt=salt)
