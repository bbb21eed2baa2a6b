"""What is kept of a password: enough to check it, not enough to know it.

In PostgreSQL's own notation, `SCRAM-SHA-256$4096:salt$stored_key:server_key` (RFC 5802, 7677).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096


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
        return cls(salt, iterations, sha256(hmac_sha256(salted, b"Client Key")), hmac_sha256(salted, b"Server Key"))

    @classmethod
    def parse(cls, text: str) -> Verifier:
        mechanism, cost, keys = text.split("$")
        if mechanism != MECHANISM:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        iterations, salt = cost.split(":")
        stored, server = keys.split(":")
        return cls(base64.b64decode(salt), int(iterations), base64.b64decode(stored), base64.b64decode(server))

    def __str__(self) -> str:
        salt, stored, server = map(to_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier(***)"


def _prepared(password: str) -> str:
    """SASLprep (RFC 4013); like PostgreSQL, a password that it forbids is used as it is."""
    kept = (c for c in password if not stringprep.in_table_b1(c))
    mapped = "".join(" " if stringprep.in_table_c12(c) else c for c in kept)
    normal = unicodedata.normalize("NFKC", mapped)
    forbidden = any(stringprep.in_table_c21_c22(c) or stringprep.in_table_a1(c) for c in normal)
    return password if forbidden or not normal else normal


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
