"""What a sink's progress records say when they are read in order."""

from functools import reduce

import pytest

from tailrace.errors import Fenced, SqlError
from tailrace.sinks.kafka_records import ENDED, Held, Plan, Records

RECORDS = Records(sink="totals_out", key="mz-sink-u7", version=2)
PLAN = Plan(tick=10, slots=4, partitions=3, owner="me")


def held(*records: tuple[str, str | None]) -> Held:
    pairs = [(key.encode(), None if value is None else value.encode()) for key, value in records]
    return reduce(lambda before, record: RECORDS.fold(before, *record), pairs, Held())


def test_records_are_written_as_documented():
    assert RECORDS.frontier(11) == ("mz-sink-u7", '{"frontier":[11],"version":2}')
    assert RECORDS.slot(3, 10) == ("mz-sink-u7-3", '{"frontier":[11],"version":2}')
    assert RECORDS.owner("me") == ("mz-sink-u7-owner", '{"owner":"me","version":2}')
    key, value = RECORDS.plan(PLAN)
    assert key == "mz-sink-u7-slots"
    assert value == '{"tick":10,"slots":4,"partitions":3,"owner":"me","placed":false,"version":2}'


def test_nothing_is_held_before_the_first_record():
    assert held() == Held()
    assert held(("mz-sink-u70", '{"frontier":[5]}'), ("mz-sink-u", '{"frontier":[6]}')) == Held()


def test_the_last_frontier_counts():
    assert held(RECORDS.frontier(5), RECORDS.frontier(11)).frontier == 11


@pytest.mark.parametrize(
    ("value", "frontier"),
    [('{"timestamp":4}', 5), ('{"frontier":[]}', ENDED), ('{"frontier":[7],"version":0}', 7), (None, None)],
)
def test_frontiers_of_all_kinds_are_understood(value, frontier):
    assert held(("mz-sink-u7", value)).frontier == frontier


def test_a_frontier_never_goes_down():
    with pytest.raises(SqlError, match='upper regressed in the progress of sink "totals_out": 11 to 5'):
        held(RECORDS.frontier(11), RECORDS.frontier(5))


def test_slots_count_from_their_plan_on():
    before = held(RECORDS.frontier(5), RECORDS.plan(PLAN), RECORDS.slot(1, 10), RECORDS.slot(3, 10))
    assert (before.plan, before.done, before.owner, before.slots) == (PLAN, {1, 3}, "me", 4)
    assert before.frontier == 5


def test_slots_of_an_older_tick_do_not_count():
    assert held(RECORDS.plan(PLAN), RECORDS.slot(1, 9), RECORDS.slot(2, 10)).done == {2}
    assert held(RECORDS.slot(1, 10)).done == frozenset()


def test_the_sinks_own_record_settles_all_before_it():
    settled = held(RECORDS.plan(PLAN), RECORDS.slot(1, 10), RECORDS.frontier(11))
    assert settled == Held(frontier=11)
    earlier = held(RECORDS.plan(PLAN), RECORDS.frontier(8))
    assert earlier == Held(frontier=8)


def test_a_new_owner_keeps_the_plan_and_what_is_done():
    taken = held(RECORDS.plan(PLAN), RECORDS.slot(1, 10), RECORDS.owner("you"), RECORDS.slot(2, 10))
    assert (taken.plan, taken.owner, taken.done) == (PLAN, "you", {1, 2})


def test_a_new_plan_begins_with_no_slot():
    again = Plan(tick=10, slots=2, partitions=3, owner="you")
    assert held(RECORDS.plan(PLAN), RECORDS.slot(1, 10), RECORDS.plan(again)).done == frozenset()


def test_a_newer_version_fences():
    with pytest.raises(Fenced, match=r"Fenced off by newer version of the sink\. ours=2 theirs=3"):
        held(("mz-sink-u7-owner", '{"owner":"x","version":3}'))


def test_a_record_that_cannot_be_read_is_an_error_and_not_nothing():
    with pytest.raises(SqlError, match='unreadable progress record "mz-sink-u7" of sink "totals_out"'):
        held(("mz-sink-u7", "gibberish"))
