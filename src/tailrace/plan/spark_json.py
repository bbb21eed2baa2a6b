"""One parse for all looks into a JSON document.

`data->>'a'`, `data->>'b'` and `data->>'c'`, in a select list and in WHERE alike, are read by one LATERAL
VIEW.  A view and not an expression, because Spark copies a cheap-looking expression into the filter and into
each column, and would parse again in each place; a generator it leaves where it is.  Top-level fields are read
by `tailrace_json_fields` (jvm/functions.py), which every session that runs this text has: the meaning of `->>` at a
fraction of what Spark's `json_tuple` costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tailrace.plan.expressions import Call, Expression, Ref
from tailrace.plan.functions.json import FIELD_TEXT, chain
from tailrace.plan.spark_literals import quoted
from tailrace.plan.walk import children

Path = tuple[str, ...]


@dataclass(slots=True)
class _Document:
    """The paths that are looked up in one document, and the calls that ask for each."""

    calls: dict[Path, list[Expression]] = field(default_factory=dict)


def shared_parses(
    expressions: Sequence[Expression], columns: Sequence[str], alias: str
) -> tuple[str, dict[Expression, str]]:
    """LATERAL VIEW clauses for all JSON columns looked into, and the text that now holds each access."""
    documents: dict[int, _Document] = {}
    for access, place, path in _accesses(expressions):
        calls = documents.setdefault(place, _Document()).calls.setdefault(path, [])
        if access not in calls:
            calls.append(access)
    clauses = ""
    known: dict[Expression, str] = {}
    for place, document in documents.items():
        flat: list[Path] = [path for path in document.calls if len(path) == 1]
        nested: list[Path] = [path for path in document.calls if len(path) > 1]
        if flat:
            name = f"{alias}j{place}"
            clauses += f" LATERAL VIEW {_fields(columns[place], flat)} {name} AS {name}_f"
            known |= {c: f"{name}.{name}_f[{k}]" for k, path in enumerate(flat) for c in document.calls[path]}
        if nested:
            name = f"{alias}j{place}x"
            names = [f"{name}_{k}" for k in range(len(nested))]
            clauses += f" LATERAL VIEW {_struct(columns[place], nested)} {name} AS {', '.join(names)}"
            known |= {c: f"{name}.{n}" for path, n in zip(nested, names, strict=True) for c in document.calls[path]}
    return clauses, known


def _accesses(expressions: Iterable[Expression]) -> Iterator[tuple[Expression, int, Path]]:
    """Each `->>` with constant keys on a column of this row, the column and the keys."""
    for expression in expressions:
        if isinstance(expression, Call) and expression.function == FIELD_TEXT:
            found = chain(expression)
            if (
                found is not None
                and isinstance(found[0], Ref)
                and not any(p.startswith("[") for p in found[1])
            ):
                yield expression, found[0].index, found[1]
                continue
        yield from _accesses(children(expression))


def _fields(document: str, paths: Sequence[Path]) -> str:
    """One row with an array of the fields' texts."""
    names = "\0".join(path[0] for path in paths).encode().hex()
    return f"explode(array(tailrace_json_fields(CAST({document} AS BINARY), X'{names}')))"


def _struct(document: str, paths: Sequence[Path]) -> str:
    """Nested keys: one from_json of the whole tree of keys, then a row of its leaves.

    A key that is wanted both as text and for what is inside it is read twice, under one more level of the
    array.
    """
    values = ", ".join(f"get_json_object(d, {quoted(_path(path))})" for path in paths)
    tree = _tree(paths)
    if tree is None:
        return f"inline(transform(array({document}), d -> struct({values})))"
    leaves = ", ".join("s." + ".".join(f"`{key}`" for key in path) for path in paths)
    return f"inline(transform(array(from_json({document}, {quoted(_ddl(tree))})), s -> struct({leaves})))"


def _path(path: Path) -> str:
    return "$" + "".join(f"['{key}']" for key in path)


def _tree(paths: Sequence[Path]) -> dict[str, object] | None:
    root: dict[str, object] = {}
    for path in paths:
        place = root
        for key in path[:-1]:
            inner = place.setdefault(key, {})
            if not isinstance(inner, dict):
                return None
            place = inner
        if place.setdefault(path[-1], "string") != "string":
            return None
    return root


def _ddl(tree: dict[str, object]) -> str:
    fields = (f"`{k}`:{_ddl(v) if isinstance(v, dict) else v}" for k, v in tree.items())
    return f"struct<{','.join(fields)}>"
