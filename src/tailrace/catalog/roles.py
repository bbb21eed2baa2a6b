"""Roles: who may log in, who may do everything, and what the others were granted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tailrace.catalog.database import Database
from tailrace.errors import DuplicateObject, SqlError, UnknownObject
from tailrace.verifier import Verifier

PUBLIC = "public"
"""Everybody, as the receiver of a grant."""

SCHEMA, CLUSTER, DATABASE, SYSTEM = "schema", "cluster", "database", "system"
"""What privileges can be on, beside items: these stand for the only one of their kind."""

PRIVILEGES = {
    "table": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "view": ("SELECT",),
    "materialized view": ("SELECT",),
    "source": ("SELECT",),
    "connection": ("USAGE",),
    "secret": ("USAGE",),
    "type": ("USAGE",),
    SCHEMA: ("USAGE", "CREATE"),
    DATABASE: ("USAGE", "CREATE"),
    CLUSTER: ("USAGE", "CREATE"),
    SYSTEM: ("CREATEROLE", "CREATEDB", "CREATECLUSTER"),
}
"""What can be granted on what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """`id` as in `mz_roles`: s1 … for our own, u1 … for the user's.  Without a verifier it has no password."""

    id: str
    name: str
    login: bool = False
    superuser: bool = False
    inherit: bool = True
    verifier: Verifier | None = None

    @property
    def oid(self) -> int:
        return (16_000 if self.id.startswith("s") else 2_000_000) + int(self.id[1:])


@dataclass(frozen=True, slots=True)
class Grant:
    """`on` is an item's id, or one of SCHEMA, CLUSTER, DATABASE, SYSTEM."""

    role: str
    privilege: str
    on: str


_BUILT_IN = (
    Role(id="s1", name="mz_system", login=True, superuser=True),
    Role(id="u1", name="materialize", login=True, superuser=True),
)
_WORDS = (PUBLIC, "none", "current_user", "current_role", "session_user")
_EVERYBODY = frozenset(Grant(PUBLIC, "USAGE", on) for on in (SCHEMA, CLUSTER, DATABASE))


