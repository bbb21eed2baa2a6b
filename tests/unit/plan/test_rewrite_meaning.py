"""A rewritten plan has the rows of the plan as it was bound: random joins, filters and nested
subqueries.

The plan as bound leaves subqueries where they stand, for Spark itself to run; ours has only joins.
What Spark cannot run is passed over.
"""

from __future__ import annotations

from random import Random

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tailrace.plan.bind import bind_query, parse_query
from tailrace.plan.bind_body import bind_body
from tailrace.plan.context import Context, Place
from tailrace.plan.names import FixedNames
from tailrace.plan.to_spark import render

COLUMNS = {"t": ("a", "b"), "o": ("id", "a")}
Source = tuple[str, str]  # alias, relation


class Queries:
    """Random queries over t and o, of one integer column."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.aliases = 0

    def query(self, depth: int, outer: tuple[Source, ...] = ()) -> str:
        sources = [self._source()]
        text = f"{sources[0][1]} {sources[0][0]}"
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            alias, relation = self._source()
            kind = self.random.choice(("join", "left join", "right join", "full join", "cross join"))
            on = f" on {sources[-1][0]}.a = {alias}.{self.random.choice(COLUMNS[relation])}"
            text += f" {kind} {relation} {alias}" + ("" if kind == "cross join" else on)
            sources.append((alias, relation))
        where = (
            f" where {self._condition(tuple(sources), depth, outer)}" if self.random.random() < 0.85 else ""
        )
        return f"select {self.random.choice(sources)[0]}.a from {text}{where}"

    def _source(self) -> Source:
        self.aliases += 1
        return f"x{self.aliases}", self.random.choice(("t", "o"))

    def _column(self, sources: tuple[Source, ...]) -> str:
        alias, relation = self.random.choice(sources)
        return f"{alias}.{self.random.choice(COLUMNS[relation])}"

    def _condition(self, sources: tuple[Source, ...], depth: int, outer: tuple[Source, ...]) -> str:
        column, symbol = self._column(sources), self.random.choice(("=", "<", ">", "<>"))
        match self.random.randrange(8):
            case 0 | 1:
                return f"{column} {symbol} {self._column(sources + outer)}"
            case 2:
                return f"{column} {symbol} {self.random.choice((1, 2, 3, 20, 30))}"
            case 3:
                return f"{column} is {self.random.choice(('', 'not '))}null"
            case 4:
                word = self.random.choice(("and", "or"))
                parts = (self._condition(sources, depth, outer) for _ in range(2))
                return f"({f' {word} '.join(parts)})"
            case _ if depth == 0:
                return f"{column} = {self._column(sources + outer)}"
            case 5 | 6:
                no = self.random.choice(("", "not "))
                return f"{no}exists ({self.query(depth - 1, sources + outer)})"
            case _:
                return f"{column} in ({self.query(depth - 1, sources + outer)})"


@pytest.mark.parametrize("seed", range(16))
def test_a_rewritten_query_has_the_same_rows(views: SparkSession, names: FixedNames, seed: int) -> None:
    query = Queries(seed).query(depth=2)
    query = f"select z.a, count(*) from ({query}) z group by z.a having z.a > 0" if seed % 3 == 0 else query
    bound = bind_body(parse_query(query), Context(names), Place({}, None)).node
    try:
        expected = views.sql(render(bound, lambda scan: scan.relation)).collect()
    except AnalysisException:
        return
    found = views.sql(render(bind_query(query, names).node, lambda scan: scan.relation)).collect()
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), query
