"""SCRAM-SHA-256 (RFC 5802, 7677): the server never holds, and never sees, a password.

It keeps a verifier, in PostgreSQL's own notation `SCRAM-SHA-256$4096:salt$stored_key:server_key`.  Unknown
users get a made-up salt that stays the same, so that asking does not tell who exists.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from tailrace.server.auth import AuthenticationFailed, Conversation
from tailrace.server.fields import INT32, STRING, STRINGS, ProtocolViolation, Reader
from tailrace.server.messages import Authentication
from tailrace.server.startup import StartupInfo

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096

_SASL, _SASL_CONTINUE, _SASL_FINAL = 10, 11, 12


@dataclass(frozen=True, slots=True)
class Verifier:
    """Enough to check a password, not enough to know it."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, password: str, *, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
        salt = secrets.token_bytes(16) if salt is None else salt
        salted = hashlib.pbkdf2_hmac("sha256", _prepared(password).encode(), salt, iterations)
        return cls(salt, iterations, _sha256(_hmac(salted, b"Client Key")), _hmac(salted, b"Server Key"))

    @classmethod
    def parse(cls, text: str) -> Verifier:
        mechanism, cost, keys = text.split("$")
        if mechanism != MECHANISM:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        iterations, salt = cost.split(":")
        stored, server = keys.split(":")
        return cls(_unbase64(salt), int(iterations), _unbase64(stored), _unbase64(server))

    def __str__(self) -> str:
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier(***)"


class Scram:
    """Passwords.  `verifier_of` looks up a user's verifier; None if there is no such user, or no password."""

    needs_password = True

    def __init__(self, verifier_of: Callable[[str], Verifier | None]) -> None:
        self._verifier_of = verifier_of
        self._mock_secret = secrets.token_bytes(32)

    def converse(self, startup: StartupInfo) -> Conversation:
        known = self._verifier_of(startup.user)
        verifier = known or self._mock(startup.user)
        answer = yield Authentication(_SASL, STRINGS.write((MECHANISM,)))
        header, bare, client_nonce = _client_first(answer)
        server_first = _server_first(verifier, client_nonce)
        answer = yield Authentication(_SASL_CONTINUE, server_first.encode())
        signed, proof = _client_final(answer, header, server_first)
        auth_message = f"{bare},{server_first},{signed}".encode()
        if not _proves(verifier, auth_message, proof) or known is None:
            raise AuthenticationFailed(startup.user)
        signature = _hmac(verifier.server_key, auth_message)
        return Authentication(_SASL_FINAL, b"v=" + _base64(signature).encode())

    def _mock(self, user: str) -> Verifier:
        salt = _hmac(self._mock_secret, user.encode("utf-8", "replace"))[:16]
        return Verifier(salt, ITERATIONS, secrets.token_bytes(32), secrets.token_bytes(32))


def _client_first(payload: bytes) -> tuple[str, str, str]:
    """The GS2 header, the rest of the message, and the nonce in it."""
    reader = Reader(payload)
    mechanism, size = STRING.read(reader), INT32.read(reader)
    if mechanism != MECHANISM:
        raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
    message = _text(reader.take(size))
    parts = message.split(",")
    # n: the client has no channel binding; y: it has, and thinks that we have not.  Both are true.
    if len(parts) < 4 or parts[0] not in ("n", "y") or [p[:2] for p in parts[2:4]] != ["n=", "r="]:
        raise ProtocolViolation("malformed SCRAM message")
    return f"{parts[0]},{parts[1]},", ",".join(parts[2:]), parts[3].removeprefix("r=")


def _server_first(verifier: Verifier, client_nonce: str) -> str:
    nonce = client_nonce + _base64(secrets.token_bytes(18))
    return f"r={nonce},s={_base64(verifier.salt)},i={verifier.iterations}"


def _client_final(payload: bytes, header: str, server_first: str) -> tuple[str, bytes]:
    """What the client signed, and the proof that it could."""
    signed, _, proof = _text(payload).rpartition(",p=")
    nonce = server_first.split(",")[0]
    if signed.split(",")[:2] != [f"c={_base64(header.encode())}", nonce]:
        raise ProtocolViolation("malformed SCRAM message")
    return signed, _unbase64(proof)


def _proves(verifier: Verifier, auth_message: bytes, proof: bytes) -> bool:
    signature = _hmac(verifier.stored_key, auth_message)
    if len(proof) != len(signature):
        return False
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    return hmac.compare_digest(_sha256(client_key), verifier.stored_key)


def _prepared(password: str) -> str:
    """SASLprep (RFC 4013); like PostgreSQL, a password that it forbids is used as it is."""
    kept = (c for c in password if not stringprep.in_table_b1(c))
    mapped = "".join(" " if stringprep.in_table_c12(c) else c for c in kept)
    normal = unicodedata.normalize("NFKC", mapped)
    forbidden = any(stringprep.in_table_c21_c22(c) or stringprep.in_table_a1(c) for c in normal)
    return password if forbidden or not normal else normal


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolViolation("malformed SCRAM message") from None


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolViolation("malformed SCRAM message") from None
