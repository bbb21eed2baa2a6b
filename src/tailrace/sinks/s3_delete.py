"""DeleteObject by a request of our own: Arrow's file system, deleting a file, puts an object for the folder back."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote

import requests

from tailrace.errors import SqlError, Unavailable
from tailrace.sinks.aws_signing import Request, Scope, Signer, has_own_key
from tailrace.sinks.s3_connection import S3Connection, translate

_SECONDS = 30.0


def delete_object(connection: S3Connection, path: str) -> None:
    """Deletes `bucket/key`; one that is not there is no error."""
    region = connection.region or "us-east-1"
    endpoint = connection.endpoint or f"https://s3.{region}.amazonaws.com"
    request = Request(method="DELETE", url=f"{endpoint}/{quote(path, safe='/-_.~')}", headers={})
    headers = _signer(connection, region).sign(request)
    try:
        answer = requests.delete(request.url, headers=headers, timeout=_SECONDS)
    except requests.RequestException as error:
        raise Unavailable("s3: could not reach the service while using DeleteObject", detail=str(error)) from error
    if answer.status_code == requests.codes.forbidden:
        raise SqlError(
            "AccessDenied error when using DeleteObject",
            detail=answer.text[:1000],
            hint=f"Grant s3:DeleteObject on {path.rsplit('/', 1)[0]}/*.",
            sqlstate="42501",
        )
    if answer.status_code not in (200, 204, 404):
        raise Unavailable(f"s3: HTTP status {answer.status_code} while using DeleteObject", detail=answer.text[:1000])


@lru_cache(maxsize=16)
def _signer(connection: S3Connection, region: str) -> Signer:
    """Kept, with the key of a role that it has taken on."""
    return Signer(connection, Scope(service="s3", region=region))


def delete(connection: S3Connection, path: str) -> None:
    """The same.  The key to take on a role with is found by Arrow in more places; then an object for the folder may be
    left."""
    if connection.role_arn is None or has_own_key():
        delete_object(connection, path)
        return
    try:
        with suppress(FileNotFoundError):
            connection.file_system().delete_file(path)
    except OSError as error:
        raise translate(error, "using DeleteObject", connection) from error
