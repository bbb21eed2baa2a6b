"""Requests signed as AWS wants them (Signature Version 4), and the key they are signed with.

A signature covers method, path, query, some headers and the body: `tests/targets/test_iceberg_rest.py` has a server
check one, and `tests/unit/sinks/test_aws_signing.py` holds it against the example that AWS has published.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from xml.etree import ElementTree

import requests

from tailrace.errors import SqlError, Unavailable
from tailrace.secret import Secret
from tailrace.sinks.s3_connection import S3Connection

_SECONDS = 30.0
_EARLY = timedelta(minutes=5)  # a role's key is renewed so long before it ends


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsKey:
    """`until`: when it ends, if it does."""

    id: str
    secret: Secret
    token: Secret | None = None
    until: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        return self.until is None or now < self.until - _EARLY


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is signed.  Headers with lower-case names."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """For which service, and where."""

    service: str
    region: str


def signed(request: Request, key: AwsKey, scope: Scope, now: datetime) -> dict[str, str]:
    """The headers to send with the request: its own, and those that prove who sends it."""
    moment, body_hash = now.strftime("%Y%m%dT%H%M%SZ"), hashlib.sha256(request.body).hexdigest()
    headers = {**request.headers, "host": urlsplit(request.url).netloc, "x-amz-date": moment}
    if key.token is not None:
        headers["x-amz-security-token"] = key.token.reveal()
    names = ";".join(sorted(headers))
    within = f"{moment[:8]}/{scope.region}/{scope.service}/aws4_request"
    asked = hashlib.sha256(_canonical(request, headers, names, body_hash, scope).encode()).hexdigest()
    signature = hmac.new(_key(key, within), f"AWS4-HMAC-SHA256\n{moment}\n{within}\n{asked}".encode(), hashlib.sha256)
    proof = f"Credential={key.id}/{within}, SignedHeaders={names}, Signature={signature.hexdigest()}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {proof}"}


def _canonical(request: Request, headers: Mapping[str, str], names: str, body_hash: str, scope: Scope) -> str:
    parts = urlsplit(request.url)
    path = parts.path or "/"
    if scope.service != "s3":
        path = quote(path, safe="/~")  # once more: what is escaped in the URL is escaped twice here
    query = "&".join(
        f"{quote(name, safe='~')}={quote(value, safe='~')}"
        for name, value in sorted(parse_qsl(parts.query, keep_blank_values=True))
    )
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names.split(";"))
    return f"{request.method}\n{path}\n{query}\n{lines}\n{names}\n{body_hash}"


def _key(key: AwsKey, within: str) -> bytes:
    derived = f"AWS4{key.secret.reveal()}".encode()
    for part in within.split("/"):
        derived = hmac.new(derived, part.encode(), hashlib.sha256).digest()
    return derived


# ── whose key ──


class Signer:
    """Signs with the key of an AWS connection, or with that of the role it takes on, renewed in time."""

    def __init__(self, connection: S3Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._key: AwsKey | None = None

    def sign(self, request: Request) -> dict[str, str]:
        """Asks AWS for a role's key if there is none that is good."""
        now = datetime.now(UTC)
        if self._key is None or not self._key.is_good(now):
            self._key = self._fresh(now)
        body_hash = hashlib.sha256(request.body).hexdigest()
        headers = {**request.headers, "x-amz-content-sha256": body_hash}  # S3 asks for it, others allow it
        return signed(replace(request, headers=headers), self._key, self._scope, now)

    def _fresh(self, now: datetime) -> AwsKey:
        given = self._connection
        if given.role_arn is not None:
            return _assumed(given, self._scope.region, now)
        assert given.access_key_id is not None
        assert given.secret_access_key is not None
        return AwsKey(id=given.access_key_id.reveal(), secret=given.secret_access_key, token=given.session_token)


def _assumed(connection: S3Connection, region: str, now: datetime) -> AwsKey:
    """The key of the connection's role, for an hour."""
    form = {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        "RoleArn": connection.role_arn or "",
        "RoleSessionName": connection.role_session_name or "tailrace",
        "ExternalId": connection.external_id or "",
    }
    request = Request(
        method="POST",
        url=os.environ.get("AWS_ENDPOINT_URL_STS") or f"https://sts.{region}.amazonaws.com/",
        headers={"content-type": "application/x-www-form-urlencoded"},
        body=urlencode(form).encode(),
    )
    headers = signed(request, _own_key(connection), Scope(service="sts", region=region), now)
    try:
        answer = requests.post(request.url, data=request.body, headers=headers, timeout=_SECONDS)
        said = ElementTree.fromstring(answer.text)
    except (requests.RequestException, ElementTree.ParseError) as error:
        raise Unavailable(f"aws: could not take on role {connection.role_arn}", detail=str(error)) from error
    found = {element.tag.rpartition("}")[2]: element.text or "" for element in said.iter()}
    if answer.status_code != requests.codes.ok:
        raise SqlError(
            f'could not take on the role of AWS connection "{connection.name}"',
            detail=found.get("Message"),
            hint="Its trust policy must name us and the external id in mz_internal.mz_aws_connections.",
            sqlstate="28000",
        )
    return AwsKey(
        id=found["AccessKeyId"],
        secret=Secret(found["SecretAccessKey"]),
        token=Secret(found["SessionToken"]),
        until=datetime.fromisoformat(found["Expiration"]),
    )


def has_own_key() -> bool:
    """Whether the engine has one where AWS's tools look first."""
    return bool(os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY"))


def _own_key(connection: S3Connection) -> AwsKey:
    if not has_own_key():
        raise SqlError(
            f'no credentials to take on the role of AWS connection "{connection.name}" with',
            hint="Start the engine with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment.",
            sqlstate="28000",
        )
    id, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    token = os.environ.get("AWS_SESSION_TOKEN")
    return AwsKey(id=id, secret=Secret(secret), token=Secret(token) if token else None)
