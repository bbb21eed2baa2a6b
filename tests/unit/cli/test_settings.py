"""A setting is a flag, an environment variable and a key of the configuration file, in this order."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tailrace.cli.settings import ENGINE, SERVER, add_flags, resolve
from tailrace.errors import InvalidOption

SETTINGS = (*SERVER, *ENGINE)


def read(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_flags(parser, SETTINGS)
    options = parser.parse_args(arguments)
    resolve(options, SETTINGS, environment or {})
    return options


def test_every_setting_has_a_default() -> None:
    options = read([])
    assert {s.name: getattr(options, s.attribute) for s in SETTINGS} == {s.name: s.default for s in SETTINGS}


def test_the_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tailrace.toml"
    file.write_text('tick-interval = "3s"\nmax-connections = 3\nwarm-up = false\n')
    environment = {"TAILRACE_TICK_INTERVAL": "2s", "TAILRACE_SMALL_ROWS": "7"}
    options = read(["--config", str(file), "--small-rows", "8"], environment)
    assert (options.small_rows, options.tick_interval, options.max_connections) == (8, 2.0, 3)
    assert options.warm_up is False
    assert read(["--config", str(file), "--warm-up"]).warm_up is True


@pytest.mark.parametrize(
    ("arguments", "environment", "text", "message"),
    [
        (["--tick-interval", "soon"], {}, "", "invalid value for --tick-interval: 'soon'"),
        ([], {"TAILRACE_SMALL_ROWS": "many"}, "", "invalid value for TAILRACE_SMALL_ROWS: 'many'"),
        ([], {"TAILRACE_AUTH": "none"}, "", "invalid value for TAILRACE_AUTH: 'none'"),
        ([], {}, 'tick-intervall = "1s"', 'unknown setting "tick-intervall"'),
        ([], {}, "warm-up = 3", "invalid value for warm-up in"),
        ([], {}, "= no", "is not TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_was_said(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], text: str, message: str
) -> None:
    file = tmp_path / "tailrace.toml"
    file.write_text(text)
    with pytest.raises(InvalidOption, match=message):
        read([*arguments, "--config", str(file)], environment)
