"""An AWS connection as the catalog keeps it, with secrets looked up.  Goes along with Spark's tasks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from pyarrow import fs

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class S3Connection:
    """How to reach buckets.  One that exists is valid."""

    name: str
    endpoint: str | None = None
    region: str | None = None
    access_key_id: Secret | None = None
    secret_access_key: Secret | None = None
    session_token: Secret | None = None
    role_arn: str | None = None
    role_session_name: str | None = None
    external_id: str | None = None

    def file_system(self) -> fs.S3FileSystem:
        """Asks nobody yet."""
        # The SDK's newer checksums travel in a trailer, which most S3-compatible services cannot read.
        os.environ.setdefault("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED")
        options: dict[str, object] = {"region": self.region, "request_timeout": 60, "connect_timeout": 10}
        if self.endpoint is not None:
            parts = urlsplit(self.endpoint)
            options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme, "force_virtual_addressing": False}
            options["region"] = self.region or "us-east-1"  # what such services call themselves if not told
        if self.role_arn is not None:
            options |= {
                "role_arn": self.role_arn,
                "session_name": self.role_session_name or "tailrace",
                "external_id": self.external_id,
            }
        else:
            assert self.access_key_id is not None
            assert self.secret_access_key is not None
            options |= {
                "access_key": self.access_key_id.reveal(),
                "secret_key": self.secret_access_key.reveal(),
                "session_token": None if self.session_token is None else self.session_token.reveal(),
            }
        return fs.S3FileSystem(**options)


_NOT_WELCOME = ("INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN", "ExpiredToken")
_DENIED = ("ACCESS_DENIED", "AccessDenied", "HTTP status 403")
_NOT_THERE = ("NO_SUCH_BUCKET", "NoSuchBucket")


def translate(error: OSError, doing: str, connection: S3Connection) -> TailraceError:
    """What the service or the client library said, as an error somebody can act on."""
    said = " ".join(str(error).split())
    if any(words in said for words in _NOT_WELCOME):
        return SqlError(f'could not log in with AWS connection "{connection.name}"', detail=said, sqlstate="28000")
    if any(words in said for words in _NOT_THERE):
        return SqlError(f"bucket does not exist, while {doing}", detail=said, sqlstate="42704")
    if any(words in said for words in _DENIED):
        return SqlError(f"AccessDenied error when {doing}", detail=said, sqlstate="42501")
    hint = None if connection.endpoint is None else f"Does an S3 service listen at {connection.endpoint}?"
    return Unavailable(f"s3: {said} while {doing}", hint=hint)
