"""Backlogs: loaded into topics once, checked by their message counts, never written again.

A backlog is the same for every system and every repetition, so its topics are kept between runs (the output
topic, the consumer groups and the job are new each time).  `python -m bench clean` removes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import kafka
from benchmarks.settings import HOME, PARTITIONS, SEED
from benchmarks.workloads.contract import Rows, Workload

PREFIX = "bench-in"


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    topics: Mapping[str, str]  # role → topic
    messages: int
    expected: Rows


def prepare(workload: Workload) -> Backlog:
    """The backlog of `workload`, loaded if it is not there yet."""
    topics = {role: f"{PREFIX}-{workload.dataset}-{role}-{SEED}" for role in workload.inputs}
    counts = _loaded(workload, topics)
    if counts is None:
        kafka.delete_topics(topics.values())
        for topic in topics.values():
            while kafka.topic_exists(topic):
                pass
            kafka.create_topic(topic)
        counts = kafka.load(topics, workload.backlog(SEED))
        _count_file(workload).parent.mkdir(parents=True, exist_ok=True)
        _count_file(workload).write_text(json.dumps(counts))
    return Backlog(topics=topics, messages=sum(counts.values()), expected=_expected(workload))


def _loaded(workload: Workload, topics: Mapping[str, str]) -> dict[str, int] | None:
    """Message counts per role, if every topic holds exactly what was once loaded into it."""
    if not _count_file(workload).exists():
        return None
    counts = json.loads(_count_file(workload).read_text())
    for role, topic in topics.items():
        if not kafka.topic_exists(topic) or sum(kafka.end_offsets(topic)) != counts[role]:
            return None
    return counts


def _expected(workload: Workload) -> Rows:
    file = HOME / "cache" / f"expected-{workload.name}-{SEED}-{PARTITIONS}.json"
    if not file.exists():
        rows = workload.expected(workload.backlog(SEED))
        file.write_text(json.dumps(list(rows.values())))
    return {row[workload.output.key]: row for row in json.loads(file.read_text())}


def _count_file(workload: Workload):
    return HOME / "cache" / f"loaded-{workload.dataset}-{SEED}-{PARTITIONS}.json"
