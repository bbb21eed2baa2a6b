"""All operators of a cluster, one for each distinct plan node: equal parts of views are one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.ivm.choose import choose
from tailrace.ivm.operator import Operator, Timed
from tailrace.ivm.rules.arrange import Arranged, arrange
from tailrace.plan.expressions import Expression
from tailrace.plan.nodes import Node, Scan
from tailrace.state.store import Store
from tailrace.state.trace import Trace


class Dataflow:
    """Grows with every plan asked for; `keep_only` takes away what no root needs."""

    def __init__(self, store: Store, leaf: Callable[[Scan], Operator], owner: str = "") -> None:
        """`owner`: of the traces."""
        self._store = store
        self._owner = owner
        self._leaf = leaf
        self._operators: dict[Node, Operator] = {}
        self._timed: dict[Node, Timed] = {}
        self._arranged: dict[tuple[Node, tuple[Expression, ...]], Arranged] = {}

    def operator(self, node: Node) -> Operator:
        """The operator of `node`, made with everything below it if it is not there yet.  Runs no job."""
        found = self._operators.get(node)
        if found is None:
            if isinstance(node, Scan):
                found = self._leaf(node)
            else:
                with self._store.owned_by(self._owner):
                    found = choose(node, self._store, self.operator, self.arranged)
            self._operators[node] = found
            if isinstance(found, Timed):
                self._timed[node] = found
        return found

    def arranged(self, node: Node, key: tuple[Expression, ...]) -> Arranged:
        found = self._arranged.get((node, key))
        if found is None:
            with self._store.owned_by(self._owner):
                found = self._arranged[node, key] = arrange(self._store, self.operator(node), key)
        return found

    def timed(self) -> list[Timed]:
        """The operators for which time matters."""
        return list(self._timed.values())

    def keep_only(self, roots: list[Operator]) -> None:
        """Forgets operators that no root reads, and gives their traces' space back."""
        living = {id(operator) for root in roots for operator in reach(root)}
        self._operators = {node: op for node, op in self._operators.items() if id(op) in living}
        self._timed = {node: op for node, op in self._timed.items() if node in self._operators}
        self._arranged = {key: op for key, op in self._arranged.items() if id(op) in living}
        needed = {trace.id for root in roots for trace in traces(root)}
        for id_ in [id_ for id_ in self._store.traces if id_ not in needed]:
            self._store.drop(id_)


def reach(root: Operator) -> Iterator[Operator]:
    """`root` and everything below it, each once."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        operator = waiting.pop()
        yield operator
        for below in operator.below:
            if id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)


def traces(root: Operator) -> Iterator[Trace]:
    """All state that `root` rests on."""
    for operator in reach(root):
        yield from operator.traces()
