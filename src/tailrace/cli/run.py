"""`tailrace run FILE.sql`: a script without a server.

Its statements run one after the other.  Then it goes on for as long as something can still change: until every input
is bounded and done, or Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tailrace.cli.options import pace, sizes
from tailrace.cli.settings import ENGINE, add_flags, resolve
from tailrace.cli.stopping import heed_signals
from tailrace.cli.table import print_rows
from tailrace.engine.engine import Engine
from tailrace.errors import TailraceError
from tailrace.spark import build_session
from tailrace.sql.parser import split
from tailrace.statements.contract import Notice


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("run", help="run a SQL script without a server")
    parser.add_argument("file", type=Path, metavar="FILE.sql")
    parser.add_argument("--data-dir", type=Path, metavar="D", help="where durable things are kept (default: nowhere)")
    parser.add_argument(
        "--dialect",
        choices=("auto", "materialize", "flink"),
        default="auto",
        help="whose SQL the script is written in (default: each statement says it itself)",
    )
    add_flags(parser, ENGINE)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    resolve(options, ENGINE, os.environ)
    text = options.file.read_text()
    stopping = threading.Event()
    heed_signals(stopping)
    spark = build_session(options.master, options.driver_memory)
    heed_signals(stopping)
    with Engine(spark, options.data_dir, pace=pace(options), sizes=sizes(options)) as engine:
        _execute(engine, text, options.file, options.dialect)
        while not stopping.is_set() and engine.has_unbounded_inputs() and engine.loop.failure is None:
            stopping.wait(0.2)
        engine.settle()
    spark.stop()
    return 0


def _execute(engine: Engine, text: str, file: Path, dialect: str) -> None:
    session = engine.session()
    session.set_variable("dialect", dialect)
    for statement in split(text):
        try:
            result = session.execute(session.prepare(statement.text))
            for notice in result.finish():
                _say(notice)
            rows = list(result.rows)
        except TailraceError as error:
            line = text.count("\n", 0, statement.start + (error.position or 1) - 1) + 1
            error.detail = f"{file}:{line}" + (f"\n{error.detail}" if error.detail else "")
            raise
        for notice in result.notices:
            _say(notice)
        if result.columns is not None:
            print_rows(result.columns, rows)
        else:
            sys.stdout.write(result.tag + "\n")


def _say(notice: Notice) -> None:
    sys.stderr.write(f"{notice.severity}:  {notice.message}\n")
