"""Crash points: named places where a test can have the engine killed with -9, or stopped.  Off unless armed.

`TAILRACE_CRASH=name` or `name:3` in the environment kills the process at the first, or third, time it passes
the point; of several, separated by commas, at the one whose turn comes first.  `TAILRACE_PAUSE` stops it there
(SIGSTOP) until somebody sends SIGCONT: so one makes a zombie.  A point costs one dictionary look-up when nothing is
armed.
"""

from __future__ import annotations

import os
import signal

CRASH_POINTS = (
    "tick.before_log",  # nothing durable says the tick exists
    "tick.after_log",  # the tick is in the log, no effect of it anywhere
    "kafka.progress_read",  # older writers are fenced and the target was asked, nothing is written yet
    "kafka.not_begun",  # the tick is in the log, its messages are encoded if it is small, no transaction is open
    "kafka.mid_produce",  # some messages of the tick were sent, inside an open transaction
    "kafka.sent_not_committed",  # all messages and the progress record are flushed, the transaction is open
    "kafka.committed_not_seen",  # the broker has committed; the engine has not noted it
    "kafka.slots_planned",  # the plan of a large tick is committed, none of its slots has begun
    "kafka.slot_sent_not_committed",  # one slot of a large tick is flushed, its transaction is open
    "kafka.slot_committed",  # one slot of a large tick is committed, others are not
    "kafka.slots_committed",  # all slots are committed, the sink's own progress record is not written
    "postgres.progress_read",  # older writers are fenced and the table was asked, nothing is written yet
    "postgres.mid_copy",  # some rows of the tick are on the server, inside an open transaction
    "postgres.sent_not_committed",  # rows and tick are in the tables, the transaction is open
    "postgres.committed_not_seen",  # the server has committed; the engine has not noted it
    "redis.progress_read",  # older writers are fenced and the keys were asked about, nothing is written yet
    "redis.chunk_written",  # one part of a large tick is written, others are not
    "redis.written_not_seen",  # Redis has the tick; the engine has not noted it
    "iceberg.progress_read",  # the table was asked, nothing is written yet
    "iceberg.written_not_committed",  # the files of a commit are written, no snapshot names them
    "iceberg.committed_not_seen",  # the catalog has the snapshot; the engine has not noted it
    "copy.begun",  # the sentinel of a COPY is there, none of its files is
    "copy.written_not_complete",  # all files of a COPY are complete, its sentinel is still there
    "state.run_written",  # a large run's files are written, no manifest names them
    "checkpoint.before_publish",  # every file of a checkpoint is written, the manifest is not
    "checkpoint.after_publish",  # the manifest is published, the tick log is not yet cut
    "ddl.before_commit",  # an object was checked, the catalog does not have it
    "ddl.after_commit",  # the catalog has the object, nothing runs yet
    "sink.before_switch",  # the sink has written all of the old relation that it owes, the catalog says nothing yet
    "sink.switched",  # the catalog has the sink's new relation, the old one's sink still runs
)

_SIGNALS = {"TAILRACE_CRASH": signal.SIGKILL, "TAILRACE_PAUSE": signal.SIGSTOP}

_armed: dict[str, list[tuple[signal.Signals, int]]] = {}  # name → what is sent, at which turn from now


def arm(spec: str, number: signal.Signals = signal.SIGKILL) -> None:
    """`name` or `name:count`."""
    name, _, count = spec.partition(":")
    if name not in CRASH_POINTS:
        raise ValueError(f"unknown crash point {name!r}; there are {', '.join(CRASH_POINTS)}")
    _armed.setdefault(name, []).append((number, int(count or 1)))


def is_armed(name: str) -> bool:
    """Whether this point will kill or stop at its turn; for what must be true there and costs time, like a flush."""
    return name in _armed


def crash_point(name: str, pid: int | None = None) -> None:
    """Kills or stops this process, and before it `pid`, the engine of a worker, if the point's turn has come."""
    if name not in _armed:
        return
    due = [number for number, turn in _armed[name] if turn == 1]
    _armed[name] = [(number, turn - 1) for number, turn in _armed[name]]
    for number in due:
        if pid is not None:
            os.kill(pid, number)
        os.kill(os.getpid(), number)


for _variable, _signal in _SIGNALS.items():
    for _spec in filter(None, os.environ.get(_variable, "").split(",")):
        arm(_spec, _signal)
