"""Which overload a call means: PostgreSQL's rules, as a distance.  Fewest and shortest implicit casts win.

A constant of unknown type fits everywhere; it prefers the type of its neighbour (operators), then text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from tailrace.plan.coercion import common_type, distance
from tailrace.plan.functions.entry import VARIABLE, Function, is_generic, substituted
from tailrace.types.core import TEXT, UNKNOWN, ArrayOf, ListOf, MapOf, SqlType


class Overload(Protocol):
    @property
    def arguments(self) -> tuple[SqlType, ...]: ...
    @property
    def result(self) -> SqlType: ...


O = TypeVar("O", bound=Overload)  # noqa: E741


def resolve(candidates: Sequence[O], types: Sequence[SqlType]) -> tuple[O, tuple[SqlType, ...], SqlType] | None:
    """The best overload, the types its arguments become, and its result's type.  None: none fits."""
    best: tuple[float, O, tuple[SqlType, ...], SqlType] | None = None
    for candidate in candidates:
        targets = _targets(candidate, types)
        if targets is None:
            continue
        cost = _cost(types, targets[0])
        if cost is not None and (best is None or cost < best[0]):
            best = (cost, candidate, *targets)
    return None if best is None else best[1:]


def _targets(candidate: Overload, types: Sequence[SqlType]) -> tuple[tuple[SqlType, ...], SqlType] | None:
    if isinstance(candidate, Function):
        if not candidate.accepts(len(types)):
            return None
        parameters = [candidate.parameter(i) for i in range(len(types))]
    elif len(candidate.arguments) == len(types):
        parameters = list(candidate.arguments)
    else:
        return None
    if not any(map(is_generic, parameters)):
        return tuple(parameters), candidate.result
    variable = _variable(parameters, types)
    if variable is None:
        return None
    return tuple(substituted(p, variable) for p in parameters), substituted(candidate.result, variable)


def _variable(parameters: Sequence[SqlType], types: Sequence[SqlType]) -> SqlType | None:
    """What T must be."""
    found: list[SqlType] = []
    for parameter, type in zip(parameters, types, strict=True):
        if not is_generic(parameter) or type == UNKNOWN:
            continue
        inner = _inside(parameter, type)
        if inner is None:
            return None
        found.append(inner)
    return common_type(found)


def _inside(parameter: SqlType, type: SqlType) -> SqlType | None:
    match parameter, type:
        case (ListOf(element=p), ListOf(element=t)) | (ArrayOf(element=p), ArrayOf(element=t)):
            return _inside(p, t)
        case MapOf(value=p), MapOf(value=t):
            return _inside(p, t)
        case _:
            return type if parameter == VARIABLE else None


def _cost(types: Sequence[SqlType], targets: Sequence[SqlType]) -> float | None:
    total = 0.0
    for type, target in zip(types, targets, strict=True):
        if type == UNKNOWN:
            neighbours = [t for t in types if t != UNKNOWN]
            total += 0.0 if target in neighbours else 0.1 if target == TEXT else 0.2
            continue
        step = distance(type, target)
        if step is None:
            return None
        total += step
    return total
