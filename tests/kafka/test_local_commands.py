"""`tailrace local send` and `read`: what the README has people type."""

from __future__ import annotations

import subprocess
import sys

from tailrace.testing.broker import Broker
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
