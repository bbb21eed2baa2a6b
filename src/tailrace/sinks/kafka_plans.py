"""The driver's side of large ticks: who plans slots, who owns them, and how they change hands.

A plan is committed before its first slot begins, by the driver's own writer; so whoever fences that writer
can read which slot ids may be in use, and no id is left unfenced.  Taking slots over means, in this order:
say that they have a new owner, then open each slot's id.  A slot that a zombie opens later reads that it is
not the owner; one that it opened earlier is fenced.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from tailrace.errors import InternalError, TailraceError
from tailrace.ivm.zset import Placed, ZSet
from tailrace.kafka.admin import Topics
from tailrace.sinks.contract import Written
from tailrace.sinks.envelope import Envelope
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.sinks.kafka_outlet import Outlet
from tailrace.sinks.kafka_progress import ProgressTopic
from tailrace.sinks.kafka_records import Held, Plan
from tailrace.sinks.kafka_slots import OUTCOME, SlotTask, summed, this_process
from tailrace.sinks.kafka_writer import SMALL_SECONDS, TransactionalWriter, Writer
from tailrace.testing.crash import crash_point
from tailrace.types.core import Tick

_FENCED_AT_A_TIME = 8
_REACH_SECONDS = 2.0

log = logging.getLogger(__name__)


class Plans:
    """Plans and runs the slots of one sink."""

    def __init__(
        self,
        sink: KafkaSinkDefinition,
        spark: SparkSession,
        outlet: Outlet,
        progress: ProgressTopic,
        time_out: float,
    ) -> None:
        """`time_out`: how many seconds the transaction of one slot may take."""
        self._sink = sink
        self._time_out = time_out
        self._spark = spark
        self._outlet = outlet
        self._progress = progress
        self._owner = ""
        self._since = 0
        self._begun = 0  # slots that may be open

    def take_over(self, writer: Writer) -> None:
        """Makes sure that nobody else writes slots.  Costs one look at the topic if there are none."""
        held = self._progress.read(wait=False)
        if held.slots == 0:
            return
        self._owner, self._since = str(uuid.uuid4()), held.end
        writer.begin()
        writer.commit(self._topic, self._progress.records.owner(self._owner))
        self._fence(range(held.slots))
        self._begun = 0

    def begin(self, writer: Writer, tick: Tick, slots: int, partitions: int, *, placed: bool = False) -> Plan:
        """A new plan, committed: from here on its slots may be written."""
        self._owner, self._since = str(uuid.uuid4()), self._progress.end()
        plan = Plan(tick=tick, slots=slots, partitions=partitions, owner=self._owner, placed=placed)
        writer.begin()
        writer.commit(self._topic, self._progress.records.plan(plan))
        crash_point("kafka.slots_planned")
        return plan

    def run(self, plan: Plan, told_as: Envelope, delta: ZSet, held: Held) -> Written:
        """Writes the slots of a plan that are not held yet.  Runs a Spark job, one task for each slot."""
        self._begun = plan.slots
        task = SlotTask(
            outlet=self._outlet,
            progress=self._progress,
            transactional_id=self._sink.transactional_id,
            plan=plan,
            owner=self._owner,
            since=self._since,
            time_out=self._time_out,
            engine=this_process(self._spark.sparkContext.master),
        )
        messages = self._messages(plan, told_as, delta)
        if held.done:
            done = ", ".join(map(str, sorted(held.done)))
            messages = f"SELECT * FROM ({messages}) WHERE slot NOT IN ({done})"
        outcomes = self._spark.sql(messages).mapInArrow(task.run, OUTCOME)
        if plan.placed and delta.placed is not None:
            _check_places(outcomes, delta.placed)
        written = replace(summed(outcomes.toArrow()), slots=plan.slots)
        self._begun = 0
        crash_point("kafka.slots_committed")
        return written

    def give_up(self, topics: Topics) -> None:
        """Ends the transactions of slots that were not finished, so that readers need not wait for their time-out.

        If they belong to somebody else by now, or nobody answers, they are left alone.  Never fails.
        """
        slots, self._begun = self._begun, 0
        if slots == 0:
            return
        try:
            topics.check_reachable(_REACH_SECONDS)
            if self._progress.read(wait=False, since=self._since).owner == self._owner:
                self._fence(range(slots))
        except TailraceError as error:
            log.info("slots are left to their time-out sink=%s reason=%s", self._sink.name, error)

    def _messages(self, plan: Plan, told_as: Envelope, delta: ZSet) -> str:
        if not plan.placed:
            return told_as.slotted(delta, plan.slots)
        if delta.placed is None:
            raise InternalError(f"tick {plan.tick} was begun by its rows' places, and now they have none")
        return told_as.in_place(delta.placed)

    def _fence(self, slots: Iterable[int]) -> None:
        ids = [self._sink.slot_transactional_id(slot) for slot in slots]
        with ThreadPoolExecutor(_FENCED_AT_A_TIME) as pool:
            for _ in pool.map(lambda each: TransactionalWriter(self._outlet, each, SMALL_SECONDS), ids):
                pass  # opening it was all

    @property
    def _topic(self) -> str:
        return self._sink.connection.progress_topic


def _check_places(outcomes: DataFrame, placed: Placed) -> None:
    """Each place has a task of its own: a second one for a slot would find it done, and leave its rows out.

    Spark makes a task of each partition of a topic, and never half a one unless it is asked to.  Runs no job.
    """
    tasks = outcomes._jdf.queryExecution().toRdd().getNumPartitions()
    if tasks != len(placed.rows):
        raise InternalError(f"{len(placed.rows)} places are read by {tasks} tasks")
