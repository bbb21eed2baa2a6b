"""Settings as the engine takes them."""

from __future__ import annotations

import argparse

from tailrace.engine.sizes import Sizes
from tailrace.ticks.loop import Pace


def sizes(options: argparse.Namespace) -> Sizes:
    return Sizes(
        small_rows=options.small_rows,
        slot_rows=options.slot_rows,
        transaction_seconds=options.kafka_transaction_timeout,
    )


def pace(options: argparse.Namespace) -> Pace:
    return Pace(
        interval=options.tick_interval, max_rows=options.max_rows_per_tick, checkpoint=options.checkpoint_interval
    )
