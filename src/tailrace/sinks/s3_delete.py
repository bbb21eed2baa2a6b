"""DeleteObject, signed by hand: Arrow's file system puts an object for the folder back when it deletes a file.

AWS Signature Version 4 of a request without query and body.  tests/targets/test_s3.py has a real server check it.
"""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import quote, urlsplit

from tailrace.errors import SqlError, Unavailable
from tailrace.sinks.s3_connection import S3Connection, translate

_SECONDS = 30.0
_NO_BODY = hashlib.sha256(b"").hexdigest()


def delete_object(connection: S3Connection, path: str) -> None:
    """Deletes `bucket/key`; one that is not there is no error.  For connections with a key of their own."""
    region = connection.region or "us-east-1"
    endpoint = urlsplit(connection.endpoint or f"https://s3.{region}.amazonaws.com")
    target = "/" + quote(path, safe="/-_.~")
    headers = _signed(connection, region, endpoint.netloc, target)
    client = (HTTPSConnection if endpoint.scheme == "https" else HTTPConnection)(endpoint.netloc, timeout=_SECONDS)
    try:
        client.request("DELETE", target, headers=headers)
        answer = client.getresponse()
        said = answer.read().decode(errors="replace")
    except OSError as error:
        raise Unavailable("s3: could not reach the service while using DeleteObject", detail=str(error)) from error
    finally:
        client.close()
    if answer.status == 403:
        raise SqlError(
            "AccessDenied error when using DeleteObject",
            detail=said[:1000],
            hint=f"Grant s3:DeleteObject on {path.rsplit('/', 1)[0]}/*.",
            sqlstate="42501",
        )
    if answer.status not in (200, 204, 404):
        raise Unavailable(f"s3: HTTP status {answer.status} while using DeleteObject", detail=said[:1000])


def delete(connection: S3Connection, path: str) -> None:
    """The same, also with a role; then an object for the folder may be left."""
    if connection.role_arn is None:
        delete_object(connection, path)
        return
    try:
        with suppress(FileNotFoundError):
            connection.file_system().delete_file(path)
    except OSError as error:
        raise translate(error, "using DeleteObject", connection) from error


def _signed(connection: S3Connection, region: str, host: str, target: str) -> dict[str, str]:
    assert connection.access_key_id is not None
    assert connection.secret_access_key is not None
    now = datetime.now(UTC)
    headers = {"host": host, "x-amz-content-sha256": _NO_BODY, "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}"}
    if connection.session_token is not None:
        headers["x-amz-security-token"] = connection.session_token.reveal()
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"DELETE\n{target}\n\n{lines}\n{names}\n{_NO_BODY}"
    scope = f"{now:%Y%m%d}/{region}/s3/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = b"AWS4" + connection.secret_access_key.reveal().encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"{connection.access_key_id.reveal()}/{scope}"
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    )
    return headers
