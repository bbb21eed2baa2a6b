"""What a program gets of a subscription: its changes one by one, under the query's own column names.

A subscription costs the engine something at every tick until it is closed.  `close` or the end of a `with` do that;
for whoever just stops listening, the end of the iterator's life does.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from types import TracebackType

from tailrace.engine.subscription import Change, Subscription

_LOOK_SECONDS = 0.2


class Changes:
    """An iterator that waits for the next change for as long as it takes.  It ends with the engine."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._names = [*(column.name for column in subscription.plan.schema), "weight"]
        # By a thread of its own: nobody knows in which one, and in the middle of what, an object's life ends.
        self._forgotten = weakref.finalize(self, lambda: threading.Thread(target=subscription.close).start())
        self._forgotten.atexit = False

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> Change:
        try:
            while self._forgotten.alive and not self._subscription.is_over:
                change = self._subscription.next(timeout=_LOOK_SECONDS)
                if change is not None:
                    return replace(change, rows=change.rows.rename_columns(self._names))
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    def close(self) -> None:
        """The engine forgets it.  A second time it does nothing."""
        if self._forgotten.detach() is not None:
            self._subscription.close()

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