class Roles:
    """All roles, who belongs to whom, grants and owners: in memory, and in the database before a change returns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction() as sql:
            for role in _BUILT_IN:
                row = (role.id, role.name, role.login, role.superuser, role.inherit, None)
                sql.execute("INSERT OR IGNORE INTO roles VALUES (?, ?, ?, ?, ?, ?)", row)
            stored = sql.execute("SELECT id, name, login, superuser, inherit, verifier FROM roles").fetchall()
            self._grants = {Grant(*row) for row in sql.execute("SELECT role, privilege, object FROM grants")}
            self._members = set(sql.execute("SELECT role, member FROM role_members").fetchall())
            self._settings = {(role, name): value for role, name, value in sql.execute("SELECT * FROM role_settings")}
            self._owners = dict(sql.execute("SELECT id, role FROM owners").fetchall())
        self._by_name = {role.name: role for role in map(_restored, stored)}

    def all(self) -> tuple[Role, ...]:
        return tuple(sorted(self._by_name.values(), key=lambda role: role.oid))

    def find(self, name: str) -> Role | None:
        return self._by_name.get(name)

    def get(self, name: str) -> Role:
        found = self._by_name.get(name)
        if found is None:
            raise UnknownObject(f'role "{name}" does not exist', sqlstate="42704")
        return found

    # ── changes ──

    def create(self, role: Role) -> None:
        if role.name in _WORDS or re.match("(mz|pg)_", role.name):
            raise SqlError(f'role name "{role.name}" is reserved', sqlstate="42939")
        if role.name in self._by_name:
            raise DuplicateObject(f'role "{role.name}" already exists')
        with self._database.transaction() as sql:
            last = max(int(each.id[1:]) for each in self._by_name.values() if each.id.startswith("u"))
            made = replace(role, id=f"u{last + 1}")
            verifier = None if made.verifier is None else str(made.verifier)
            row = (made.id, made.name, made.login, made.superuser, made.inherit, verifier)
            sql.execute("INSERT INTO roles VALUES (?, ?, ?, ?, ?, ?)", row)
        self._by_name[made.name] = made

    def alter(self, role: Role) -> None:
        known = next((each for each in _BUILT_IN if each.id == role.id), role)
        if (role.login, role.superuser) != (known.login, known.superuser):
            raise SqlError(f'role "{role.name}" is reserved: only its password can be changed', sqlstate="42939")
        with self._database.transaction() as sql:
            verifier = None if role.verifier is None else str(role.verifier)
            sql.execute(
                "UPDATE roles SET login = ?, superuser = ?, inherit = ?, verifier = ? WHERE id = ?",
                (role.login, role.superuser, role.inherit, verifier, role.id),
            )
        self._by_name[role.name] = role

    def drop(self, role: Role, living: Iterable[str]) -> None:
        """Raises if it owns one of the living items."""
        owned = [id for id in living if self.owner(id) == role.id]
        if role.name in (each.name for each in _BUILT_IN) or owned:
            reason = f"It owns {len(owned)} objects." if owned else "It is always there."
            raise SqlError(f'role "{role.name}" cannot be dropped', detail=reason, sqlstate="2BP01")
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM roles WHERE id = ?", (role.id,))
            sql.execute("DELETE FROM grants WHERE role = ?", (role.id,))
            sql.execute("DELETE FROM role_settings WHERE role = ?", (role.id,))
            sql.execute("DELETE FROM role_members WHERE role = ? OR member = ?", (role.id, role.id))
        self._grants = {grant for grant in self._grants if grant.role != role.id}
        self._members = {pair for pair in self._members if role.id not in pair}
        self._settings = {key: value for key, value in self._settings.items() if key[0] != role.id}
        del self._by_name[role.name]

    def settings(self, role: Role) -> dict[str, str]:
        """Variables and the values that they have when the role logs in."""
        return {name: value for (id, name), value in sorted(self._settings.items()) if id == role.id}

    def change_settings(self, role: Role, settings: Mapping[str, str]) -> None:
        """These instead of those it had."""
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM role_settings WHERE role = ?", (role.id,))
            rows = [(role.id, name, value) for name, value in settings.items()]
            sql.executemany("INSERT INTO role_settings VALUES (?, ?, ?)", rows)
        others = {key: value for key, value in self._settings.items() if key[0] != role.id}
        self._settings = others | {(role.id, name): value for name, value in settings.items()}

    def grant(self, grants: Iterable[Grant]) -> None:
        new = set(grants)
        with self._database.transaction() as sql:
            rows = [(grant.role, grant.privilege, grant.on) for grant in new]
            sql.executemany("INSERT OR IGNORE INTO grants VALUES (?, ?, ?)", rows)
        self._grants |= new

    def revoke(self, grants: Iterable[Grant]) -> None:
        gone = set(grants)
        with self._database.transaction() as sql:
            rows = [(grant.role, grant.privilege, grant.on) for grant in gone]
            sql.executemany("DELETE FROM grants WHERE role = ? AND privilege = ? AND object = ?", rows)
        self._grants -= gone

    def join(self, role: Role, member: Role, *, belongs: bool) -> None:
        if belongs and role.id in self._with_groups(member.id) | {member.id} and role.id != member.id:
            return
        if belongs and (role.id == member.id or member.id in self._with_groups(role.id)):
            raise SqlError(f'role "{role.name}" is a member of role "{member.name}"', sqlstate="0LP01")
        statement = "INSERT OR IGNORE INTO role_members VALUES (?, ?)"
        if not belongs:
            statement = "DELETE FROM role_members WHERE role = ? AND member = ?"
        with self._database.transaction() as sql:
            sql.execute(statement, (role.id, member.id))
        self._members = self._members | {(role.id, member.id)} if belongs else self._members - {(role.id, member.id)}

    def own(self, id: str, role: Role) -> None:
        with self._database.transaction() as sql:
            sql.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)", (id, role.id))
        self._owners[id] = role.id

    # ── questions ──

    def members(self) -> list[tuple[str, str]]:
        """(group, member)"""
        return sorted(self._members)

    def grants(self) -> list[Grant]:
        return sorted(self._grants | _EVERYBODY, key=lambda grant: (grant.on, grant.role, grant.privilege))

    def owner(self, id: str) -> str:
        """The role's id; what nobody else made is the default role's."""
        return str(self._owners.get(id, "u1"))

    def owns(self, role: Role, id: str) -> bool:
        return role.superuser or self.owner(id) in self._inherited(role.id)

    def has_rights_of(self, role: Role, other: Role) -> bool:
        """Without SET ROLE."""
        return role.superuser or other.id in self._inherited(role.id)

    def may_become(self, role: Role, other: Role) -> bool:
        """By SET ROLE."""
        return role.superuser or other.id in self._with_groups(role.id)

    def may(self, role: Role, privilege: str, on: str) -> bool:
        if role.superuser or self.owns(role, on):
            return True
        holders = {PUBLIC, *self._inherited(role.id)}
        return any(
            grant.on == on and grant.privilege == privilege and grant.role in holders
            for grant in self._grants | _EVERYBODY
        )

    def _inherited(self, id: str) -> set[str]:
        """The role, and the groups whose rights it has as if they were its own: a role with NOINHERIT has none of
        its groups' until it says SET ROLE, nor have its own members by way of it."""
        passing = {role.id for role in self._by_name.values() if role.inherit}
        found = {id}
        while more := {group for group, member in self._members if member in found & passing} - found:
            found |= more
        return found

    def _with_groups(self, id: str) -> set[str]:
        found = {id}
        while more := {group for group, member in self._members if member in found} - found:
            found |= more
        return found


def _restored(row: tuple[str, str, int, int, int, str | None]) -> Role:
    id, name, login, superuser, inherit, verifier = row
    return Role(
        id=id,
        name=name,
        login=bool(login),
        superuser=bool(superuser),
        inherit=bool(inherit),
        verifier=None if verifier is None else Verifier.parse(verifier),
    )
