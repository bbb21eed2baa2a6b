"""`tailrace demo`: the story in one screen, unattended; exits non-zero if anything was lost, repeated or wrong."""

from __future__ import annotations

import argparse
from typing import Any

from tailrace.demo.screen import Screen
from tailrace.demo.story import Script, tell


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("demo", help="watch a view survive two kills, in about two minutes")
    parser.add_argument("--keep", action="store_true", help="leave engine and broker running until Ctrl-C")
    parser.add_argument("--rate", type=int, default=500, metavar="N", help="pageviews a second (default: 500)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with Screen() as screen:
        verdict = tell(screen, Script(rate=options.rate), keep=options.keep)
    colour = "green" if verdict.is_clean else "red"
    counted = f"{verdict.pageviews:,} pageviews, {verdict.messages:,} changes"
    screen.console.print(f"\n[bold {colour}]{verdict}[/]   ({counted})")
    return 0 if verdict.is_clean else 1
