"""Catch-up throughput: everything is in the topics; how long until the complete answer is visible?

While the job runs the harness only asks for the last stable offsets of the output, a request of a millisecond.
Once they rest, the whole output is read and judged; the moment of completion is then looked up as the first
moment at which the offset of every message that the answer needed was below the last stable offset.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks import kafka
from benchmarks.dataset import Backlog
from benchmarks.measure.job import Job
from benchmarks.settings import DEADLINE_SECONDS, POLL_SECONDS, QUIET_SECONDS
from benchmarks.verify import Envelope, Verdict, judge
from benchmarks.workloads.contract import Workload


@dataclass
class _Visible:
    """When each state of the last stable offsets was first seen."""

    topic: str
    moments: list[float] = field(default_factory=list)
    offsets: list[list[int]] = field(default_factory=list)

    def look(self) -> None:
        offsets = kafka.end_offsets(self.topic)
        if not self.offsets or offsets != self.offsets[-1]:
            self.moments.append(time.monotonic())
            self.offsets.append(offsets)

    def rests(self) -> bool:
        return sum(self.offsets[-1]) > 0 and time.monotonic() - self.moments[-1] > QUIET_SECONDS

    def first_output(self) -> float:
        return next(moment for moment, ends in zip(self.moments, self.offsets, strict=True) if sum(ends))

    def reached(self, needed: tuple[int, ...]) -> float:
        pairs = zip(self.moments, self.offsets, strict=True)
        return next(
            moment for moment, ends in pairs if all(e >= n for e, n in zip(ends, needed, strict=True))
        )


def measure(job: Job, workload: Workload, envelope: Envelope, backlog: Backlog, output_topic: str) -> dict:
    visible, verdict = _watch(job, workload, envelope, backlog, output_topic)
    result = {"correct": verdict.correct, "verdict": verdict.detail, "messages_out": verdict.messages}
    if not verdict.messages:
        return result
    done = visible.reached(verdict.settled)
    running = job.marks["job_running"]
    return result | {
        "messages_in": backlog.messages,
        "seconds_including_start": done - job.started,
        "seconds_excluding_start": done - running,
        "seconds_engine_start": job.marks["engine_up"] - job.started,
        "seconds_first_output": visible.first_output() - running,
        "messages_per_second": backlog.messages / (done - running),
        **job.usage.window(since=job.started, until=done),
    }


def _watch(
    job: Job, workload: Workload, envelope: Envelope, backlog: Backlog, output_topic: str
) -> tuple[_Visible, Verdict]:
    visible = _Visible(output_topic)
    judged_at = -1.0
    verdict = Verdict(correct=False, detail="no output", messages=0, settled=())
    while time.monotonic() - job.started < DEADLINE_SECONDS:
        job.check()
        visible.look()
        if visible.rests() and visible.moments[-1] != judged_at:
            judged_at = visible.moments[-1]
            verdict = judge(kafka.read_committed(output_topic), workload.output, envelope, backlog.expected)
            if verdict.correct:
                visible.look()  # what arrived while it was read counts as seen now, too late rather than never
                break
        time.sleep(POLL_SECONDS)
    return visible, verdict
