"""Signatures as AWS computes them, and a server that checks them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar
from urllib.parse import parse_qsl

import pytest
import requests

from tailrace.errors import SqlError
from tailrace.secret import Secret
from tailrace.sinks.aws_signing import AwsKey, Request, Scope, Signer, signed
from tailrace.sinks.s3_connection import S3Connection
from tailrace.sinks.s3_delete import delete
from tailrace.testing.s3 import ACCESS_KEY, S3, SECRET_KEY


def test_the_example_that_aws_has_published() -> None:
    request = Request(
        method="GET",
        url="https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
        headers={"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
    )
    key = AwsKey(id="AKIDEXAMPLE", secret=Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
    headers = signed(
        request, key, Scope(service="iam", region="us-east-1"), datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    )
    assert headers["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request,"
        " SignedHeaders=content-type;host;x-amz-date,"
        " Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


@pytest.mark.parametrize(("secret", "status"), [(SECRET_KEY, 200), ("another", 403)])
def test_a_server_takes_a_good_signature_alone(secret: str, status: int, s3: S3) -> None:
    connection = S3Connection(name="b", access_key_id=Secret(ACCESS_KEY), secret_access_key=Secret(secret))
    signer = Signer(connection, Scope(service="s3", region="us-east-1"))
    request = Request(method="GET", url=f"{s3.endpoint}/?list-type=2&prefix=a%20b", headers={})
    answer = requests.get(request.url, headers=signer.sign(request), timeout=10)
    assert answer.status_code == status


_REFUSED = "<ErrorResponse><Error><Message>no</Message></Error></ErrorResponse>"


class _Sts(BaseHTTPRequestHandler):
    """Gives out the key of the S3 server to whoever asks in the right way, and says no to others."""

    asked: ClassVar[list[dict[str, str]]] = []

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
        self.asked.append(form)
        trusted = form["ExternalId"] == "mz_region_u1"
        now = datetime.now(UTC) + timedelta(hours=1)
        key = f"<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>"
        key += f"<SessionToken>t</SessionToken><Expiration>{now:%Y-%m-%dT%H:%M:%SZ}</Expiration>"
        taken_on = f"<AssumeRoleResult><Credentials>{key}</Credentials></AssumeRoleResult>"
        said = f"<AssumeRoleResponse xmlns='urn:x'>{taken_on}</AssumeRoleResponse>" if trusted else _REFUSED
        self.send_response(200 if trusted else 403)
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, str]]]:
    with HTTPServer(("127.0.0.1", 0), _Sts) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "engine")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-engine")
        monkeypatch.setattr(_Sts, "asked", [])
        yield _Sts.asked
        server.shutdown()


def role(external_id: str) -> S3Connection:
    arn = "arn:aws:iam::1:role/r"
    return S3Connection(name="b", role_arn=arn, role_session_name="s", external_id=external_id)


def test_a_role_is_taken_on_with_its_external_id_and_kept(s3: S3, sts: list[dict[str, str]]) -> None:
    signer = Signer(role("mz_region_u1"), Scope(service="s3", region="us-east-1"))
    for _ in range(2):
        request = Request(method="GET", url=f"{s3.endpoint}/", headers={})
        assert requests.get(request.url, headers=signer.sign(request), timeout=10).status_code == 200
    [asked] = sts
    assert asked["Action"] == "AssumeRole"
    assert (asked["RoleArn"], asked["RoleSessionName"]) == ("arn:aws:iam::1:role/r", "s")
    assert asked["ExternalId"] == "mz_region_u1"


def test_a_role_that_does_not_trust_us_says_where_the_external_id_is(sts: list[dict[str, str]]) -> None:
    signer = Signer(role("another"), Scope(service="s3", region="us-east-1"))
    with pytest.raises(SqlError, match=r"could not take on the role") as refused:
        signer.sign(Request(method="GET", url="http://127.0.0.1/", headers={}))
    assert refused.value.sqlstate == "28000"
    assert "mz_aws_connections" in (refused.value.hint or "")
    assert len(sts) == 1


def test_objects_are_deleted_with_a_role_that_is_taken_on_once(s3: S3, sts: list[dict[str, str]]) -> None:
    bucket = s3.make_bucket("roles")
    key = S3Connection(
        name="k", endpoint=s3.endpoint, access_key_id=Secret(ACCESS_KEY), secret_access_key=Secret(SECRET_KEY)
    )
    paths = [f"{bucket}/p/{name}" for name in ("a", "b c", "ü+%")]
    for path in paths:
        with key.file_system().open_output_stream(path):
            pass
    assert len(s3.objects(bucket)) == len(paths)
    for path in (*paths, *paths):  # one that is not there any more is no error
        delete(replace(role("mz_region_u1"), endpoint=s3.endpoint), path)
    assert not s3.objects(bucket)
    assert len(sts) == 1


def test_files_are_written_by_a_role_that_arrow_takes_on_with_its_external_id(
    s3: S3, sts: list[dict[str, str]]
) -> None:
    bucket = s3.make_bucket("by-role")
    system = replace(role("mz_region_u1"), endpoint=s3.endpoint, region="us-east-1").file_system()
    with system.open_output_stream(f"{bucket}/p/a") as stream:
        stream.write(b"1")
    assert list(s3.objects(bucket)) == ["p/a"]
    assert {(each["RoleArn"], each["ExternalId"]) for each in sts} == {("arn:aws:iam::1:role/r", "mz_region_u1")}
