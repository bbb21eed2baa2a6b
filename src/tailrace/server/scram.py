"""SCRAM-SHA-256 (RFC 5802, 7677): the server never holds, and never sees, a password.

It keeps a verifier, in PostgreSQL's own notation `SCRAM-SHA-256$4096:salt$stored_key:server_key`.  Unknown
users get a made-up salt that stays the same, so that asking does not tell who exists.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable

from tailrace.server.auth import AuthenticationFailed, Conversation
from tailrace.server.fields import INT32, STRING, STRINGS, ProtocolViolation, Reader
from tailrace.server.messages import Authentication
from tailrace.server.startup import StartupInfo
from tailrace.verifier import ITERATIONS, MECHANISM, Verifier, hmac_sha256, sha256, to_base64

_SASL, _SASL_CONTINUE, _SASL_FINAL = 10, 11, 12


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
        signature = hmac_sha256(verifier.server_key, auth_message)
        return Authentication(_SASL_FINAL, b"v=" + to_base64(signature).encode())

    def _mock(self, user: str) -> Verifier:
        salt = hmac_sha256(self._mock_secret, user.encode("utf-8", "replace"))[:16]
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
    nonce = client_nonce + to_base64(secrets.token_bytes(18))
    return f"r={nonce},s={to_base64(verifier.salt)},i={verifier.iterations}"


def _client_final(payload: bytes, header: str, server_first: str) -> tuple[str, bytes]:
    """What the client signed, and the proof that it could."""
    signed, _, proof = _text(payload).rpartition(",p=")
    nonce = server_first.split(",")[0]
    if signed.split(",")[:2] != [f"c={to_base64(header.encode())}", nonce]:
        raise ProtocolViolation("malformed SCRAM message")
    return signed, _unbase64(proof)


def _proves(verifier: Verifier, auth_message: bytes, proof: bytes) -> bool:
    signature = hmac_sha256(verifier.stored_key, auth_message)
    if len(proof) != len(signature):
        return False
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    return hmac.compare_digest(sha256(client_key), verifier.stored_key)


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
