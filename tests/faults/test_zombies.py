"""An engine that was believed dead and goes on: it can commit nothing once another one has taken over."""

from __future__ import annotations

import pytest

from faults.conftest import PipelineFactory
from faults.pipeline import Pipeline

REFUSAL = "which is not in the tick log"


@pytest.mark.parametrize(
    ("point", "options"),
    [
        ("kafka.mid_produce:4", ()),
        ("kafka.sent_not_committed:5", ()),
        ("kafka.slot_sent_not_committed", ("--small-rows", "10", "--slot-rows", "10")),
    ],
)
def test_a_zombie_with_an_open_transaction_cannot_commit_it(
    point: str, options: tuple[str, ...], pipelines: PipelineFactory
) -> None:
    zombie = pipelines(*options)
    with zombie.outlived(point, 4) as successor:
        zombie.wait_until_refused(REFUSAL)
        successor.run_until_caught_up()
        successor.check(fused=True)
        assert zombie.engine.is_running()


def test_what_a_zombie_commits_late_is_not_told_again(pipelines: PipelineFactory) -> None:
    meet_a_zombie(pipelines(sinks=("lines",)))


def meet_a_zombie(zombie: Pipeline, **environment: str) -> None:
    """The worst moment: it wakes up when its successor has just asked what the topic holds; commits, if it can; dies.

    It is stopped with a tick in its log of which nothing is sent, so that no open transaction warns anybody.
    """
    end = "kafka.committed_not_seen:3,kafka.progress_read:2"  # the second, if its commit was refused
    zombie.run_until_stopped_at("kafka.not_begun:3", TAILRACE_CRASH=end)
    with zombie.successor() as successor:
        successor.engine.start(TAILRACE_PAUSE="kafka.progress_read", **environment)
        successor.engine.wait_until_paused()
        zombie.engine.resume()
        zombie.engine.wait_until_dead()
        successor.engine.resume()
        successor.run_until_caught_up()
        successor.check(fused=True)
