"""Options that several subcommands share."""

from __future__ import annotations

import argparse
import re

from tailrace.engine.sizes import Sizes
from tailrace.ticks.loop import Pace

_DEFAULTS = Pace()
_SIZES = Sizes()
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", default="local[*]", help="the Spark master (default: local[*], this process)")
    parser.add_argument("--driver-memory", default="4g", metavar="SIZE", help="heap of Spark's JVM (default: 4g)")
    parser.add_argument(
        "--tick-interval",
        type=duration,
        default=_DEFAULTS.interval,
        metavar="TIME",
        help="from one look at the sources to the next, e.g. 100ms (default) or 2s",
    )
    parser.add_argument(
        "--max-rows-per-tick",
        type=int,
        default=_DEFAULTS.max_rows,
        metavar="N",
        help="how much of a backlog one tick takes (default: 1,000,000)",
    )
    parser.add_argument(
        "--checkpoint-interval", type=duration, default=_DEFAULTS.checkpoint, metavar="TIME", help="default: 30s"
    )
    parser.add_argument(
        "--small-rows",
        type=int,
        default=_SIZES.small_rows,
        metavar="N",
        help=f"changes up to this many rows stay on the driver (default: {_SIZES.small_rows:,})",
    )
    parser.add_argument(
        "--slot-rows",
        type=int,
        default=_SIZES.slot_rows,
        metavar="N",
        help=f"how much of a larger change goes into one Kafka transaction (default: {_SIZES.slot_rows:,})",
    )


def sizes(options: argparse.Namespace) -> Sizes:
    return Sizes(small_rows=options.small_rows, slot_rows=options.slot_rows)


def pace(options: argparse.Namespace) -> Pace:
    return Pace(
        interval=options.tick_interval, max_rows=options.max_rows_per_tick, checkpoint=options.checkpoint_interval
    )


def duration(text: str) -> float:
    """`100ms`, `2s`, `1m`, or plain seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"not a time: {text!r}; write 100ms, 2s or 1m")
    return float(match[1]) * _UNITS[match[2]]
