"""kill -9 at moments nobody chose, one after the other, while input and checkpoints go on."""

from __future__ import annotations

import random
import time

from faults.conftest import PipelineFactory

KILLS = 5


def test_changes_arrive_exactly_once_however_often_the_engine_is_killed(pipelines: PipelineFactory) -> None:
    draw = random.Random(5)
    pipeline = pipelines("--checkpoint-interval", "1s")
    for _ in range(KILLS):
        pipeline.start()
        pipeline.run_for(ticks=draw.randrange(1, 4))
        time.sleep(draw.random())
        pipeline.engine.kill()
        pipeline.clerks[-1].stop()
    pipeline.run_until_caught_up()
    pipeline.check()
