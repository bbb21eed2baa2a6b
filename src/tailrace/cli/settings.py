"""The one table of settings: each is a flag, an environment variable, and a key of the configuration file.

`--tick-interval 2s`, `TAILRACE_TICK_INTERVAL=2s`, and `tick-interval = "2s"` in the TOML file of `--config` are the
same; the first of these that is given wins.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.engine.sizes import Sizes
from tailrace.errors import InvalidOption
from tailrace.ticks.loop import Pace

_PACE, _SIZES = Pace(), Sizes()
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """`read` turns the text that was given into the value; `shown` is how the help calls it."""

    name: str
    default: Any
    doc: str
    read: Callable[[str], Any] = str
    shown: str = "TEXT"

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return "TAILRACE_" + self.attribute.upper()

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")


def duration(text: str) -> float:
    """`100ms`, `2s`, `1m`, or plain seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|)", text.strip())
    if match is None:
        raise ValueError("write 100ms, 2s or 1m")
    return float(match[1]) * _UNITS[match[2]]


def boolean(text: str) -> bool:
    words = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError("write true or false")
    return words[text.lower()]


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"write {' or '.join(words)}")
        return text

    return read


ENGINE = (
    Setting(name="master", default="local[*]", doc="The Spark master; local[*] is this process.", shown="URL"),
    Setting(name="driver-memory", default="4g", doc="Heap of Spark's JVM.", shown="SIZE"),
    Setting(
        name="tick-interval",
        default=_PACE.interval,
        doc="From one look at the sources to the next.",
        read=duration,
        shown="TIME",
    ),
    Setting(
        name="max-rows-per-tick",
        default=_PACE.max_rows,
        doc="How much of a backlog one tick takes.",
        read=int,
        shown="N",
    ),
    Setting(
        name="checkpoint-interval",
        default=_PACE.checkpoint,
        doc="How often the state is published, so that a restart is quick.",
        read=duration,
        shown="TIME",
    ),
    Setting(
        name="small-rows",
        default=_SIZES.small_rows,
        doc="Changes up to this many rows stay on the driver.",
        read=int,
        shown="N",
    ),
    Setting(
        name="slot-rows",
        default=_SIZES.slot_rows,
        doc="How much of a larger change goes into one Kafka transaction.",
        read=int,
        shown="N",
    ),
    Setting(
        name="kafka-transaction-timeout",
        default=_SIZES.transaction_seconds,
        doc="How long that may take; at most the broker's transaction.max.timeout.ms.",
        read=duration,
        shown="TIME",
    ),
)
SERVER = (
    Setting(name="data-dir", default=None, doc="Where everything durable is kept.", read=Path, shown="DIRECTORY"),
    Setting(
        name="listen",
        default="127.0.0.1:6875",
        doc="Where Postgres clients connect; port 0 is any free one.  Beyond loopback only with TLS and passwords.",
        shown="HOST:PORT",
    ),
    Setting(
        name="http-listen",
        default=None,
        doc="Where the console, /metrics, /health and /ready are; loopback only.  Not given: nowhere.",
        shown="HOST:PORT",
    ),
    Setting(name="tls-certificate", default=None, doc="The certificate chain, PEM.", read=Path, shown="FILE"),
    Setting(name="tls-key", default=None, doc="The certificate's private key, PEM.", read=Path, shown="FILE"),
    Setting(
        name="auth",
        default="trust",
        doc="trust lets in every role that may log in; password asks for SCRAM-SHA-256.",
        read=_one_of("trust", "password"),
        shown="trust|password",
    ),
    Setting(
        name="password-file",
        default=None,
        doc="Its first line becomes the password of the role materialize.",
        read=Path,
        shown="FILE",
    ),
    Setting(name="max-connections", default=1000, doc="Clients at the same time.", read=int, shown="N"),
    Setting(
        name="warm-up",
        default=True,
        doc="On a new data directory, run some work before listening, so that the first view comes quickly.",
        read=boolean,
        shown="true|false",
    ),
)


def add_flags(parser: argparse.ArgumentParser, settings: Iterable[Setting]) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML, one key each")
    for setting in settings:
        default = "" if setting.default is None else f" (default: {setting.default})"
        text = (setting.doc + default).replace("%", "%%")
        if setting.read is boolean:
            parser.add_argument(setting.flag, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            parser.add_argument(setting.flag, metavar=setting.shown, help=text)


def resolve(options: argparse.Namespace, settings: Sequence[Setting], environment: Mapping[str, str]) -> None:
    """Fills every setting of `options`: flag, else environment, else file, else default.  Raises InvalidOption."""
    file = _file(options.config, settings)
    for setting in settings:
        given = getattr(options, setting.attribute)
        if isinstance(given, bool):
            continue
        where, text = setting.flag, given
        if text is None and setting.variable in environment:
            where, text = setting.variable, environment[setting.variable]
        if text is None and setting.name in file:
            where, text = f"{setting.name} in {options.config}", file[setting.name]
        setattr(options, setting.attribute, setting.default if text is None else _read(setting, where, text))


def _read(setting: Setting, where: str, text: str) -> Any:
    try:
        return setting.read(text)
    except ValueError as reason:
        hint = f"It takes {setting.shown}: {reason}."
        raise InvalidOption(f"invalid value for {where}: {text!r}", hint=hint) from None


def _file(path: Path | None, settings: Sequence[Setting]) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidOption(f"configuration file {path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidOption(f"configuration file {path} is not TOML: {error}") from None
    known = [setting.name for setting in settings]
    for key in found:
        if key not in known:
            raise InvalidOption(f'unknown setting "{key}" in {path}', hint=f"Known settings: {', '.join(known)}.")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in found.items()}
