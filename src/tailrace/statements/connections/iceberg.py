"""CREATE CONNECTION … TO ICEBERG CATALOG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.errors import InvalidOption, NotSupported
from tailrace.sql.kinds import OBJECT, SECRET_OR_TEXT, TEXT
from tailrace.sql.names import Name, SecretRef
from tailrace.sql.options import Option, Options
from tailrace.statements.connections.contract import ConnectionType

CATALOG_TYPE = Option("CATALOG TYPE", TEXT, doc="s3tablesrest, rest, or sql: a database that SQLAlchemy knows.")
URL = Option("URL", TEXT, doc="The catalog's address; of a sql one, e.g. 'sqlite:////data/catalog.db'.")
WAREHOUSE = Option("WAREHOUSE", TEXT, doc="Where new tables go: a bucket's ARN, a name, or a path.")
AWS_CONNECTION = Option("AWS CONNECTION", OBJECT, doc="How to reach the files.")
CREDENTIAL = Option("CREDENTIAL", SECRET_OR_TEXT, doc="client_id:client_secret of a rest catalog.")
SCOPE = Option("SCOPE", TEXT, doc="What to ask a rest catalog's token for.")
GCP_CONNECTION = Option("GCP CONNECTION", OBJECT, doc="Not supported yet.")
OPTIONS: tuple[Option[Any], ...] = (
    *(CATALOG_TYPE, URL, WAREHOUSE, AWS_CONNECTION, CREDENTIAL, SCOPE, GCP_CONNECTION),
)
S3_TABLES, REST, SQL = "s3tablesrest", "rest", "sql"


@dataclass(frozen=True, kw_only=True, slots=True)
class IcebergDetails:
    """How to reach an Iceberg catalog; secrets are still names."""

    options: Options
    catalog_type: str
    url: str
    warehouse: str | None
    aws_connection: Name | None
    credential: str | SecretRef | None
    scope: str | None


def build(options: Options) -> IcebergDetails:
    required: tuple[Option[Any], ...] = (CATALOG_TYPE, URL)
    for option in required:
        if not options.get(option):
            raise InvalidOption(f"{option.name} option is required", position=options.position(option))
    kind = options.get(CATALOG_TYPE) or ""
    if kind.lower() not in (S3_TABLES, REST, SQL):
        raise InvalidOption(
            f"invalid CATALOG TYPE: {kind}",
            hint=f"Use one of {S3_TABLES}, {REST}, {SQL}.",
            position=options.position(CATALOG_TYPE),
        )
    if options.has(GCP_CONNECTION):
        raise NotSupported(
            "GCP CONNECTION of Iceberg catalogs not yet supported", position=options.position(GCP_CONNECTION)
        )
    _check(options, kind.lower())
    return IcebergDetails(
        options=options,
        catalog_type=kind.lower(),
        url=options.get(URL) or "",
        warehouse=options.get(WAREHOUSE),
        aws_connection=options.get(AWS_CONNECTION),
        credential=options.get(CREDENTIAL),
        scope=options.get(SCOPE),
    )


def _check(options: Options, kind: str) -> None:
    needed: dict[str, tuple[Option[Any], ...]] = {S3_TABLES: (WAREHOUSE, AWS_CONNECTION), SQL: (WAREHOUSE,)}
    for option in needed.get(kind, ()):
        if not options.has(option):
            raise InvalidOption(f"{option.name} option is required with CATALOG TYPE {kind}")
    refused: dict[str, tuple[Option[Any], ...]] = {S3_TABLES: (CREDENTIAL, SCOPE), SQL: (CREDENTIAL, SCOPE)}
    for option in refused.get(kind, ()):
        if options.has(option):
            message = f"{option.name} option is not supported with CATALOG TYPE {kind}"
            raise InvalidOption(message, position=options.position(option))


TYPE = ConnectionType(name="ICEBERG CATALOG", options=OPTIONS, build=build)
