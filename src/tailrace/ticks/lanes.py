"""All lanes of an engine: which is due, which is behind, and what a checkpoint may take of those that are busy.

Used by the tick loop's thread.  While everything is in one cluster there is one lane, and it has nothing to do: the
loop advances its objects itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tailrace.ivm.dataflow import Dataflow
from tailrace.state.trace import Frozen
from tailrace.ticks.lane import FIRST, PATIENCE_SECONDS, Before, Lane, owner_of
from tailrace.types.core import Tick

if TYPE_CHECKING:
    from tailrace.ticks.cluster import Cluster
    from tailrace.ticks.deliver import Delivery
    from tailrace.ticks.step import Maintained


class Lanes:
    """The lanes by the ids of their clusters."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lanes: dict[str, Lane] = {}
        self.get(FIRST)

    def __iter__(self) -> Iterator[Lane]:
        return iter(list(self._lanes.values()))

    def get(self, name: str) -> Lane:
        """The lane of the cluster with this id, new if nothing has been in it."""
        found = self._lanes.get(name)
        if found is None:
            store = self._cluster.store
            dataflow = Dataflow(store, self._cluster.leaf, owner_of(name))
            found = self._lanes[name] = Lane(name, dataflow, store.views.large.sparkContext)
            found.t = self._cluster.done
        return found

    def of(self, ids: Iterable[str]) -> frozenset[str]:
        """The lanes that these objects are in."""
        wanted = set(ids)
        return frozenset(each.lane for each in self._placed() if each.id in wanted)

    def close_unused(self) -> None:
        used = {FIRST, *(each.lane for each in self._placed())}
        for lane in self:
            if lane.name not in used and not lane.is_busy:
                self._lanes.pop(lane.name).close()

    def _placed(self) -> list[Maintained | Delivery]:
        """All that is in a lane."""
        return [*list(self._cluster.maintained.values()), *list(self._cluster.deliveries.values())]

    # ── steps ──

    @property
    def are_apart(self) -> bool:
        """There are several with something in them, or there were, and one is not at rest yet."""
        return len({each.lane for each in self._placed()}) > 1 or any(lane.is_busy for lane in self)

    def run(self, t: Tick) -> None:
        """Begins a step of every lane that is free, and waits for a moment for those that are quick."""
        self._begin(t)
        deadline = time.monotonic() + PATIENCE_SECONDS
        for lane in self:
            lane.await_end(deadline)
        self.take_ends()

    def go_on(self) -> None:
        """Lanes that are behind the last tick, and free, go on."""
        self.take_ends()
        self._begin(self._cluster.done)

    def take_ends(self) -> None:
        """Of steps that are over."""
        for lane in self:
            lane.take_end()

    def are_at(self, t: Tick) -> None:
        """Everything was brought to `t` without them."""
        for lane in self:
            lane.t = t
            lane.before = Before(elsewhere=self._elsewhere(lane))

    def _begin(self, t: Tick) -> None:
        cluster = self._cluster
        for lane in self:
            if not lane.is_busy and self._is_due(lane, t):
                held = ExitStack()
                held.enter_context(cluster.pinned(cluster.hold(), reads=()))  # for a checkpoint of what it begins with
                owner = owner_of(lane.name)
                own = [trace for trace in cluster.store.traces.values() if trace.owner == owner]
                before = Before(
                    traces={trace.id: trace.freeze() for trace in own}, elsewhere=self._elsewhere(lane)
                )
                lane.begin(t, cluster.step(lane, t), held, before, cluster.nudge)

    def _is_due(self, lane: Lane, t: Tick) -> bool:
        """Its objects may have further to go."""
        return lane.t < t or self._elsewhere(lane) != lane.before.elsewhere

    def _elsewhere(self, lane: Lane) -> dict[str, Tick]:
        """How far views of other lanes have come that this one reads."""
        read = {id for each in self._placed() if each.lane == lane.name for id in each.reads}
        views = [self._cluster.maintained[id] for id in read if id in self._cluster.maintained]
        return {view.id: view.frontier for view in views if view.lane != lane.name}

    # ── for others ──

    def are_behind(self, t: Tick) -> bool:
        """Some lane has not come to `t` yet."""
        return any(lane.is_busy or self._is_due(lane, t) for lane in self)

    def are_busy(self, names: frozenset[str]) -> bool:
        return any(lane.is_busy for lane in self if lane.name in names)

    def hurry(self, names: frozenset[str]) -> None:
        """Ends what these lanes are doing.  They will do it again if it is still wanted."""
        for lane in self:
            if lane.name in names and lane.is_busy:
                lane.hurry()

    def join(self) -> None:
        for lane in self:
            lane.join()

    def close(self) -> None:
        """Ends all steps for good."""
        self.hurry(frozenset(self._lanes))
        for lane in self:
            lane.close()

    def checkpointable(self) -> Tick:
        """The tick that a checkpoint is of; later ones are replayed.

        While a lane is busy its sinks may write any tick that its step can stop at; a restart has to stop there too.
        """
        ticks = [tick for lane in self if lane.is_busy for tick in (lane.t, *lane.before.elsewhere.values())]
        return min((self._cluster.log.last, *ticks))

    def frozen(self) -> dict[str, Frozen]:
        """Traces that lanes are appending to, as they were before."""
        return {id: was for lane in self if lane.is_busy for id, was in lane.before.traces.items()}
