"""The pairing of envelope.py on Arrow columns: the same messages, on the driver, for small ticks.

A Spark plan for it costs a small tick more than all the rest of the sink; here it is a few operations on
whole columns.  tests/unit/sinks/test_envelope.py holds both against the same plain Python.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.encode_contract import Encoder
from tailrace.sinks.envelope import CHANGELOG, DEBEZIUM, Envelope


def messages(encoded: pa.Table, envelope: Envelope, *, positive: bool) -> pa.Table:
    """From rows (k, r, w), as `envelope.encoded` gives them, to messages: `key`, `value`, `copies`."""
    if positive:
        events = pa.table(
            {"k": encoded["k"], "b": _absent(encoded), "a": encoded["r"], "w": encoded["w"], **_extras(encoded)}
        )
    elif envelope.key is None:
        events = _alone(_consolidated(encoded))
    elif envelope.kind == CHANGELOG:
        events = _alone(_consolidated(encoded).sort_by("w"))  # what left comes first
    elif envelope.kind == DEBEZIUM:
        events = _pairs(_consolidated(encoded))
    else:
        events = _last_words(_consolidated(encoded))
    telling = {DEBEZIUM: _changes, CHANGELOG: _came_or_left}.get(envelope.kind)
    value = events["a"] if telling is None else telling(events, envelope)
    return pa.table(
        {
            "key": events["k"] if envelope.key is None else _framed(events["k"], envelope.key_format),
            "value": _framed(value, envelope.value_format),
            "copies": events["w"],
            **_extras(events),
        }
    )


def _extras(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {name: rows[name] for name in ("p", "h", "t", "o") if name in rows.column_names}


def _consolidated(encoded: pa.Table) -> pa.Table:
    """One row per key and row, weights summed, zeros gone."""
    topic = ["o"] if "o" in encoded.column_names else []
    extras = [name for name in _extras(encoded) if name not in topic]
    summed = encoded.group_by(["k", "r", *topic]).aggregate([("w", "sum"), *((name, "min") for name in extras)])
    return summed.rename_columns(["k", "r", *topic, "w", *extras]).filter(pc.field("w") != 0)


def _alone(changes: pa.Table) -> pa.Table:
    """Each row an event of its own."""
    came, none = pc.greater(changes["w"], 0), pa.scalar(None, pa.binary())
    return pa.table(
        {
            "k": changes["k"],
            "b": pc.if_else(came, none, changes["r"]),
            "a": pc.if_else(came, changes["r"], none),
            "w": pc.abs(changes["w"]),
            **_extras(changes),
        }
    )


def _last_words(changes: pa.Table) -> pa.Table:
    """Every new row, and for a key that has lost more rows than it got, so many tombstones."""
    came = changes.filter(pc.field("w") > 0)
    extras = list(_extras(changes))
    if extras:  # of the row that left, the first one if there are several
        changes = changes.sort_by([("w", "ascending"), ("r", "ascending")])
    wanted = [("w", "sum"), *((name, "first", pc.ScalarAggregateOptions(skip_nulls=False)) for name in extras)]
    net = changes.group_by("k", use_threads=not extras).aggregate(wanted)
    net = net.rename_columns(["k", "w", *extras]).filter(pc.field("w") < 0)
    tombstones = pa.table(
        {"k": net["k"], "b": _absent(net), "a": _absent(net), "w": pc.negate(net["w"]), **_extras(net)}
    )
    rows = pa.table({"k": came["k"], "b": _absent(came), "a": came["r"], "w": came["w"], **_extras(came)})
    return pa.concat_tables([rows, tombstones])


def _pairs(changes: pa.Table) -> pa.Table:
    """The n-th row that left with the n-th that came, both sides in the order of their bytes."""
    extras = list(_extras(changes))
    gone = _numbered(changes.filter(pc.field("w") < 0)).rename_columns(["k", "b", *extras, "n"])
    came = _numbered(changes.filter(pc.field("w") > 0)).rename_columns(["k", "a", *extras, "n"])
    both = gone.join(came, ["k", "n"], join_type="full outer", right_suffix="_new")
    events = {"k": both["k"], "b": both["b"], "a": both["a"], "w": np.ones(len(both), np.int64)}
    return pa.table({**events, **{name: pc.coalesce(both[name], both[f"{name}_new"]) for name in extras}})


def _numbered(side: pa.Table) -> pa.Table:
    """k, r, extras and n: the rows of one side, each as often as it counts, numbered within its key."""
    side = side.sort_by([("k", "ascending"), ("r", "ascending")]).combine_chunks()
    counts = np.abs(side["w"].to_numpy())
    rows = side.select(["k", "r", *_extras(side)]).take(np.repeat(np.arange(len(side)), counts))
    keys = rows["k"].combine_chunks().dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))  # sorted: a key's rows are together
    lengths = np.diff(np.append(starts, len(keys)))
    return rows.append_column("n", pa.array(np.arange(len(keys)) - np.repeat(starts, lengths)))


def _changes(events: pa.Table, envelope: Envelope) -> pa.ChunkedArray:
    frame = envelope.value_format.change
    before, after = (
        pc.fill_null(_joined(frame.present, events[side]), pa.scalar(frame.absent, pa.binary()))
        for side in ("b", "a")
    )
    return _joined(frame.opening, before, frame.between, after, _closing(events, envelope))


def _closing(events: pa.Table, envelope: Envelope) -> bytes | pa.ChunkedArray:
    closings = envelope.closings()
    if len(set(closings)) == 1:
        return closings[0]
    inserted, updated, deleted = (pa.scalar(closing, pa.binary()) for closing in closings)
    stays = pc.if_else(pc.is_null(events["a"]), deleted, updated)
    return pc.if_else(pc.is_null(events["b"]), inserted, stays)


def _came_or_left(events: pa.Table, envelope: Envelope) -> pa.ChunkedArray:
    came, left = envelope.value_format.change.came, envelope.value_format.change.left
    return pc.coalesce(_joined(came[0], events["a"], came[1]), _joined(left[0], events["b"], left[1]))


def _framed(part: pa.ChunkedArray, format: Encoder) -> pa.ChunkedArray:
    return _joined(format.prefix, part) if format.prefix else part


def _joined(*parts: bytes | pa.ChunkedArray) -> pa.ChunkedArray:
    """The parts in a row; NULL where one is."""
    columns = [pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(b"", pa.binary()))


def _absent(like: pa.Table) -> pa.Array:
    return pa.nulls(len(like), pa.binary())
