"""kill -9 at moments nobody chose, one after the other, while input and checkpoints go on."""

from __future__ import annotations

import random
import time

from faults.conftest import PipelineFactory
from faults.pipeline import Pipeline

KILLS = 5


def test_changes_arrive_exactly_once_however_often_the_engine_is_killed(pipelines: PipelineFactory) -> None:
    kill_often(pipelines("--checkpoint-interval", "1s"), random.Random(5))


def test_changes_of_clusters_that_are_behind_arrive_exactly_once(pipelines: PipelineFactory) -> None:
    kill_often(pipelines("--checkpoint-interval", "1s", apart=True), random.Random(6), fused=True)


def kill_often(pipeline: Pipeline, draw: random.Random, *, fused: bool = False) -> None:
    for _ in range(KILLS):
        pipeline.start()
        pipeline.run_for(ticks=draw.randrange(1, 4))
        time.sleep(draw.random())
        pipeline.engine.kill()
        pipeline.clerks[-1].stop()
    pipeline.run_until_caught_up()
    pipeline.check(fused=fused)
