"""An Iceberg catalog connection as the catalog keeps it, with secrets looked up, and the one way to open it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg import exceptions
from pyiceberg.catalog import Catalog, load_catalog

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.secret import Secret
from tailrace.sinks import iceberg_files, iceberg_rest
from tailrace.sinks.aws_signing import Scope, Signer
from tailrace.sinks.s3_connection import S3Connection

S3_TABLES = "s3tablesrest"
_NAME = "default"
"""Of catalogs of the type sql, which keep several apart by name; it is pyiceberg's own default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IcebergConnection:
    """How to reach a catalog and its files.  One that exists is valid."""

    name: str
    catalog_type: str  # s3tablesrest, rest, sql
    url: str
    warehouse: str | None = None
    credential: Secret | None = None
    scope: str | None = None
    files: S3Connection | None = None

    def open(self) -> Catalog:
        """Raises Unavailable, or SqlError if a person must act."""
        with translated(f'connecting as "{self.name}"', self):
            if self.catalog_type == "sql":
                return load_catalog(_NAME, **self._properties())
            return iceberg_rest.Catalog(_NAME, self._signer(), **self._properties())

    def _signer(self) -> Signer | None:
        if self.catalog_type != S3_TABLES:
            return None
        assert self.files is not None
        return Signer(self.files, Scope(service="s3tables", region=self.region or "us-east-1"))

    @property
    def region(self) -> str | None:
        """Where the files are: as their connection says, or else the bucket's ARN."""
        return (self.files.region if self.files is not None else None) or region_of(self.warehouse)

    def _properties(self) -> dict[str, str]:
        given = {
            "type": "sql" if self.catalog_type == "sql" else "rest",
            "uri": self.url,
            "warehouse": self.warehouse,
            "credential": None if self.credential is None else self.credential.reveal(),
            "scope": self.scope,
        }
        if self.files is not None:
            given |= self._of_files(self.files)
        return {name: value for name, value in given.items() if value is not None}

    def _of_files(self, files: S3Connection) -> dict[str, str | None]:
        os.environ.setdefault("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED")  # as in s3_connection.py
        revealed = {
            "access-key-id": files.access_key_id,
            "secret-access-key": files.secret_access_key,
            "session-token": files.session_token,
        }
        role = {
            "py-io-impl": iceberg_files.NAME,
            iceberg_files.ROLE: files.role_arn,
            iceberg_files.SESSION: files.role_session_name,
            iceberg_files.EXTERNAL_ID: files.external_id,
        }
        return {
            **{f"s3.{name}": None if secret is None else secret.reveal() for name, secret in revealed.items()},
            **(role if files.role_arn is not None else {}),
            "s3.endpoint": files.endpoint,
            "s3.region": self.region,
            "s3.request-timeout": "60",
            "s3.connect-timeout": "10",
        }


def region_of(warehouse: str | None) -> str | None:
    """Of the ARN of a bucket, `arn:aws:s3tables:REGION:…`."""
    parts = (warehouse or "").split(":")
    return parts[3] or None if len(parts) > 3 and parts[0] == "arn" else None


@contextmanager
def translated(doing: str, connection: IcebergConnection) -> Iterator[None]:
    """What the catalog or the client library says, as errors somebody can act on."""
    try:
        yield
    except TailraceError:
        raise
    except exceptions.NoSuchNamespaceError as error:
        raise SqlError(f"namespace does not exist, while {doing}", detail=str(error), sqlstate="3F000") from error
    except (exceptions.UnauthorizedError, exceptions.ForbiddenError, exceptions.AuthorizationExpiredError) as error:
        raise SqlError(f"iceberg: not authorized while {doing}", detail=str(error), sqlstate="28000") from error
    except (exceptions.ValidationError, exceptions.NotInstalledError, ImportError, ValueError) as error:
        raise SqlError(f"iceberg: {_first(error)} while {doing}", detail=str(error)) from error
    except Exception as error:
        raise Unavailable(f"iceberg: {_first(error)} while {doing}", detail=connection.url) from error


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
