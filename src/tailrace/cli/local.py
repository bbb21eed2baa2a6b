"""`tailrace local up`: a Kafka broker and a schema registry on this machine, until Ctrl-C."""

import argparse
import signal
import threading
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: "Subparsers") -> None:
    """Add `local` and its verbs to the command line."""
    local = subparsers.add_parser("local", help="run the services a pipeline needs on this machine")
    verbs = local.add_subparsers(dest="verb", required=True, metavar="VERB")
    up = verbs.add_parser("up", help="start a Kafka broker and a schema registry, and keep them until Ctrl-C")
    up.add_argument("--no-registry", action="store_true", help="leave out the schema registry")
    up.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Start the stack, say where it is, wait for Ctrl-C or SIGTERM, and stop it."""
    # Here, as it brings in the Kafka client, which `tailrace --help` does without.
    from tailrace.testing.stack import LocalStack

    console = Console()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    stack = LocalStack(registry=not args.no_registry)
    try:
        with console.status("starting the local stack"):
            stack.start(lambda line: console.print(f"[green]up[/] {line}", highlight=False))
        console.print("[bold]Ready.[/] Everything is temporary and goes away with this process: Ctrl-C.")
        ended.wait()
    finally:
        with console.status("stopping"):
            stack.stop()
    return 0
