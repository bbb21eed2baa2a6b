"""A snapshot that takes far longer than any transaction may, in an engine that is killed again and again."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

from faults.pipeline import OPTIONS, PATIENCE_SECONDS
from tailrace.testing.broker import Broker
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.topics import create_topic, ends, read_committed, settle

ROWS = 2_000_000
KILLS = 3
TIME_OUT_SECONDS = 10
_OBJECTS = """
CREATE CONNECTION kafka TO KAFKA (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT);
CREATE MATERIALIZED VIEW many AS SELECT k, 'v' || k::text AS v FROM generate_series(1, {rows}) AS g (k);
CREATE SINK many_out FROM many INTO KAFKA CONNECTION kafka (TOPIC '{topic}')
KEY (k) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT
"""
_FRONTIER = """
SELECT f.write_frontier::bigint FROM mz_sinks s JOIN mz_internal.mz_frontiers f ON f.object_id = s.id
WHERE s.name = 'many_out'
"""


class Reader(threading.Thread):
    """Asks all the time how far a reader of committed messages would get.  `longest`: what it was ever kept waiting."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="reader", daemon=True)
        self._brokers = bootstrap
        self._topic = topic
        self._stopping = threading.Event()
        self.visible = 0
        self.longest = 0.0

    def run(self) -> None:
        before: dict[int, int] = {}
        since: dict[int, float] = {}
        while not self._stopping.wait(0.2):
            written = ends(self._brokers, self._topic)
            stable = ends(self._brokers, self._topic, committed=True)
            now = time.monotonic()
            for partition, offset in stable.items():
                if offset >= written[partition] or offset != before.get(partition):
                    since[partition] = now
                self.longest = max(self.longest, now - since.get(partition, now))
            before, self.visible = stable, sum(stable.values())

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def test_a_snapshot_is_told_once_however_often_the_engine_is_killed(tmp_path: Path) -> None:
    draw = random.Random(3)
    engine = EngineProcess(
        tmp_path / "data",
        tmp_path / "engine.log",
        *(*OPTIONS, "--slot-rows", "100000", "--kafka-transaction-timeout", f"{TIME_OUT_SECONDS}s"),
    )
    eager = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
    with Broker(properties=eager) as broker:
        topic = create_topic(broker.bootstrap, "many", partitions=3)
        reader = Reader(broker.bootstrap, topic)
        reader.start()
        try:
            engine.start()
            with engine.connect() as connection:
                for statement in _OBJECTS.format(bootstrap=broker.bootstrap, topic=topic, rows=ROWS).split(";"):
                    connection.execute(statement.strip().encode())
            for _ in range(KILLS):
                _wait_for(reader, reader.visible + draw.randrange(1, ROWS // 4))
                time.sleep(draw.random())
                engine.kill()
                assert reader.visible < ROWS, "it was all there before it was killed"
                engine.start()
            _wait_for(reader, ROWS)
            _wait_until_told(engine)  # what was aborted counts as well for how far a reader gets
        finally:
            engine.kill()
            reader.stop()
        settle(broker.bootstrap, topic)
        keys = Counter(message.key for message in read_committed(broker.bootstrap, topic))
    assert keys == Counter(b'{"k":%d}' % k for k in range(1, ROWS + 1))
    assert reader.longest < TIME_OUT_SECONDS + 5


def _wait_until_told(engine: EngineProcess) -> None:
    """As far as the engine knows; the topic is read by somebody else."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with engine.connect() as connection:
        while connection.execute(_FRONTIER.encode()).fetchall() == [(0,)]:
            assert time.monotonic() < deadline, engine.output()
            time.sleep(0.2)


def _wait_for(reader: Reader, messages: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while reader.visible < messages:
        assert time.monotonic() < deadline, f"{reader.visible:,} of {messages:,} messages"
        time.sleep(0.1)
