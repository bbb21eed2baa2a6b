"""CREATE CONNECTION … TO AWS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import SECRET, SECRET_OR_TEXT, TEXT
from tailrace.sql.names import SecretRef
from tailrace.sql.options import Option, Options
from tailrace.statements.connections.contract import ConnectionType

ENDPOINT = Option("ENDPOINT", TEXT, doc="The URL of an S3-compatible service; without one, Amazon's own.")
REGION = Option("REGION", TEXT, doc="The region of the buckets.")
ACCESS_KEY_ID = Option("ACCESS KEY ID", SECRET_OR_TEXT, doc="Of the key to sign requests with.")
SECRET_ACCESS_KEY = Option("SECRET ACCESS KEY", SECRET, doc="The key's secret part.")
SESSION_TOKEN = Option("SESSION TOKEN", SECRET_OR_TEXT, doc="Of a temporary key.")
ASSUME_ROLE_ARN = Option("ASSUME ROLE ARN", TEXT, doc="The role to take on, with the credentials of the engine.")
ASSUME_ROLE_SESSION_NAME = Option("ASSUME ROLE SESSION NAME", TEXT, doc="How the role's session is called.")
OPTIONS: tuple[Option[Any], ...] = (
    *(ENDPOINT, REGION, ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN),
    *(ASSUME_ROLE_ARN, ASSUME_ROLE_SESSION_NAME),
)
_KEY_OPTIONS: tuple[Option[Any], ...] = (ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN)


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsDetails:
    """How to reach AWS, or a service like its S3; secrets are still names.  Either a key or a role is given."""

    options: Options
    endpoint: str | None
    region: str | None
    access_key_id: str | SecretRef | None
    secret_access_key: SecretRef | None
    session_token: str | SecretRef | None
    assume_role_arn: str | None
    assume_role_session_name: str | None


def build(options: Options) -> AwsDetails:
    _check_credentials(options)
    return AwsDetails(
        options=options,
        endpoint=_endpoint(options),
        region=options.get(REGION),
        access_key_id=options.get(ACCESS_KEY_ID),
        secret_access_key=options.get(SECRET_ACCESS_KEY),
        session_token=options.get(SESSION_TOKEN),
        assume_role_arn=options.get(ASSUME_ROLE_ARN),
        assume_role_session_name=options.get(ASSUME_ROLE_SESSION_NAME),
    )


def _check_credentials(options: Options) -> None:
    given = [option for option in _KEY_OPTIONS if options.has(option)]
    if options.has(ASSUME_ROLE_ARN):
        if given:
            raise InvalidOption(
                f"cannot specify both {given[0].name} and ASSUME ROLE ARN", position=options.position(given[0])
            )
        return
    if options.has(ASSUME_ROLE_SESSION_NAME):
        raise InvalidOption(
            "must specify ASSUME ROLE ARN with ASSUME ROLE SESSION NAME",
            position=options.position(ASSUME_ROLE_SESSION_NAME),
        )
    if not given:
        raise InvalidOption("must specify either ASSUME ROLE ARN or ACCESS KEY ID and SECRET ACCESS KEY")
    if not (options.has(ACCESS_KEY_ID) and options.has(SECRET_ACCESS_KEY)):
        raise InvalidOption(
            "must specify both ACCESS KEY ID and SECRET ACCESS KEY with optional SESSION TOKEN",
            position=options.position(given[0]),
        )


def _endpoint(options: Options) -> str | None:
    given = options.get(ENDPOINT)
    if given is None:
        return None
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidOption(
            f"invalid ENDPOINT: {given}",
            hint="Write scheme and host, e.g. 'https://storage.googleapis.com'.",
            position=options.position(ENDPOINT),
        )
    return f"{parts.scheme}://{parts.netloc}"


TYPE = ConnectionType(name="AWS", options=OPTIONS, build=build, validated=False)
