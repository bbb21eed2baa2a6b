"""A real Iceberg REST catalog on this machine: the one that Iceberg tests its own clients with, over SQLite."""

import urllib.request
from pathlib import Path

from pyiceberg.catalog.rest import RestCatalog

from tailrace.jars import iceberg_rest_classpath
from tailrace.java import java
from tailrace.testing.ports import is_listening
from tailrace.testing.server import Server


class IcebergRest(Server):
    """What was committed survives `kill`.  Asks nobody who they are, and listens on all interfaces."""

    name = "Iceberg-REST"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def catalog(self) -> RestCatalog:
        """A client of its own for whoever asks."""
        return RestCatalog("default", uri=self.url)

    def _prepare(self, scratch: Path) -> None:
        (scratch / "warehouse").mkdir()

    def _command(self, scratch: Path) -> list[str]:
        settings = [f"CATALOG_URI=jdbc:sqlite:{scratch / 'catalog.db'}", f"CATALOG_REST_PORT={self.port}"]
        settings += [f"CATALOG_WAREHOUSE=file://{scratch / 'warehouse'}"]
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={scratch}"]
        program = ["-cp", iceberg_rest_classpath(), "org.apache.iceberg.rest.RESTCatalogServer"]
        return ["env", *settings, str(java()), *options, *program]

    def _answers(self) -> bool:
        if not is_listening(self.port):
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/v1/config", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
