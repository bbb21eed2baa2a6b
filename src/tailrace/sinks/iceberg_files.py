"""The files of Iceberg tables by a role: pyiceberg passes on no external id, without which the role is refused."""

from __future__ import annotations

from pyarrow.fs import FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO

from tailrace.sinks.s3_connection import S3Connection

NAME = f"{__name__}.RoleFileIO"
ROLE, SESSION, EXTERNAL_ID, REGION = "s3.role-arn", "s3.role-session-name", "tailrace.external-id", "s3.region"


class RoleFileIO(PyArrowFileIO):
    """A catalog may hand out keys of its own with a table; then those are used, and no role."""

    def _initialize_s3_fs(self, netloc: str | None) -> FileSystem:
        if "s3.access-key-id" in self.properties:
            return super()._initialize_s3_fs(netloc)
        return S3Connection(
            name="",
            region=self.properties.get(REGION),
            endpoint=self.properties.get("s3.endpoint"),
            role_arn=self.properties[ROLE],
            role_session_name=self.properties.get(SESSION),
            external_id=self.properties[EXTERNAL_ID],
        ).file_system()
