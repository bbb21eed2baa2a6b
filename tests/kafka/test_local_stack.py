"""The local stack is the real thing: transactions hold, it survives a kill, and it goes with its parent."""

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException

from tailrace.testing.broker import Broker, BrokerFailed
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.testing.topics import create_topic, produce, read, read_committed, settle, transaction

LOCAL_UP = """
import argparse
from tailrace.cli import local
parser = argparse.ArgumentParser()
local.add_parser(parser.add_subparsers())
args = parser.parse_args(["local", "up", "--no-registry"])
raise SystemExit(args.run(args))
"""


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_is_produced_is_read_back(broker: Broker, topic: TopicFactory) -> None:
    name = topic(partitions=3)
    produce(broker.bootstrap, name, [("a", "1", {"h": "x"}, 2), ("b", None, {}, 0), (None, b"\x00")])
    messages = read_committed(broker.bootstrap, name)
    told = {(m.key, m.value, m.headers.get("h")) for m in messages}
    assert told == {(b"a", b"1", b"x"), (b"b", None, None), (None, b"\x00", None)}
    assert {m.key: m.partition for m in messages if m.key} == {b"a": 2, b"b": 0}


def test_an_aborted_transaction_is_never_committed(broker: Broker, topic: TopicFactory) -> None:
    name = topic()
    with contextlib.suppress(ZeroDivisionError), transaction(broker.bootstrap) as aborted:
        aborted.produce(name, [("k", "aborted")])
        raise ZeroDivisionError
    with transaction(broker.bootstrap) as committed:
        committed.produce(name, [("k", "committed")])
    assert [m.value for m in read_committed(broker.bootstrap, name)] == [b"committed"]
    assert [m.value for m in read(broker.bootstrap, name, "read_uncommitted")] == [b"aborted", b"committed"]


def test_an_open_transaction_hides_what_comes_after_it(broker: Broker, topic: TopicFactory) -> None:
    name = topic()
    produce(broker.bootstrap, name, [("k", "before")])
    with transaction(broker.bootstrap) as still_open:
        still_open.produce(name, [("k", "inside")])
        produce(broker.bootstrap, name, [("k", "after")])
        assert [m.value for m in read_committed(broker.bootstrap, name)] == [b"before"]
    assert [m.value for m in read_committed(broker.bootstrap, name)] == [b"before", b"inside", b"after"]


def test_topics_are_not_created_by_asking_for_them(broker: Broker) -> None:
    with pytest.raises(KafkaException):
        read_committed(broker.bootstrap, "nobody-created-this")


def test_a_killed_broker_comes_back_with_its_address_and_data() -> None:
    with Broker(properties={"num.partitions": "2"}) as broker:
        address = broker.bootstrap
        create_topic(address, "t")
        with transaction(address, "writer") as open_transaction:
            open_transaction.produce("t", [("k", "kept")])
        broker.kill()
        assert not broker.is_running()
        broker.start()
        assert broker.bootstrap == address
        settle(address, "t")
        assert [m.value for m in read_committed(address, "t")] == [b"kept"]
        broker.restart()
        assert [m.value for m in read_committed(address, "t")] == [b"kept"]


def test_a_broker_that_cannot_start_says_why() -> None:
    with pytest.raises(BrokerFailed, match="num\\.partitions"):
        Broker(properties={"num.partitions": "none"}).start()


def test_the_registry_speaks_confluents_protocol(registry: Registry) -> None:
    def call(path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(registry.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    assert isinstance(call("/subjects"), list)
    registered = call("/subjects/prices-value/versions", {"schema": '"long"'})
    assert isinstance(registered, dict)
    schema = call(f"/schemas/ids/{registered['id']}")
    assert isinstance(schema, dict)
    assert schema["schema"] == '"long"'
    subjects = call("/subjects")
    assert isinstance(subjects, list)
    assert "prices-value" in subjects


def started_stack() -> tuple["subprocess.Popen[str]", list[psutil.Process], str]:
    """`tailrace local up` as a process, with the processes below it and the broker's directory."""
    parent = subprocess.Popen([sys.executable, "-c", LOCAL_UP], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    while "Ready" not in (line := parent.stdout.readline()):
        assert line, "the stack ended before it was ready"
    below = psutil.Process(parent.pid).children(recursive=True)
    directory = next(each.cwd() for each in below if "kafka.Kafka" in each.cmdline())
    return parent, below, directory


def test_a_stack_whose_parent_is_killed_leaves_neither_process_nor_directory() -> None:
    parent, below, directory = started_stack()
    with parent:
        assert Path(directory).is_dir()
        parent.kill()
    wait_until(lambda: not any(each.is_running() for each in below))
    wait_until(lambda: not Path(directory).exists())


def test_ctrl_c_stops_the_stack_in_good_order() -> None:
    parent, below, directory = started_stack()
    with parent:
        parent.send_signal(signal.SIGINT)
        assert parent.wait() == 0
    assert not any(each.is_running() for each in below)
    assert not Path(directory).exists()
