"""Finding the rows of a few hashes on the driver: a small tick reads what it touches, not the whole state.

Each run gets an index: its rows sorted by hash.  A run on the driver is sorted in memory; one of Parquet files is
copied, in the background and in pieces of bounded size, into an Arrow file that is mapped into memory, so that a look
costs the pages it touches.  An index is a cache: it can be made anew at any time, and where it is not there yet, or
would not pay, Spark scans the run.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.state.run import Run

_log = logging.getLogger("tailrace.state")

MOST_ROWS = 20_000_000
"""A larger run is not copied: Spark scans it."""

_PIECE_ROWS = 500_000
_READ_ROWS = 100_000
Hashes = npt.NDArray[np.int64]


class Index:
    """Rows in pieces, each sorted by its column `h`."""

    def __init__(self, pieces: Iterable[pa.RecordBatch]) -> None:
        self._pieces = [(piece.column("h").to_numpy(), piece) for piece in pieces]

    def find(self, hashes: Hashes, most: int) -> list[pa.RecordBatch] | None:
        """The rows under these hashes (sorted, each once); None if there are more than `most`."""
        found: list[pa.RecordBatch] = []
        for h, piece in self._pieces:
            first, last = np.searchsorted(h, hashes, "left"), np.searchsorted(h, hashes, "right")
            counts = last - first
            total = int(counts.sum())
            most -= total
            if most < 0:
                return None
            if total:
                starts = np.cumsum(counts) - counts
                places = np.arange(total) + np.repeat(first - starts, counts)
                found.append(piece.take(pa.array(places)))
        return found

    def between(self, after: int, until: int, most: int) -> list[pa.RecordBatch] | None:
        """The rows with after < h ≤ until; None if there are more than `most`."""
        found: list[pa.RecordBatch] = []
        for h, piece in self._pieces:
            first, last = (int(np.searchsorted(h, each, "right")) for each in (after, until))
            most -= last - first
            if most < 0:
                return None
            if last > first:
                found.append(piece.slice(first, last - first))
        return found

    def first_after(self, t: int) -> int | None:
        """The smallest h above `t`."""
        places = ((h, int(np.searchsorted(h, t, "right"))) for h, _ in self._pieces)
        return min((int(h[place]) for h, place in places if place < h.size), default=None)


class Lookups:
    """The indexes of one engine's runs, by the run's id.  For any thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._indexes: dict[int, Index] = {}
        self._coming: set[int] = set()
        self._lock = threading.Lock()
        self._worker: ThreadPoolExecutor | None = None

    def begin_anew(self) -> None:
        """Removes what an earlier process left.  For the one that owns the directory, before it looks anything up."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def of(self, run: Run, schema: pa.Schema) -> Index | None:
        """The run's index, or None if there is none yet: then it is being made, unless the run is too large."""
        with self._lock:
            found = self._indexes.get(run.id)
            if found is not None or run.id in self._coming:
                return found
            if run.table is None:
                if run.rows <= MOST_ROWS:
                    self._begin(run, schema)
                return None
        index = Index(_sorted(batch) for batch in _whole(run.table))
        with self._lock:
            self._indexes[run.id] = index
        return index

    def prepare(self, run: Run, schema: pa.Schema) -> None:
        """Makes the index of a run of files now, in this thread."""
        if run.table is None and run.rows <= MOST_ROWS:
            with self._lock:
                self._coming.add(run.id)
            self._make(run, schema)

    def forget(self, runs: Sequence[Run]) -> None:
        with self._lock:
            for run in runs:
                self._coming.discard(run.id)
                if self._indexes.pop(run.id, None) is not None and run.table is None:
                    self._file(run).unlink(missing_ok=True)

    def settle(self) -> None:
        """Returns when no index is being made any more."""
        with self._lock:
            worker = self._worker
        if worker is not None:
            worker.submit(lambda: None).result()

    def close(self) -> None:
        with self._lock:
            worker, self._worker = self._worker, None
            self._coming.clear()
            self._indexes.clear()
        if worker is not None:
            worker.shutdown(cancel_futures=True)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _begin(self, run: Run, schema: pa.Schema) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="lookup")
        self._coming.add(run.id)
        self._worker.submit(self._make, run, schema)

    def _make(self, run: Run, schema: pa.Schema) -> None:
        try:
            index = _mapped(run, self._file(run), schema)
        except (OSError, pa.ArrowException) as error:  # the run is gone, or not for Arrow: Spark reads it as before
            _log.info("no index run=%s reason=%s", run.id, error)
            self._file(run).unlink(missing_ok=True)  # it stays among those to come: nobody tries again
            return
        with self._lock:
            if run.id in self._coming:
                self._coming.discard(run.id)
                self._indexes[run.id] = index
                return
        self._file(run).unlink(missing_ok=True)  # nobody wants it any more

    def _file(self, run: Run) -> Path:
        return self._directory / f"{run.id}.arrow"


def _whole(table: pa.Table) -> Iterator[pa.RecordBatch]:
    combined = table.combine_chunks().to_batches()
    yield from combined


def _sorted(batch: pa.RecordBatch) -> pa.RecordBatch:
    h = batch.column("h").to_numpy()
    if h.size < 2 or bool(np.all(h[1:] >= h[:-1])):
        return batch
    return batch.take(pa.array(np.argsort(h, kind="stable")))


def _mapped(run: Run, file: Path, schema: pa.Schema) -> Index:
    """The rows of Parquet files, copied piece by piece."""
    assert run.path is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for rows in _pieces(run.path):
            whole = pa.Table.from_batches(rows).select(schema.names).cast(schema).combine_chunks()
            for piece in whole.to_batches():
                writer.write_batch(_sorted(piece))
    reader = pa.ipc.open_file(pa.memory_map(str(file)))
    return Index(reader.get_batch(i) for i in range(reader.num_record_batches))


def _pieces(path: Path) -> Iterator[list[pa.RecordBatch]]:
    """The rows of all files, so many at a time: a look costs something for each piece, however small it is."""
    piece: list[pa.RecordBatch] = []
    waiting = 0
    for part in sorted(path.glob("*.parquet")):
        for batch in pq.ParquetFile(part).iter_batches(_READ_ROWS):
            piece.append(batch)
            waiting += batch.num_rows
            if waiting >= _PIECE_ROWS:
                yield piece
                piece, waiting = [], 0
    if piece:
        yield piece
