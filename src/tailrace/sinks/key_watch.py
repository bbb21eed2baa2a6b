"""KEY … NOT ENFORCED, looked after: a key that is told twice in one tick has more than one row.

An upsert sink has one message for each key and tick, the new row or a tombstone, if its key is one.  So this is seen in
the messages themselves, without any state: not at every broken key, but at every one that a tick breaks or mends in
one go, as a snapshot does.  Readers of the topic cannot know which of the rows came last.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


class KeyWatch:
    """Sees the messages of one transaction, and holds their keys until its end."""

    def __init__(self) -> None:
        self._keys: list[pa.Array] = []
        self._repeated: bytes | None = None

    def see(self, messages: pa.RecordBatch) -> None:
        several = messages.filter(pc.greater(messages["copies"], 1))
        if several.num_rows:
            self._repeated = several["key"][0].as_py()
        self._keys.append(messages["key"])

    def broken_key(self) -> str | None:
        """One that was told more than once."""
        if self._repeated is None and self._keys:
            counted = pa.chunked_array(self._keys).value_counts()
            several = counted.filter(pc.greater(counted.field("counts"), 1))
            self._repeated = several.field("values")[0].as_py() if len(several) else None
        return None if self._repeated is None else _shown(self._repeated)


def _shown(key: bytes) -> str:
    """As text, if it is one."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return rf"\x{key.hex()}"
    return text if text.isprintable() else rf"\x{key.hex()}"
