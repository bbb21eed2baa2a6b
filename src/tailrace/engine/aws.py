"""AWS connections: from statements to what reaches a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyarrow import fs

from tailrace.catalog.items import Item
from tailrace.engine.secrets import revealed
from tailrace.errors import SqlError
from tailrace.sinks.s3_connection import S3Connection, translate
from tailrace.statements.connections.aws import AwsDetails

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def connection(engine: Engine, item: Item) -> S3Connection:
    """The AWS connection of a catalog item, ready to use."""
    details = item.statement.details
    if not isinstance(details, AwsDetails):
        raise SqlError("only AWS CONNECTION is supported for COPY ... TO <expr>", sqlstate="42809")
    return S3Connection(
        name=item.name.item,
        endpoint=details.endpoint,
        region=details.region,
        access_key_id=revealed(engine, details.access_key_id),
        secret_access_key=revealed(engine, details.secret_access_key),
        session_token=revealed(engine, details.session_token),
        role_arn=details.assume_role_arn,
        role_session_name=details.assume_role_session_name,
        external_id=external_id(engine, item),
    )


def external_id(engine: Engine, item: Item) -> str:
    """What a role's trust policy asks for, so that nobody else can have us take on the role."""
    return f"mz_{engine.region}_{item.id}"


def validate(engine: Engine, item: Item) -> None:
    """Asks for the buckets.  Who may not list them has credentials that are good all the same."""
    used = connection(engine, item)
    if used.endpoint is not None:
        raise SqlError(
            f'AWS connection "{used.name}" cannot be validated',
            detail=f"{used.endpoint} is S3-compatible, and has no service that says who we are.",
            hint="COPY … TO uses the connection all the same.",
            sqlstate="0A000",
        )
    try:
        used.file_system().get_file_info(fs.FileSelector(""))
    except OSError as error:
        if "ACCESS_DENIED" not in str(error):
            raise translate(error, "listing buckets", used) from error
