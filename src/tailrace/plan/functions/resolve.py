"""Which overload a call means, by PostgreSQL's rules: the one that takes most arguments as they are; then the one
that turns most of the others into their family's preferred type (`sqrt(2)` is of double precision); then the one
with the shortest implicit casts.

A constant of unknown type fits everywhere; it prefers the type of its neighbour (operators), then text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from tailrace.plan.coercion import UNSIGNED, common_type, distance
from tailrace.plan.functions.entry import VARIABLE, Function, is_generic, substituted
from tailrace.types.core import DOUBLE, TEXT, TIMESTAMPTZ, UNKNOWN, ArrayOf, ListOf, MapOf, SqlType


class Overload(Protocol):
    @property
    def arguments(self) -> tuple[SqlType, ...]: ...
    @property
    def result(self) -> SqlType: ...


O = TypeVar("O", bound=Overload)  # noqa: E741
Cost = tuple[int, int, float]

_PREFERRED = (DOUBLE, TIMESTAMPTZ)


def resolve(candidates: Sequence[O], types: Sequence[SqlType]) -> tuple[O, tuple[SqlType, ...], SqlType] | None:
    """The best overload, the types its arguments become, and its result's type.  None: none fits."""
    best: tuple[Cost, O, tuple[SqlType, ...], SqlType] | None = None
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


def _cost(types: Sequence[SqlType], targets: Sequence[SqlType]) -> Cost | None:
    """Less is better."""
    total, exact, preferred = 0.0, 0, 0
    has_unsigned = any(type in UNSIGNED for type in types)  # PostgreSQL has none: they stay whole numbers
    for type, target in zip(types, targets, strict=True):
        if type == UNKNOWN:
            neighbours = [t for t in types if t != UNKNOWN]
            total += 0.0 if target in neighbours else 0.1 if target == TEXT else 0.2
            continue
        step = distance(type, target)
        if step is None:
            return None
        exact += step <= 1
        preferred += step > 1 and target in _PREFERRED and not has_unsigned
        total += step
    return -exact, -preferred, total
