"""The story: start everything, let pageviews flow, kill the engine twice, then compare."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from importlib.resources import files

from confluent_kafka import Consumer

from tailrace.demo.judge import Verdict, judge
from tailrace.demo.pageviews import Visitors
from tailrace.demo.screen import Screen
from tailrace.testing.broker import Broker
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.process import ScratchDirectory
from tailrace.testing.topics import create_topic, read_committed

_CATCH_UP_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """How long the acts are, in seconds of running engine, and how many pageviews a second there are."""

    rate: int = 500
    before_first_kill: float = 15.0
    before_second_kill: float = 15.0
    afterwards: float = 10.0


class Audience(threading.Thread):
    """An ordinary read_committed consumer of the sink's topic; keeps the screen up to date."""

    def __init__(self, bootstrap: str, topic: str, screen: Screen) -> None:
        super().__init__(name="audience", daemon=True)
        settings = {"bootstrap.servers": bootstrap, "group.id": "audience", "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**settings, "isolation.level": "read_committed", "log_level": 2})
        self._consumer.subscribe([topic])
        self._screen = screen
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(0.1)
            value = None if message is None or message.error() else message.value()
            if value is None:
                continue
            row = json.loads(value)
            picture = self._screen.picture
            before = picture.regions.get(row["region"], (0, 0, 0))
            picture.regions[row["region"]] = (row["pv"], row["uv"], before[2] + 1)
            picture.received += 1
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def tell(screen: Screen, script: Script, *, keep: bool = False) -> Verdict:
    """Runs the whole story.  With `keep`, the last engine stays up until Ctrl-C."""
    with ScratchDirectory("tailrace-demo-") as scratch:
        screen.tell("starting a Kafka broker")
        with Broker() as broker:
            create_topic(broker.bootstrap, "pageviews", partitions=4)
            server = EngineProcess(scratch / "data", scratch / "engine.log")
            try:
                return _acts(screen, script, broker, server, keep)
            finally:
                server.stop()


def _acts(screen: Screen, script: Script, broker: Broker, server: EngineProcess, keep: bool) -> Verdict:
    visitors = Visitors(broker.bootstrap, "pageviews", script.rate)
    _open(screen, server, broker.bootstrap)
    visitors.start()
    screen.tell(f"{script.rate} pageviews a second begin to arrive")
    audience = Audience(broker.bootstrap, "pageviews_per_region", screen)
    audience.start()
    _wait(screen, visitors, script.before_first_kill)
    _kill(screen, server, visitors)
    _wait(screen, visitors, script.before_second_kill)
    _kill(screen, server, visitors)
    _wait(screen, visitors, script.afterwards)
    visitors.stop()
    screen.picture.sent = visitors.sent
    screen.tell("no more pageviews; waiting until the view has counted them all")
    _catch_up(server, visitors.sent)
    audience.stop()
    screen.tell("an independent reader recomputes the view from the input topic and compares")
    verdict = judge(
        read_committed(broker.bootstrap, "pageviews"), read_committed(broker.bootstrap, "pageviews_per_region")
    )
    screen.tell(f"{verdict.pageviews:,} pageviews in, {verdict.messages:,} changes out: {verdict}")
    if keep:
        _keep(screen, server, broker)
    return verdict


def _open(screen: Screen, server: EngineProcess, bootstrap: str) -> None:
    screen.tell("starting the engine")
    server.start()
    with server.connect() as connection:
        screen.tell(f"psql -h 127.0.0.1 -p {server.port} -U materialize materialize   (open it in another window)")
        text = files("tailrace.demo").joinpath("pipeline.sql").read_text().format(bootstrap=bootstrap)
        for statement in text.split(";"):
            if statement.strip():
                connection.execute(statement.strip().encode())
                screen.tell(" ".join(statement.split())[:100])
    screen.picture.engine = "running"


def _wait(screen: Screen, visitors: Visitors, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        screen.picture.sent = visitors.sent
        time.sleep(0.1)


def _kill(screen: Screen, server: EngineProcess, visitors: Visitors) -> None:
    server.kill()
    screen.picture.kills += 1
    screen.picture.engine = "dead"
    screen.tell("kill -9 of the engine, in mid-flight")
    _wait(screen, visitors, 1.0)
    screen.tell("starting it again: the restart alone must heal everything")
    began = time.monotonic()
    server.start()
    server.connect().close()
    screen.picture.engine = "running"
    screen.tell(f"it answers again after {time.monotonic() - began:.1f} s")


def _catch_up(server: EngineProcess, pageviews: int) -> None:
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    with server.connect() as connection:
        while time.monotonic() < deadline:
            total = "SELECT coalesce(sum(pv), 0)::bigint FROM pageviews_per_region"
            [(counted,)] = connection.execute(total).fetchall()
            if counted >= pageviews:
                return
            time.sleep(0.2)


def _keep(screen: Screen, server: EngineProcess, broker: Broker) -> None:
    screen.tell(f"kept running: psql -h 127.0.0.1 -p {server.port} -U materialize materialize")
    screen.tell(f"Kafka: {broker.bootstrap}   Ctrl-C ends everything")
    try:
        while server.is_running():
            time.sleep(0.5)
    except KeyboardInterrupt:
        pass
