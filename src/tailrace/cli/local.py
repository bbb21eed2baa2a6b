"""`tailrace local`: a Kafka broker and a schema registry on this machine, and a way to fill and read topics by hand."""

import argparse
import signal
import sys
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
    for name in ("postgres", "redis", "s3"):
        up.add_argument(f"--{name}", action="store_true", help=f"also start {name.capitalize()}")
    up.set_defaults(run=run)
    send = verbs.add_parser("send", help="send each line of standard input as a message; makes the topic if need be")
    read = verbs.add_parser("read", help="print the committed messages of a topic: key, tab, value")
    for verb in (send, read):
        verb.add_argument("broker", metavar="BROKER", help="its address, as `tailrace local up` prints it")
        verb.add_argument("topic", metavar="TOPIC")
    send.set_defaults(run=run_send)
    read.set_defaults(run=run_read)


def run_send(args: argparse.Namespace) -> int:
    from tailrace.testing.topics import create_topic, is_there, produce

    if not is_there(args.broker, args.topic):
        create_topic(args.broker, args.topic)
    produce(args.broker, args.topic, ((None, line.rstrip("\n")) for line in sys.stdin))
    return 0


def run_read(args: argparse.Namespace) -> int:
    from tailrace.testing.topics import read_committed

    for message in read_committed(args.broker, args.topic):
        key, value = ("" if part is None else part.decode(errors="replace") for part in (message.key, message.value))
        sys.stdout.write(f"{key}\t{value}\n")
    return 0


def run(args: argparse.Namespace) -> int:
    """Start the stack, say where it is, wait for Ctrl-C or SIGTERM, and stop it."""
    # Here, as it brings in the Kafka client, which `tailrace --help` does without.
    from tailrace.testing.postgres import Postgres
    from tailrace.testing.redis import Redis
    from tailrace.testing.registry import Registry
    from tailrace.testing.s3 import S3
    from tailrace.testing.stack import LocalStack

    console = Console()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    wanted = {Registry: not args.no_registry, Postgres: args.postgres, Redis: args.redis, S3: args.s3}
    stack = LocalStack(*(kind() for kind, is_wanted in wanted.items() if is_wanted))
    try:
        with console.status("starting the local stack"):
            stack.start(lambda line: console.print(f"[green]up[/] {line}", highlight=False))
        console.print("\nIn psql:\n", highlight=False)
        for statement in stack.statements():
            console.print(f"{statement}\n", highlight=False, markup=False, soft_wrap=True)
        console.print("[bold]Ready.[/] Everything is temporary and goes away with this process: Ctrl-C.")
        ended.wait()
    finally:
        with console.status("stopping"):
            stack.stop()
    return 0
