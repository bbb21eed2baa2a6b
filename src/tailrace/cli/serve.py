"""`tailrace serve`: the engine behind a Postgres port, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tailrace.catalog import database
from tailrace.cli.options import add_engine_options, pace, sizes
from tailrace.engine.engine import Engine
from tailrace.engine.warm_up import warm_up
from tailrace.server.listener import Server
from tailrace.spark import build_session


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("serve", help="run the engine and listen for Postgres clients")
    parser.add_argument("--data-dir", type=Path, required=True, metavar="D", help="where everything durable is kept")
    parser.add_argument(
        "--listen", default="127.0.0.1:6875", metavar="HOST:PORT", help="default: 127.0.0.1:6875; port 0: any free one"
    )
    parser.add_argument(
        "--warm-up",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="on a new data directory, run some work before listening, so that the first view comes quickly (default)",
    )
    add_engine_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    host, _, port = options.listen.rpartition(":")
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    _say("starting Spark …")
    spark = build_session(options.master, options.driver_memory)
    if options.warm_up and not (options.data_dir / database.FILE).exists():
        _say("warming up …")
        warm_up(spark)
    _say(f"opening {options.data_dir} …")
    with Engine(spark, options.data_dir, pace=pace(options), sizes=sizes(options)) as engine:
        server = Server(host=host, port=int(port), open_session=lambda _: engine.session())
        server.start()
        _say(f"listening on {host}:{server.port}")
        _say(f"connect with:  psql -h {host} -p {server.port} -U materialize materialize")
        while not stopping.wait(0.5):
            if engine.loop.failure is not None:
                _say(f"the tick loop has ended: {engine.loop.failure}")
                break
        _say("stopping …")
        server.stop(5.0)
    failed = engine.loop.failure is not None
    spark.stop()
    return 1 if failed else 0


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
