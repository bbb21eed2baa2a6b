"""`tailrace local send` and `read`: what the README has people type."""

from __future__ import annotations

import subprocess
import sys

from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.s3 import S3
from tailrace.testing.stack import LocalStack
from tailrace.testing.topics import transaction


def local(*words: str, given: str = "") -> str:
    command = [sys.executable, "-m", "tailrace", "local", *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def test_lines_are_sent_to_a_topic_that_need_not_be_there_and_read_back(broker: Broker) -> None:
    local("send", broker.bootstrap, "by-hand", given='{"item": "tea"}\n{"item": "é"}\n')
    local("send", broker.bootstrap, "by-hand", given="third\n")
    assert local("read", broker.bootstrap, "by-hand") == '\t{"item": "tea"}\n\t{"item": "é"}\n\tthird\n'


def test_only_committed_messages_are_printed(broker: Broker) -> None:
    local("send", broker.bootstrap, "committed", given="seen\n")
    with transaction(broker.bootstrap) as open_one:
        open_one.produce("committed", [("k", "not yet")])
        assert local("read", broker.bootstrap, "committed") == "\tseen\n"
    assert local("read", broker.bootstrap, "committed") == "\tseen\nk\tnot yet\n"


def test_what_the_stack_says_to_type_connects(spark: SparkSession) -> None:
    with LocalStack(Postgres(), Redis(), S3()) as stack, Engine(spark) as engine:
        engine.sql("\n".join(stack.statements()))
        engine.sql("""
            CREATE TABLE orders (item text NOT NULL, amount int);
            INSERT INTO orders VALUES ('tea', 5);
            CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS amount FROM orders GROUP BY item;
            CREATE SINK to_kafka FROM totals INTO KAFKA CONNECTION broker (TOPIC 't')
              KEY (item) FORMAT JSON ENVELOPE UPSERT;
            CREATE SINK to_postgres FROM totals INTO POSTGRES CONNECTION postgres (TABLE 'public.totals')
              KEY (item) MODE UPSERT;
            CREATE SINK to_redis FROM totals INTO REDIS CONNECTION redis (KEY TEMPLATE 'totals:{item}')
              KEY (item) FORMAT JSON MODE UPSERT;
            COPY orders TO 's3://bucket/orders' WITH (AWS CONNECTION = s3, FORMAT = 'csv');
        """)
        answer = engine.sql("SHOW SINKS")
        assert answer is not None
        assert answer.num_rows == 3
