"""Requests are late or lost, and answers too: sinks ask the target what became of them, and go on by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from faults.input import Orders
from faults.pipeline import SINKS, Pipeline
from tailrace.testing.broker import Broker
from tailrace.testing.kafka_proxy import UNANSWERED, KafkaProxy, Trouble
from tailrace.testing.topics import create_topic, read_committed

TROUBLE = Trouble(chance=0.02)


@pytest.fixture
def behind() -> Iterator[tuple[KafkaProxy, Broker]]:
    with KafkaProxy() as proxy, Broker(properties={"advertised.listeners": f"PLAINTEXT://{proxy.address}"}) as broker:
        proxy.serve(broker.bootstrap)
        yield proxy, broker


def test_changes_arrive_exactly_once_over_a_bad_network(behind: tuple[KafkaProxy, Broker], tmp_path: Path) -> None:
    proxy, broker = behind
    topics = {name: create_topic(broker.bootstrap, name, partitions=2) for name in ("orders", *SINKS)}
    orders = Orders(broker.bootstrap, topics["orders"], in_transactions=False)
    with Pipeline(tmp_path, broker.bootstrap, topics, orders=orders) as pipeline:
        pipeline.start()
        pipeline.run_for(ticks=3)
        proxy.disturb(TROUBLE)
        pipeline.run_for(ticks=25)
        proxy.calm()
        pipeline.run_until_caught_up()
        assert all(proxy.met[kind] for kind in TROUBLE.kinds), proxy.met
        pipeline.check(fused=True)


def test_over_such_a_network_a_plain_producer_says_things_twice(behind: tuple[KafkaProxy, Broker]) -> None:
    proxy, broker = behind
    topic = create_topic(broker.bootstrap, "plain")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 2})
    proxy.disturb(replace(TROUBLE, kinds=(UNANSWERED,), chance=0.2))
    for number in range(40):
        producer.produce(topic, str(number))
        producer.flush()
    proxy.calm()
    told = Counter(message.value for message in read_committed(broker.bootstrap, topic))
    assert len(told) == 40
    assert max(told.values()) > 1
