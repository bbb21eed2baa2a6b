"""A program that follows a view, killed and started again at random while the view changes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tailrace.engine.engine import Engine
from tailrace.testing.process import Child

EXAMPLES = Path(__file__).parents[2] / "examples"
_ROUNDS = 4
_PATIENCE = 60.0

Content = dict[int, int]


def define_totals(engine: Engine) -> None:
    """`totals (key, value)`, which changes with `orders`, and its past."""
    engine.sql("CREATE TABLE orders (item int, amount int) WITH (RETAIN HISTORY FOR '1 hour')")
    engine.sql(
        "CREATE MATERIALIZED VIEW totals WITH (RETAIN HISTORY FOR '1 hour') AS"
        " SELECT item AS key, sum(amount) AS value FROM orders GROUP BY item"
    )


def target_equals_totals(
    engine: Engine, command: Sequence[str | Path], found: Callable[[], Content], directory: Path
) -> None:
    """In the end.  `found` looks into the target that the program writes to."""
    rng = random.Random(7)
    for round in range(_ROUNDS):
        with Child(command, log=directory / f"client{round}.log", directory=directory) as client:
            until = time.monotonic() + rng.uniform(0.5, 1.5)
            while time.monotonic() < until:
                _change(engine, rng)
            if round < _ROUNDS - 1:
                client.kill()
                _change(engine, rng)  # while nobody listens
                continue
            _wait_until_equal(engine, found, client)


def _change(engine: Engine, rng: random.Random) -> None:
    item = rng.randrange(6)
    if rng.random() < 0.3:
        engine.sql(f"DELETE FROM orders WHERE item = {item}")
    else:
        engine.sql(f"INSERT INTO orders VALUES ({item}, {rng.randrange(100)})")


def _wait_until_equal(engine: Engine, found: Callable[[], Content], client: Child) -> None:
    answer = engine.sql("SELECT key, value FROM totals")
    assert answer is not None
    wanted = {row["key"]: int(row["value"]) for row in answer.to_pylist()}
    assert wanted
    deadline = time.monotonic() + _PATIENCE
    while (there := found()) != wanted:
        assert client.is_running(), client.output()
        assert time.monotonic() < deadline, (there, wanted, client.output())
        time.sleep(0.1)
