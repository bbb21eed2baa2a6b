"""Recovery: load the last checkpoint, ask every target what it holds, and go through the logged ticks again.

Up to the oldest tick that any target holds, ticks are done in one fused step: nobody needs them apart.  Later ones
are replayed as they were logged; sinks skip what they hold.  A sink whose target does not answer now may hold any
tick, so from its last known frontier on nothing is fused.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from tailrace.errors import TailraceError
from tailrace.plan.data_errors import explain
from tailrace.ticks.cluster import Cluster
from tailrace.ticks.deliver import Delivery
from tailrace.types.core import BEGINNING, Tick

_log = logging.getLogger("tailrace.ticks")


def recover(cluster: Cluster, checkpoint: Tick) -> None:
    """Brings a cluster whose objects are all there to the last logged tick.  Runs Spark jobs."""
    cluster.frontier = cluster.done = checkpoint
    _ask_all(cluster)
    frontiers = [d.frontier for d in cluster.deliveries.values()]
    if cluster.retained:
        frontiers.append(Tick(cluster.log.last - max(cluster.retained.values())))  # single ticks are still asked for
    replayed = steps(cluster.log.after(checkpoint), frontiers)
    if checkpoint > BEGINNING:
        cluster.run(checkpoint, together=True)  # finds everything there: views can be read, whether or not ticks follow
    for t in replayed:
        _log.info("replaying tick=%d", t)
        cluster.run(t, together=True)


def _ask_all(cluster: Cluster) -> None:
    """All at once: what one sink left open may hide another one's progress until it is fenced too."""
    deliveries = list(cluster.deliveries.values())
    with ThreadPoolExecutor(max_workers=max(len(deliveries), 1)) as pool:
        for delivery, failure in zip(deliveries, pool.map(_ask, deliveries), strict=True):
            if failure is not None:
                cluster.statuses.note(delivery.id, "stalled", failure.message, failure.hint)


def _ask(delivery: Delivery) -> TailraceError | None:
    try:
        delivery.ask()
    except Exception as error:  # noqa: BLE001  the sink stalls alone; the tick loop will ask again
        return explain(error)
    return None


def steps(logged: list[Tick], frontiers: list[Tick]) -> list[Tick]:
    """The ticks to stop at: one for all that every sink holds, then each."""
    if not logged:
        return []
    oldest = min(frontiers, default=logged[-1])
    fused = [t for t in logged if t <= oldest]
    return [*fused[-1:], *(t for t in logged if t > oldest)]
