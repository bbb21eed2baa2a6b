"""Who was granted what on an object, as `pg_class.relacl` and its like say it: `clerk=ar/materialize`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.roles import PRIVILEGES, PUBLIC

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_LETTERS = {"INSERT": "a", "SELECT": "r", "UPDATE": "w", "DELETE": "d", "USAGE": "U", "CREATE": "C"}


def acl(session: EngineSession, on: str, kind: str) -> list[str] | None:
    """None if nothing was granted to anybody: the owner may do everything without a word."""
    store = session.engine.role_store
    granted: dict[str, set[str]] = {}
    for grant in store.grants():
        if grant.on == on:
            granted.setdefault(grant.role, set()).add(grant.privilege)
    if not granted:
        return None
    names = {role.id: role.name for role in store.all()} | {PUBLIC: ""}
    owner = store.owner(on)
    granted[owner] = set(PRIVILEGES.get(kind, ()))
    order = sorted(granted, key=lambda role: (role != owner, role == PUBLIC, names.get(role, role)))
    return [f"{names.get(role, role)}={_letters(granted[role])}/{names.get(owner, owner)}" for role in order]


def _letters(privileges: set[str]) -> str:
    return "".join(letter for privilege, letter in _LETTERS.items() if privilege in privileges)
