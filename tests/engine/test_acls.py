"""A broker that lets nobody do more than it must: a sink needs what is documented, and names what it misses."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from pyspark.sql import SparkSession

from engine.statuses import PATIENCE_SECONDS, await_status
from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic, read_committed, settle
from tailrace.ticks.loop import Pace

pytestmark = pytest.mark.slow  # a broker of its own

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # whoever comes by the open listener: the broker itself, and this test
}
TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
READ, WRITE, CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE

# What the documentation asks for, less the right to read by a group, which we have no use for: positions in the
# progress topic are never committed.
NEEDED = {
    "reading progress": (READ, TOPIC, "acl-progress", 'Grant the ACL Read on Topic "acl-progress".'),
    "writing progress": (WRITE, TOPIC, "acl-progress", 'Grant the ACL Write on Topic "acl-progress".'),
    "writing": (WRITE, TOPIC, "acl-data", 'Grant the ACL Write on Topic "acl-data".'),
    "transactions": (WRITE, ID, "acl-", 'Grant the ACL Write on TransactionalId "acl-materialize-'),
}


class Rights:
    """Of user alice, and nobody else."""

    def __init__(self, broker: Broker) -> None:
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})

    def grant(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        binding = AclBinding(*self._parts(operation, kind, name))
        self._admin.create_acls([binding])[binding].result()

    def revoke(self, operation: AclOperation, kind: ResourceType, name: str) -> None:
        filter = AclBindingFilter(*self._parts(operation, kind, name))
        assert self._admin.delete_acls([filter])[filter].result()

    def _parts(self, operation: AclOperation, kind: ResourceType, name: str) -> tuple[object, ...]:
        pattern = ResourcePatternType.PREFIXED if kind == ID else ResourcePatternType.LITERAL
        return kind, name, pattern, "User:alice", "*", operation, AclPermissionType.ALLOW


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    with Broker(secure="SASL_SSL", properties=PROPERTIES) as broker:
        broker.set_password("alice", "secret")
        create_topic(broker.bootstrap, "acl-progress", config={"cleanup.policy": "compact"})
        create_topic(broker.bootstrap, "acl-data")
        yield broker


@pytest.fixture(scope="module")
def rights(guarded: Broker) -> Rights:
    rights = Rights(guarded)
    for operation, kind, name, _ in NEEDED.values():
        rights.grant(operation, kind, name)
    return rights


@pytest.fixture(scope="module")
def engine(spark: SparkSession, guarded: Broker, rights: Rights) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.05)) as opened:
        opened.sql(
            f"CREATE SECRET authority AS '{guarded.certificate.certificate}'; CREATE SECRET password AS 'secret';"
            f"CREATE CONNECTION k TO KAFKA (BROKER '{guarded.secure_bootstrap}', SASL MECHANISMS 'SCRAM-SHA-256',"
            " SASL USERNAME 'alice', SASL PASSWORD SECRET password, SSL CERTIFICATE AUTHORITY SECRET authority,"
            " PROGRESS TOPIC 'acl-progress'); CREATE TABLE t (x int)"
        )
        yield opened


@pytest.fixture(autouse=True)
def no_sink_stays(engine: Engine) -> Iterator[None]:
    yield
    engine.sql("DROP SINK IF EXISTS out")


def create(engine: Engine, topic: str) -> str:
    engine.sql(
        f"CREATE SINK out FROM t INTO KAFKA CONNECTION k (TOPIC '{topic}', TRANSACTIONAL ID PREFIX 'acl-',"
        " PROGRESS GROUP ID PREFIX 'acl-') FORMAT JSON ENVELOPE DEBEZIUM WITH (SNAPSHOT = false)"
    )
    return topic


def arrives(engine: Engine, broker: Broker, topic: str) -> None:
    """Another row is told, once."""
    settle(broker.bootstrap, topic)
    before = len(read_committed(broker.bootstrap, topic))
    engine.sql("INSERT INTO t VALUES (1)")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(read_committed(broker.bootstrap, topic)) != before + 1:
        assert time.monotonic() < deadline, engine.statuses.of(engine.catalog.resolve(("out",)).id)
        time.sleep(0.02)


def test_the_documented_rights_are_enough(engine: Engine, guarded: Broker) -> None:
    arrives(engine, guarded, create(engine, "acl-data"))


@pytest.mark.parametrize("missing", NEEDED)
def test_a_missing_right_is_named_and_the_sink_goes_on_when_it_is_there(
    engine: Engine, guarded: Broker, rights: Rights, missing: str
) -> None:
    *right, named = NEEDED[missing]
    rights.revoke(*right)
    try:
        topic = create(engine, "acl-data")
        hint = await_status(engine, "out", "stalled").hint
        assert hint is not None
        assert hint.startswith(named)
    finally:
        rights.grant(*right)
    await_status(engine, "out", "running")
    arrives(engine, guarded, topic)


def test_making_a_topic_takes_a_right_of_its_own(engine: Engine, guarded: Broker, rights: Rights) -> None:
    rights.grant(WRITE, TOPIC, "acl-new")
    create(engine, "acl-new")
    assert await_status(engine, "out", "stalled").hint == 'Grant the ACL Create on Topic "acl-new".'
    rights.grant(CREATE, TOPIC, "acl-new")
    await_status(engine, "out", "running")
    arrives(engine, guarded, "acl-new")
