"""Queries: for each rule some that are written out, and random ones that are put together from all rules."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from properties.world import TABLES

FAMILIES = {
    "linear": (
        "SELECT k + 1 AS k1, s FROM t WHERE v IS NULL OR v <> 2",
        "SELECT k FROM t UNION ALL SELECT w FROM u",
        "SELECT k, v FROM t UNION ALL SELECT * FROM (VALUES (1, 2)) AS x",
        "SELECT k, generate_series(1, v) AS g FROM t WHERE v < 4",
        "SELECT k, g.* FROM t, ROWS FROM (generate_series(1, v), unnest(ARRAY[s, s])) WITH ORDINALITY AS g(a, b, n)",
    ),
    "inner joins": (
        "SELECT t.k, v, w FROM t JOIN u ON t.k = u.k",
        "SELECT x.k, y.v FROM t AS x JOIN t AS y ON x.k = y.v",
        "SELECT t.v, u.w FROM t JOIN u ON t.v < u.w",
        "SELECT t.k AS tk, u.k AS uk FROM t, u",
        "SELECT v, w, r.s FROM t JOIN u ON t.k = u.k JOIN r ON r.a = t.v AND r.s = t.s",
    ),
    "outer joins": (
        "SELECT t.k, v, w FROM t LEFT JOIN u ON t.k = u.k",
        "SELECT t.k, v, w FROM t LEFT JOIN u ON t.k = u.k AND v > w",
        "SELECT t.v, w, u.k FROM t RIGHT JOIN u ON t.k = u.k",
        "SELECT t.k AS tk, v, w, u.k AS uk FROM t FULL JOIN u ON t.k = u.k",
        "SELECT t.k, v, w FROM t LEFT JOIN u ON t.v < u.w",
    ),
    "subqueries": (
        "SELECT * FROM t WHERE k IN (SELECT k FROM u)",
        "SELECT * FROM t WHERE k NOT IN (SELECT k FROM u)",
        "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND w > 1)",
        "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
        "SELECT k, (SELECT max(w) FROM u) AS most FROM t",
        "SELECT k, (SELECT sum(w) FROM u WHERE u.k = t.k) AS total FROM t",
        "SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
        "SELECT k, (SELECT max(w) FROM u WHERE u.w < sum(t.v)) AS most FROM t GROUP BY k",
        "SELECT k FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.w = count(t.v) AND u.k = t.k)",
    ),
    "sums": (
        "SELECT k, count(*) AS n, sum(v) AS sv, avg(v) AS av, count(v) AS cv, stddev(v) AS d FROM t GROUP BY k",
        "SELECT k, sum(v) FILTER (WHERE s = 'a') AS x, count(*) FILTER (WHERE v > 1) AS y FROM t GROUP BY k",
        "SELECT count(*) AS n, sum(v) AS sv, bool_and(v > 1) AS every, bool_or(v > 1) AS some FROM t",
        "SELECT k, corr(v, k) AS c, regr_slope(v, length(s)) AS m, regr_count(v, k) AS n FROM t GROUP BY k",
        "SELECT sum(k::numeric(38,2)) AS a, avg(w::bigint) AS b, sum(w::bigint) AS c, sum(w::numeric / 3) AS d FROM u",
        "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 1",
        "SELECT DISTINCT k, s FROM t",
        "SELECT k FROM t UNION SELECT k FROM u",
    ),
    "distinct aggregates": (
        "SELECT k, count(DISTINCT v) AS d, count(*) AS n, sum(v) AS sv FROM t GROUP BY k",
        "SELECT k, sum(DISTINCT v) AS d, count(DISTINCT v) AS n, avg(v) AS a FROM t GROUP BY k",
        "SELECT count(DISTINCT s) AS ds, count(DISTINCT v) AS dv FROM t",
        "SELECT count(DISTINCT s) AS ds, max(v) AS most FROM t",
        "SELECT k, count(DISTINCT v) FILTER (WHERE s = 'a') AS d FROM t GROUP BY k",
    ),
    "groups": (
        "SELECT k, min(v) AS least, max(s) AS most FROM t GROUP BY k",
        "SELECT k, string_agg(s, ',') AS texts, array_agg(v) AS numbers FROM t GROUP BY k",
        "SELECT k, string_agg(s, ',' ORDER BY v DESC) AS texts FROM t GROUP BY k",
        "SELECT k, sum(f) AS sf, avg(f) AS af, stddev(f) AS df FROM u GROUP BY k",
        "SELECT k, covar_pop(f, w) AS c, regr_r2(w, f) AS r FROM u GROUP BY k",
        "SELECT min(s) AS least, sum(v) AS sv FROM t",
        "SELECT k, jsonb_agg(s) AS j FROM t GROUP BY k",
    ),
    "partitions": (
        "SELECT DISTINCT ON (k) k, v, s FROM t ORDER BY k, v DESC",
        "SELECT k, v FROM t ORDER BY v LIMIT 2",
        "SELECT k, v FROM t ORDER BY v DESC LIMIT 2 OFFSET 1",
        "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS n,"
        " rank() OVER (PARTITION BY k ORDER BY s) AS r FROM t",
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM t",
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY s GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES)"
        " AS x, last_value(v) OVER (PARTITION BY k ORDER BY s) AS last FROM t",
        "SELECT k, lag(v) OVER (ORDER BY v) AS l, lead(s) OVER (PARTITION BY k ORDER BY v) AS m FROM t",
    ),
    "sets": (
        "SELECT k FROM t EXCEPT SELECT k FROM u",
        "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
        "SELECT k FROM t INTERSECT SELECT k FROM u",
        "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
        "SELECT k, s FROM t UNION SELECT a, s FROM r",
    ),
}
"""All queries of a family stand in one engine, and so share what they can."""

SLOW_FAMILIES = {
    **FAMILIES,
    "recursion": (
        "WITH RECURSIVE x(a, b) AS (SELECT k, v FROM t UNION SELECT x.a, u.w FROM x JOIN u ON x.b = u.k)"
        " SELECT a, count(*) AS n FROM x GROUP BY a",
        "WITH RECURSIVE x(n) AS (SELECT v FROM t WHERE v < 3 UNION ALL SELECT n + 1 FROM x WHERE n < 3)"
        " SELECT n, w FROM x LEFT JOIN u ON n = u.k",
        "SELECT k, (WITH RECURSIVE x(n) AS (SELECT t.v UNION SELECT w FROM u JOIN x ON u.k = x.n)"
        " SELECT count(*) FROM x) AS n FROM t",
    ),
}
"""With those that take many jobs a tick."""


NUMBER, TEXT, FLOAT, OTHER = "number", "text", "float", "other"
_KINDS = {"int": NUMBER, "text": TEXT, "double precision": FLOAT}


@dataclass(frozen=True, slots=True)
class Query:
    """Columns are called a0, a1, …; `kinds` says what may be done with them."""

    sql: str
    kinds: tuple[str, ...]

    def of(self, *kinds: str) -> list[str]:
        return [f"a{i}" for i, kind in enumerate(self.kinds) if kind in kinds]


def tables() -> st.SearchStrategy[Query]:
    found = []
    for name, columns in TABLES.items():
        parts = [column.split(" ", 1) for column in columns]
        outputs = ", ".join(f"{column} AS a{i}" for i, (column, _) in enumerate(parts))
        found.append(Query(f"SELECT {outputs} FROM {name}", tuple(_KINDS[kind] for _, kind in parts)))
    return st.sampled_from(found)


def queries(depth: int) -> st.SearchStrategy[Query]:
    """Rules stacked `depth` high; one step is one of the rules over smaller queries."""
    return tables() if depth == 0 else step_over(queries(depth - 1))


def step_over(below: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    """One rule over what is below."""
    joins = (joined, semijoined, combined, subqueried)
    alone = (filtered, projected, flattened, aggregated, rolled_up, deduplicated, limited, windowed)
    return st.sampled_from((*joins, *alone)).flatmap(lambda step: step(below))


@st.composite
def predicates(draw: st.DrawFn, query: Query, alias: str) -> str:
    numbers, texts = query.of(NUMBER), query.of(TEXT)
    any_column = alias + "." + draw(st.sampled_from([f"a{i}" for i in range(len(query.kinds))]))
    choices = [f"{any_column} IS NULL", f"{any_column} IS NOT NULL"]
    if numbers:
        one, other = (alias + "." + draw(st.sampled_from(numbers)) for _ in range(2))
        constant = draw(st.integers(-1, 3))
        choices += [f"{one} > {constant}", f"{one} <= {other}", f"{one} IN ({constant}, 2, NULL)"]
        choices += [f"NOT ({one} = {constant})", f"{one} IS DISTINCT FROM {other}", f"({one} > 0) IS NOT TRUE"]
    if texts:
        text = alias + "." + draw(st.sampled_from(texts))
        choices += [f"{text} = 'a'", f"{text} LIKE 'a%'", f"{text} < 'b'"]
    first, second = (draw(st.sampled_from(choices)) for _ in range(2))
    return draw(st.sampled_from([first, f"{first} AND {second}", f"({first} OR {second})"]))


@st.composite
def filtered(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    return Query(f"SELECT * FROM ({query.sql}) AS x WHERE {draw(predicates(query, 'x'))}", query.kinds)


@st.composite
def projected(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    outputs: list[tuple[str, str]] = []
    for i, kind in enumerate(query.kinds):
        column = f"x.a{i}"
        choices = [(column, kind)]
        if kind == NUMBER:
            constant = draw(st.integers(-2, 2))
            choices += [(f"{column} + {constant}", NUMBER), (f"coalesce({column}, {constant})", NUMBER)]
            choices += [(f"CASE WHEN {draw(predicates(query, 'x'))} THEN {column} END", NUMBER)]
            choices += [(f"{column}::double precision", FLOAT), (f"{column}::text", TEXT)]
        if kind == TEXT:
            choices += [(f"{column} || 'x'", TEXT), (f"upper({column})", TEXT), (f"length({column})", NUMBER)]
        outputs.append(draw(st.sampled_from(choices)))
    kept = draw(st.lists(st.sampled_from(outputs), min_size=1, max_size=3))
    return _select(kept, f"({query.sql}) AS x")


@st.composite
def joined(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    left, right = draw(below), draw(st.one_of(tables(), below))
    kind = draw(st.sampled_from(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    same = _same(draw, left, right)
    inequality = _compared(draw, left, right, "<")
    extra = draw(predicates(left, "x"))
    conditions = [same, same, f"{same} AND {extra}", f"{same} AND {inequality}"]
    if kind != "FULL JOIN":  # Spark has no full join without an equality
        conditions += [inequality, "true"]
    condition = draw(st.sampled_from(conditions))
    columns = [(f"x.a{i}", k) for i, k in enumerate(left.kinds)] + [(f"y.a{i}", k) for i, k in enumerate(right.kinds)]
    kept = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=4))
    return _select(kept, f"({left.sql}) AS x {kind} ({right.sql}) AS y ON {condition}")


@st.composite
def semijoined(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    left, right = draw(below), draw(st.one_of(tables(), below))
    one, other = _pair(draw, left, right)
    word = draw(st.sampled_from(["IN", "NOT IN", "EXISTS", "NOT EXISTS"]))
    condition = f"x.{one} {word} (SELECT y.{other} FROM ({right.sql}) AS y WHERE {draw(predicates(right, 'y'))})"
    if word.endswith("EXISTS"):
        met = f"y.{other} = x.{one} AND {draw(predicates(right, 'y'))}"
        condition = f"{word} (SELECT 1 FROM ({right.sql}) AS y WHERE {met})"
    return Query(f"SELECT * FROM ({left.sql}) AS x WHERE {condition}", left.kinds)


@st.composite
def aggregated(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    places = st.sampled_from([f"x.a{i}" for i in range(len(query.kinds))])
    groups = draw(st.lists(places, max_size=2, unique=True))
    argument = draw(places)
    kind = query.kinds[int(argument[3:])]
    filter_ = draw(st.sampled_from(["", "", f" FILTER (WHERE {draw(predicates(query, 'x'))})"]))
    calls = [("count(*)" + filter_, NUMBER), (f"count({argument}){filter_}", NUMBER)]
    calls += [(f"count(DISTINCT {argument})", NUMBER), (f"count(DISTINCT {argument}){filter_}", NUMBER)]
    if kind == NUMBER:
        calls += [(f"{name}({argument}){filter_}", NUMBER) for name in ("sum", "avg", "min", "max")]
        calls += [(f"sum(DISTINCT {argument})", NUMBER), (f"bool_or({argument} > 1)", OTHER)]
        calls += [(f"array_agg({argument}){filter_}", OTHER)]
        calls += [(f"(SELECT count(*) FROM u AS y WHERE y.w < sum({argument}){filter_})", NUMBER)]
    if kind == TEXT:
        calls += [(f"min({argument}){filter_}", TEXT), (f"string_agg({argument}, ','){filter_}", TEXT)]
    if kind == FLOAT:
        calls += [(f"sum({argument}){filter_}", FLOAT), (f"avg({argument})", FLOAT), (f"max({argument})", FLOAT)]
    chosen = draw(st.lists(st.sampled_from(calls), min_size=0 if groups else 1, max_size=3))
    outputs = [(group, query.kinds[int(group[3:])]) for group in groups] + chosen
    having = draw(st.sampled_from(["", "", " HAVING count(*) > 1"])) if groups else ""
    group_by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return _select(outputs, f"({query.sql}) AS x{group_by}{having}")


@st.composite
def flattened(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    """Each row beside those that a function makes of it."""
    query = draw(below)
    numbers = [f"least(x.{column}, 3)::int" for column in query.of(NUMBER)] or ["2"]
    series = f"generate_series(1, {draw(st.sampled_from(numbers))})"
    join = draw(st.sampled_from([f", {series} AS g(n)", f" LEFT JOIN LATERAL {series} AS g(n) ON true"]))
    outputs = [(f"x.a{i}", kind) for i, kind in enumerate(query.kinds)][:3]
    return _select([*outputs, ("g.n", NUMBER)], f"({query.sql}) AS x{join}")


@st.composite
def rolled_up(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    places = st.sampled_from([f"x.a{i}" for i in range(len(query.kinds))])
    one, other = draw(places), draw(places)
    sets = draw(st.sampled_from(["ROLLUP ({}, {})", "CUBE ({}, {})", "GROUPING SETS (({}), ({}), ())"]))
    outputs = [(one, query.kinds[int(one[3:])]), (f"grouping({one})", NUMBER), ("count(*)", NUMBER)]
    return _select(outputs, f"({query.sql}) AS x GROUP BY {sets.format(one, other)}")


@st.composite
def deduplicated(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    if draw(st.booleans()):
        return Query(f"SELECT DISTINCT * FROM ({query.sql}) AS x", query.kinds)
    on = draw(st.sampled_from([f"a{i}" for i in range(len(query.kinds))]))
    order = draw(st.sampled_from([f"a{i}" for i in range(len(query.kinds))]))
    way = draw(st.sampled_from(["", " DESC", " NULLS FIRST"]))
    return Query(f"SELECT DISTINCT ON ({on}) * FROM ({query.sql}) AS x ORDER BY {on}, {order}{way}", query.kinds)


@st.composite
def limited(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    order = draw(st.sampled_from([f"a{i}" for i in range(len(query.kinds))]))
    way = draw(st.sampled_from(["", " DESC", " NULLS FIRST"]))
    offset = draw(st.sampled_from(["", "", " OFFSET 1"]))
    limit = draw(st.integers(0, 3))
    return Query(f"SELECT * FROM ({query.sql}) AS x ORDER BY {order}{way} LIMIT {limit}{offset}", query.kinds)


@st.composite
def windowed(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    query = draw(below)
    places = st.sampled_from([f"x.a{i}" for i in range(len(query.kinds))])
    outputs = [(f"x.a{i}", kind) for i, kind in enumerate(query.kinds)][:3]
    for _ in range(draw(st.integers(1, 2))):
        partition = draw(st.sampled_from(["", f"PARTITION BY {draw(places)} "]))
        over = f"OVER ({partition}ORDER BY {draw(places)})"
        argument = draw(places)
        kind = query.kinds[int(argument[3:])]
        calls = [(f"row_number() {over}", NUMBER), (f"rank() {over}", NUMBER), (f"count(*) {over}", NUMBER)]
        calls += [(f"{name}({argument}) {over}", kind) for name in ("lag", "first_value", "last_value")]
        if kind == NUMBER:
            calls += [(f"sum({argument}) {over}", NUMBER)]
        outputs.append(draw(st.sampled_from(calls)))
    return _select(outputs, f"({query.sql}) AS x")


@st.composite
def combined(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    left, right = draw(below), draw(st.one_of(tables(), below))
    pairs = [
        (f"a{i}", f"a{j}", kind)
        for i, kind in enumerate(left.kinds)
        for j, other in enumerate(right.kinds)
        if kind == other != OTHER
    ]
    word = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]))
    if not pairs:
        return left
    kept = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=2))
    one, other = (", ".join(f"{pair[side]} AS a{i}" for i, pair in enumerate(kept)) for side in (0, 1))
    sql = f"SELECT {one} FROM ({left.sql}) AS x {word} SELECT {other} FROM ({right.sql}) AS y"
    return Query(sql, tuple(kind for _, _, kind in kept))


@st.composite
def subqueried(draw: st.DrawFn, below: st.SearchStrategy[Query]) -> Query:
    """A scalar subquery in the select list, alone or looking at the row outside."""
    left, right = draw(below), draw(tables())
    one, other = _pair(draw, left, right)
    correlated = draw(st.sampled_from(["", f" WHERE y.{other} = x.{one}"]))
    call = draw(st.sampled_from(["count(*)", f"max(y.{other})", "count(DISTINCT y.a0)", "sum(y.a0)"]))
    kind = right.kinds[int(other[1:])] if call.startswith("max") else NUMBER
    outputs = [(f"x.a{i}", each) for i, each in enumerate(left.kinds)][:3]
    outputs.append((f"(SELECT {call} FROM ({right.sql}) AS y{correlated})", kind))
    return _select(outputs, f"({left.sql}) AS x")


def _select(outputs: list[tuple[str, str]], source: str) -> Query:
    names = ", ".join(f"{text} AS a{i}" for i, (text, _) in enumerate(outputs))
    return Query(f"SELECT {names} FROM {source}", tuple(kind for _, kind in outputs))


def _pair(draw: st.DrawFn, left: Query, right: Query) -> tuple[str, str]:
    """A column of each side, of one kind.  Every table has a number."""
    for kind in draw(st.permutations([NUMBER, TEXT, FLOAT])):
        if left.of(kind) and right.of(kind):
            return draw(st.sampled_from(left.of(kind))), draw(st.sampled_from(right.of(kind)))
    return "a0::text", "a0::text"


def _same(draw: st.DrawFn, left: Query, right: Query) -> str:
    one, other = _pair(draw, left, right)
    return f"x.{one} = y.{other}"


def _compared(draw: st.DrawFn, left: Query, right: Query, operator: str) -> str:
    one, other = _pair(draw, left, right)
    return f"x.{one} {operator} y.{other}"
