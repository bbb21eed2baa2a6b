"""Where the changes of one relation go.  A new sink is writable from this file alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tailrace.ivm.zset import ZSet
from tailrace.types.core import Tick


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What the target durably holds, as read from the target itself.

    `tick`: everything up to and including it (None: nothing yet, not even the snapshot).  `unfinished`: some but not
    all slots hold this later tick; the very same change, from `tick` to `unfinished`, must be offered next.
    """

    tick: Tick | None
    unfinished: Tick | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What one `write` sent, for people to look at.

    `slots`: in how many parts, each by itself; 0: in one piece.  `broken_key`: one that has several rows, though it
    should have one.
    """

    messages: int
    bytes: int
    slots: int = 0
    broken_key: str | None = None


class Sink(Protocol):
    """The loop calls `progress` once, then `write` for every later tick, in order.

    After a crash it offers the same tick with the same rows again.  A sink is exactly-once when rows and tick number
    become durable in one step of the *target*: a Kafka transaction, an Iceberg snapshot, a Postgres transaction.
    After any error the loop calls `progress` again before it writes: what the target holds is the only truth.

    Methods are called by several threads, beside the loop, but never by two of them at once.
    """

    def progress(self) -> Progress:
        """Fences older writers, and only then reads what the target holds."""

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Per slot, rows and tick number or neither.  Runs Spark jobs.

        `delta` is the change of the relation since the last tick written; its text may be evaluated any number of
        times and gives the same rows.  Raises Unavailable if trying again can help, else SqlError.
        """

    def close(self) -> None:
        """Lets go of clients; what is written stays."""


@runtime_checkable
class PatientSink(Sink, Protocol):
    """A sink that is quicker if what Spark has to do is done by the loop's thread, and only the target waited for
    beside it."""

    def prepared(self, tick: Tick, delta: ZSet) -> Callable[[], Written] | None:
        """`write` in two parts: on return all is done that needs Spark, and what is returned does the rest.

        None if there is too much of it for that.
        """


@runtime_checkable
class InterruptibleSink(Sink, Protocol):
    """A sink whose target may keep it waiting for long, or for ever, and would then do what nobody wants any more."""

    def interrupt(self) -> None:
        """Has a `write` that is under way in another thread fail soon.  On return the target commits nothing more of
        it, unless it has been told to already."""
