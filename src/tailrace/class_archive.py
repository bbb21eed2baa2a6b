"""`python -m tailrace.class_archive`, a step of `make setup`: an archive of the classes that a pipeline makes Spark
load.  With it a server starts a third sooner, and its first tick finds what it needs.

Only what has been loaded is archived, so a small pipeline runs from a topic to a topic, on a broker of its own.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from pathlib import Path

from pyspark import SparkContext

from tailrace.engine.engine import Engine
from tailrace.engine.warm_up import warm_up
from tailrace.spark import JVM_OPTIONS, build_session, class_archive
from tailrace.testing.broker import Broker, BrokerFailed
from tailrace.testing.topics import create_topic, ends, is_there, produce

_MESSAGES = 30_000  # more than stay on the driver

_PIPELINE = (
    "CREATE CONNECTION broker TO KAFKA (BROKER '{broker}', SECURITY PROTOCOL PLAINTEXT)",
    "CREATE SOURCE views FROM KAFKA CONNECTION broker (TOPIC 'views') FORMAT JSON",
    "CREATE SOURCE latest FROM KAFKA CONNECTION broker (TOPIC 'views') KEY FORMAT TEXT VALUE FORMAT JSON"
    " ENVELOPE UPSERT",
    "CREATE MATERIALIZED VIEW seen AS SELECT data->>'reader' AS reader, count(*) AS n FROM views GROUP BY 1",
    "CREATE MATERIALIZED VIEW joined AS SELECT key, n FROM latest JOIN seen ON reader = data->>'reader'",
    "CREATE SINK told FROM joined INTO KAFKA CONNECTION broker (TOPIC 'told') KEY (key) NOT ENFORCED FORMAT JSON"
    " ENVELOPE UPSERT",
)


def main() -> int:
    """Makes the archive for this Java and this PySpark unless it is there."""
    archive = class_archive()
    if not archive.exists():
        sys.stderr.write("spark: writing an archive of its classes, for quicker starts; this takes a minute\n")
        logging.getLogger("tailrace").setLevel(logging.ERROR)  # what a new broker makes us try again is of no interest
        try:
            make(archive)
        except (TimeoutError, BrokerFailed) as error:
            sys.stderr.write(f"spark: no archive: {error}.  Everything works without it, and starts more slowly.\n")
    return 0


def make(archive: Path) -> None:
    """Starts Spark and a broker, runs the pipeline, and lets Spark's JVM write the archive when it ends."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="arriving-") as directory:
        arriving = Path(directory) / archive.name
        session = build_session("local[2]", extra={JVM_OPTIONS: f"-XX:ArchiveClassesAtExit={arriving}"})
        warm_up(session)
        with Broker() as broker, Engine(session, Path(directory) / "data") as engine:
            create_topic(broker.bootstrap, "views", partitions=2)
            _send(broker.bootstrap, _MESSAGES)
            for statement in _PIPELINE:
                engine.sql(statement.format(broker=broker.bootstrap))
            _wait_for(broker.bootstrap, "told")
            _send(broker.bootstrap, 10)
            engine.sql("SELECT count(*) FROM joined")
        session.stop()
        gateway = SparkContext._gateway
        assert gateway is not None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        arriving.replace(archive)


def _send(bootstrap: str, count: int) -> None:
    messages = ((str(n), json.dumps({"reader": n % 997, "region": f"r{n % 61}"})) for n in range(count))
    produce(bootstrap, "views", messages)


def _wait_for(bootstrap: str, topic: str) -> None:
    deadline = time.monotonic() + 60
    while not (is_there(bootstrap, topic) and any(ends(bootstrap, topic).values())):
        if time.monotonic() > deadline:
            raise TimeoutError("the pipeline wrote nothing in a minute")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
