"""`tailrace serve`: the engine behind a Postgres port, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from dataclasses import replace
from typing import Any

from tailrace.catalog import database
from tailrace.cli.options import pace, sizes
from tailrace.cli.settings import ENGINE, SERVER, add_flags, resolve
from tailrace.cli.stopping import heed_signals
from tailrace.console.app import Console
from tailrace.engine.engine import Engine
from tailrace.engine.warm_up import warm_up
from tailrace.errors import InvalidOption
from tailrace.server import Scram, Trust, tls_context
from tailrace.server.listener import Server
from tailrace.spark import build_session
from tailrace.verifier import Verifier

_SETTINGS = (*SERVER, *ENGINE)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("serve", help="run the engine and listen for Postgres clients")
    add_flags(parser, _SETTINGS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    resolve(options, _SETTINGS, os.environ)
    if options.data_dir is None:
        raise InvalidOption("no data directory", hint="Give --data-dir, TAILRACE_DATA_DIR, or data-dir in --config.")
    stopping = threading.Event()
    heed_signals(stopping)
    _say("starting Spark …")
    spark = build_session(options.master, options.driver_memory)
    heed_signals(stopping)
    if options.warm_up and not (options.data_dir / database.FILE).exists():
        _say("warming up …")
        warm_up(spark)
    _say(f"opening {options.data_dir} …")
    with Engine(spark, options.data_dir, pace=pace(options), sizes=sizes(options)) as engine:
        server = server_of(engine, options)
        server.start()
        host = options.listen.rpartition(":")[0]
        console = _console(engine, options)
        _say(f"listening on {host}:{server.port}")
        _say(f"connect with:  psql -h {host} -p {server.port} -U materialize materialize")
        while not stopping.wait(0.5):
            if engine.loop.failure is not None:
                _say(f"the tick loop has ended: {engine.loop.failure}")
                break
        _say("stopping …")
        if console is not None:
            console.stop()
        server.stop(5.0)
    failed = engine.loop.failure is not None
    spark.stop()
    return 1 if failed else 0


def server_of(engine: Engine, options: argparse.Namespace) -> Server:
    """The server as the settings want it, not yet started."""
    host, port = _address(options.listen, "--listen")
    if (options.tls_certificate is None) != (options.tls_key is None):
        raise InvalidOption("TLS needs both a certificate and its key", hint="Give --tls-certificate and --tls-key.")
    tls = None if options.tls_certificate is None else tls_context(options.tls_certificate, options.tls_key)
    if options.password_file is not None:
        _set_password(engine, options.password_file.read_text().split("\n")[0])
    return Server(
        host=host,
        port=port,
        open_session=engine.open_session,
        authenticator=Scram(engine.verifier_of) if options.auth == "password" else Trust(),
        tls=tls,
        max_connections=options.max_connections,
    )


def _set_password(engine: Engine, password: str) -> None:
    role = engine.role_store.get("materialize")
    engine.role_store.alter(replace(role, verifier=Verifier.of(password)))


def _console(engine: Engine, options: argparse.Namespace) -> Console | None:
    if options.http_listen is None:
        return None
    console = Console(engine, *_address(options.http_listen, "--http-listen"))
    console.start()
    _say(f"console at http://{options.http_listen.rpartition(':')[0]}:{console.port}/")
    return console


def _address(text: str, where: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise InvalidOption(f"invalid value for {where}: {text!r}", hint="Write HOST:PORT.")
    return host.strip("[]"), int(port)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
