"""Signatures as AWS computes them, and a server that checks them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import requests

from tailrace.secret import Secret
from tailrace.sinks.aws_signing import AwsKey, Request, Scope, Signer, signed
from tailrace.sinks.s3_connection import S3Connection
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
