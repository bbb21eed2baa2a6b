"""A commit that is on its way for a long time, and arrives when the sink has long gone on with another writer."""

import pytest

from kafka.sink_of import changes, definition_of, upserts, zset
from tailrace.errors import Unavailable
from tailrace.sinks.contract import Progress
from tailrace.sinks.kafka import KafkaSink
from tailrace.testing.broker import Broker
from tailrace.testing.kafka_proxy import END_TXN, KafkaProxy
from tailrace.types.core import Tick

FIRST, SECOND = zset((1, "a", 1), (2, "b", 1)), zset((1, "a", -1), (1, "A", 1))


@pytest.fixture(scope="module")
def behind():
    with KafkaProxy() as proxy:
        properties = {"advertised.listeners": f"PLAINTEXT://{proxy.address}"}
        with Broker(properties=properties) as broker:
            proxy.serve(broker.bootstrap)
            yield broker, proxy


def test_a_commit_that_arrives_late_ends_no_later_transaction(behind, spark, monkeypatch):
    broker, proxy = behind
    definition = definition_of(broker)
    sink = KafkaSink(definition, spark)
    sink.progress()
    monkeypatch.setattr("tailrace.sinks.kafka_writer._COMMIT_SECONDS", 2.0)
    monkeypatch.setattr("tailrace.sinks.kafka_writer._ABORT_SECONDS", 0.5)
    proxy.hold(END_TXN)
    with pytest.raises(Unavailable):
        sink.write(Tick(10), FIRST)
    assert proxy.wait_until_held()
    monkeypatch.undo()
    assert sink.progress() == Progress(tick=None)  # the new writer has ended what was open
    write_here = sink._settle

    def late(writer, tick):
        writer.flush()  # the messages of the next transaction are in the topic, and it is open
        proxy.release()
        write_here(writer, tick)

    monkeypatch.setattr(sink, "_settle", late)
    sink.write(Tick(10), FIRST)
    monkeypatch.undo()
    sink.write(Tick(20), SECOND)
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(20))
    assert changes(definition) == upserts({1: "a", 2: "b"}, 10) + upserts({1: "A"}, 20)
