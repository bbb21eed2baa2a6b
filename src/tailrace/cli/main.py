"""The command line: `tailrace serve | run | demo | local`.  Each subcommand is a file; this one finds it."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from tailrace.cli import demo, local, run, serve
from tailrace.errors import TailraceError

_COMMANDS = (serve, run, demo, local)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tailrace",
        description="Streaming SQL on Apache Spark: every change of a view reaches its target exactly once.",
    )
    parser.add_argument("--verbose", "-v", action="store_true", help="log every state change to standard error")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for command in _COMMANDS:
        command.add_parser(subparsers)
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    try:
        code: int = options.run(options)
    except TailraceError as error:
        print_error(error)
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.stdout.flush()
    return code


def print_error(error: TailraceError) -> None:
    """As psql prints one."""
    lines = [f"ERROR:  {error.message}", *error.advice()]
    os.write(2, ("\n".join(lines) + "\n").encode())
