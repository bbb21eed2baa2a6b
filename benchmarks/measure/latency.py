"""Latency: a steady rate of messages; from sending one until a committed row that reflects it is visible.

Both clocks are this process's monotonic clock: the moment before `produce` and the moment at which a
`read_committed` consumer hands over the row.  The producer does not linger.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence

from benchmarks import kafka
from benchmarks.measure.job import Job
from benchmarks.settings import DRAIN_SECONDS, MEASURED_SECONDS, RATE, WARM_UP_SECONDS
from benchmarks.verify import Envelope, judge, observed_row
from benchmarks.workloads.contract import Message, Stream, Workload

PACED = RATE * (WARM_UP_SECONDS + MEASURED_SECONDS)
_SETTLE_SECONDS = 3.0  # without output, after the base has been read, before the pacing starts
_READY_SECONDS = 60.0


def measure(
    job: Job,
    workload: Workload,
    envelope: Envelope,
    stream: Stream,
    input_topics: Mapping[str, str],
    output_topic: str,
) -> dict:
    sys.setswitchinterval(0.0005)  # the watcher must not wait for the sender's turn
    job.wait_for("job_running", _READY_SECONDS)
    watcher = _Watcher(job, stream, envelope, output_topic)
    watcher.until_settled()
    sender = _Sender(stream.paced, input_topics)
    watcher.follow(sender)
    first = RATE * WARM_UP_SECONDS
    since, until = sender.sent_at[first], sender.sent_at[-1]
    waits = sorted(
        (watcher.visible_at[n] - sender.sent_at[n]) * 1000
        for n in stream.tracker.probes()
        if n >= first and n in watcher.visible_at
    )
    missing = sum(n not in watcher.visible_at for n in stream.tracker.probes())
    usage = job.usage.window(since, until)
    expected = workload.expected([*stream.base, *stream.paced])
    verdict = judge(kafka.read_committed(output_topic), workload.output, envelope, expected)
    return {
        "correct": verdict.correct and not missing,
        "verdict": verdict.detail if not missing else f"{missing} changes never seen; {verdict.detail}",
        "messages_out": verdict.messages,
        "probes_measured": len(waits),
        "probes_missing": missing,
        **{f"p{q}_ms": _percentile(waits, q) for q in (50, 95, 99)},
        "max_ms": waits[-1] if waits else None,
        "rate_achieved": (len(stream.paced) - 1 - first) / (until - since),
        **usage,
        "cpu_cores": usage["cpu_seconds"] / (until - since),
    }


class _Sender:
    """Sends the paced messages at their due times, in a thread of its own."""

    def __init__(self, messages: Sequence[Message], topics: Mapping[str, str]) -> None:
        self._messages, self._topics = messages, topics
        self.sent_at: list[float] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finished(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        producer = kafka.paced_producer()
        begin = time.monotonic()
        for number, (role, partition, key, value) in enumerate(self._messages):
            due = begin + number / RATE
            while (early := due - time.monotonic()) > 0:
                producer.poll(0)
                time.sleep(early)
            self.sent_at.append(time.monotonic())
            producer.produce(self._topics[role], value, key, partition=partition)
        producer.flush()


class _Watcher:
    def __init__(self, job: Job, stream: Stream, envelope: Envelope, topic: str) -> None:
        self._job, self._tracker, self._envelope, self._topic = job, stream.tracker, envelope, topic
        self._consumer = kafka.committed_consumer(topic)
        self._probes = len(stream.tracker.probes())
        self.visible_at: dict[int, float] = {}

    def until_settled(self) -> None:
        """Read the output of the base until none has come for a while."""
        deadline, last, seen = time.monotonic() + _READY_SECONDS, time.monotonic(), False
        while not seen or time.monotonic() - last < _SETTLE_SECONDS:
            self._job.check()
            if self._consumer.consume(1000, timeout=0.1):
                seen, last = True, time.monotonic()
            if time.monotonic() > deadline:
                break  # a system that never rests is measured as it is

    def follow(self, sender: _Sender) -> None:
        """Until everything sent has become visible, or DRAIN_SECONDS after the last message."""
        sent_last = None
        while len(self.visible_at) < self._probes:
            self._job.check()
            record = self._consumer.poll(0.05)
            if record is not None:
                now, sent = time.monotonic(), len(sender.sent_at)
                for one in (record, *self._consumer.consume(1000, timeout=0)):
                    self._note(one, now, sent)
            if sender.finished():
                sent_last = sent_last or time.monotonic()
                if time.monotonic() - sent_last > DRAIN_SECONDS:
                    break
        self._consumer.close()

    def _note(self, record: kafka.Record, now: float, sent: int) -> None:
        row = observed_row(record, self._envelope)
        if row is None:
            return
        for number in self._tracker.observe(row, sent):
            self.visible_at.setdefault(number, now)


def _percentile(ordered: Sequence[float], q: int) -> float | None:
    return ordered[min(len(ordered) - 1, len(ordered) * q // 100)] if ordered else None
