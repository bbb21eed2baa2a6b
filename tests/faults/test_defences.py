"""Without the defence it is about, each of these tests fails: so the others prove something."""

from __future__ import annotations

import pytest

from faults.conftest import PipelineFactory
from faults.pipeline import Pipeline
from faults.test_zombies import REFUSAL, meet_a_zombie

POINT = "kafka.committed_not_seen:5"


def die_and_recover(pipeline: Pipeline, **environment: str) -> None:
    """What test_crash_points does, with the same defences off before and after."""
    pipeline.run_until_killed_at(POINT, **environment)
    pipeline.run_until_caught_up(**environment)
    pipeline.check()


def test_with_all_defences_on_nothing_is_told_twice(pipelines: PipelineFactory) -> None:
    die_and_recover(pipelines(sinks=("lines",)))


@pytest.mark.parametrize("off", ["-progress_record", "-log_before_effects,-known_ticks"])
def test_a_death_after_a_commit_is_told_twice_with(off: str, pipelines: PipelineFactory) -> None:
    with pytest.raises(AssertionError, match=r"strange [1-9]"):
        die_and_recover(pipelines(sinks=("lines",)), TAILRACE_TEST_DEFENCES=off)


def test_a_zombie_is_told_twice_if_progress_is_read_before_fencing(pipelines: PipelineFactory) -> None:
    with pytest.raises(AssertionError, match=r"strange [1-9]"):
        meet_a_zombie(pipelines(sinks=("lines",)), TAILRACE_TEST_DEFENCES="-fence_before_progress")


def test_a_sink_whose_target_holds_a_tick_that_was_never_logged_refuses_to_go_on(
    pipelines: PipelineFactory,
) -> None:
    pipeline = pipelines(sinks=("lines",))
    pipeline.run_until_killed_at(POINT, TAILRACE_TEST_DEFENCES="-log_before_effects")
    pipeline.start()
    pipeline.wait_until_refused(REFUSAL)
