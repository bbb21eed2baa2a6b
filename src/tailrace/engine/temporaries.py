"""What a session has made for itself: it is seen by that session alone, and goes with it.

It is in a schema of the session's own, so that two sessions can give the same name, also that of a table that everybody
sees.  Tables of Flink's are in the schema of all others, as jobs read them by name; they are hidden all the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from tailrace.catalog.catalog import Catalog

_numbers = itertools.count(1)
_PREFIX = "pg_temp_"


@dataclass(slots=True)
class Temporaries:
    """The ids of one session's, or of all sessions of one program, and the schema that they are in."""

    schema: str = field(default_factory=lambda: f"{_PREFIX}{next(_numbers)}")
    ids: set[str] = field(default_factory=set)
    _seen: tuple[Catalog, Catalog] | None = None  # the last one asked for, and what is seen of it

    def seen_in(self, catalog: Catalog, database: str, path: tuple[str, ...]) -> Catalog:
        """The catalog without those of others; `database` and `path` are where the session looks for names."""
        if self._seen is None or self._seen[0] is not catalog:
            hidden = [id for id, item in catalog.items.items() if item.is_temporary and id not in self.ids]
            mine = replace(catalog.without(hidden) if hidden else catalog, temporary=self.schema)
            self._seen = catalog, mine
        seen = self._seen[1]
        if (seen.database, seen.path) != (database, path):
            seen = replace(seen, database=database, path=path)
            self._seen = catalog, seen
        return seen


def number(schema: str) -> int | None:
    """Of the session whose schema this is."""
    return int(schema.removeprefix(_PREFIX)) if schema.startswith(_PREFIX) else None
