"""Roles: who may log in, and who may do everything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """`id` as in `mz_roles`: s1 … for our own, u1 … for the user's."""

    id: str
    name: str
    login: bool = True
    superuser: bool = False
    inherit: bool = True

    @property
    def oid(self) -> int:
        return (16_000 if self.id.startswith("s") else 2_000_000) + int(self.id[1:])


BUILT_IN = (
    Role(id="s1", name="mz_system", superuser=True),
    Role(id="u1", name="materialize", superuser=True),
)
