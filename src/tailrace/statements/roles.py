"""CREATE ROLE | USER name [WITH] attribute…, ALTER ROLE name [WITH] attribute…: LOGIN, SUPERUSER, PASSWORD 's', …

ALTER ROLE name SET variable {= | TO} value,… | DEFAULT, RESET variable | ALL: what its sessions begin with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tailrace.catalog.roles import Role
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_over, require_superuser
from tailrace.engine.variables import checked, joined, known
from tailrace.errors import NotSupported
from tailrace.secret import Secret
from tailrace.sql.names import ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import values, variable
from tailrace.verifier import Verifier

STARTS = (("CREATE", "ROLE"), ("CREATE", "USER"), ("ALTER", "ROLE"), ("ALTER", "USER"))

_FLAGS = {
    "LOGIN": ("login", True), "NOLOGIN": ("login", False),
    "SUPERUSER": ("superuser", True), "NOSUPERUSER": ("superuser", False),
    "INHERIT": ("inherit", True), "NOINHERIT": ("inherit", False),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Attributes:
    """`password` is None if none was given, and a Secret of the empty text for PASSWORD NULL."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    password: Secret | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateRole:
    name: str
    attributes: Attributes
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterRole:
    name: str
    attributes: Attributes


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterRoleSettings:
    """`values` is None for RESET and DEFAULT; `variable` is None for all."""

    name: str
    variable: str | None
    values: tuple[str, ...] | None = None
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> CreateRole | AlterRole | AlterRoleSettings | Common:
    p.discreet = True
    verb = p.keyword("CREATE", "ALTER")
    is_user = p.keyword("ROLE", "USER") == "USER"
    if verb == "CREATE":
        if_not_exists = p.if_not_exists()
        name = p.identifier("role name")
        given = _attributes(p)
        if is_user:
            given = replace(given, flags={"login": True, **given.flags})
        return CreateRole(name=name, attributes=given, if_not_exists=if_not_exists)
    target = alter_object.target(p, ObjectKind.ROLE)
    if p.accept("RESET"):
        return AlterRoleSettings(name=target.name.item, variable=None if p.accept("ALL") else variable(p))
    if p.accept("SET"):
        position, name = p.position, variable(p)
        if not p.accept("=") and not p.accept("TO"):
            raise p.expected('"=" or TO')
        return AlterRoleSettings(name=target.name.item, variable=name, values=values(p), position=position)
    change = alter_object.common(p, target)
    return change or AlterRole(name=target.name.item, attributes=_attributes(p, required=True))


def _attributes(p: Parser, *, required: bool = False) -> Attributes:
    p.accept("WITH")
    flags: dict[str, bool] = {}
    password: Secret | None = None
    while not p.at_end() or required:
        required = False
        p.accept("ENCRYPTED")
        if p.accept("PASSWORD"):
            password = Secret("") if p.accept("NULL") else Secret(p.string())
            continue
        name, value = _FLAGS[p.keyword(*_FLAGS)]
        flags[name] = value
    return Attributes(flags=flags, password=password)


def _settings(statement: AlterRoleSettings, session: Session) -> Result:
    """For sessions to come: those that are open keep what they have."""
    if statement.name != session.user:
        require_over(session, statement.name, "alter role")
    roles = session.engine.role_store
    role = roles.get(statement.name)
    settings = roles.settings(role)
    if statement.variable is None:
        settings = {}
    elif statement.values is None:
        settings.pop(known(statement.variable), None)
    elif statement.variable == "role":
        raise NotSupported("ALTER ROLE ... SET role not supported", position=statement.position)
    else:
        name, value = checked(statement.variable, joined(statement.variable, statement.values))
        settings[name] = value
    roles.change_settings(role, settings)
    return Result(tag="ALTER ROLE")


def execute(statement: CreateRole | AlterRole | AlterRoleSettings, session: Session, arguments: Arguments) -> Result:
    if isinstance(statement, AlterRoleSettings):
        return _settings(statement, session)
    what = "create role" if isinstance(statement, CreateRole) else "alter role"
    flags = statement.attributes.flags
    is_own_password = isinstance(statement, AlterRole) and statement.name == session.user and not flags
    if "superuser" in flags:
        require_superuser(session, what)
    elif not is_own_password:
        require_over(session, statement.name, what)
    roles = session.engine.role_store
    if isinstance(statement, CreateRole):
        if statement.if_not_exists and roles.find(statement.name) is not None:
            session.notice(f'role "{statement.name}" already exists, skipping', sqlstate="42710")
        else:
            roles.create(_with(Role(id="", name=statement.name), statement.attributes))
        return Result(tag="CREATE ROLE")
    roles.alter(_with(roles.get(statement.name), statement.attributes))
    return Result(tag="ALTER ROLE")


def _with(role: Role, attributes: Attributes) -> Role:
    flags = attributes.flags
    verifier = role.verifier
    if attributes.password is not None:
        password = attributes.password.reveal()
        verifier = Verifier.of(password) if password else None
    return replace(
        role,
        login=flags.get("login", role.login),
        superuser=flags.get("superuser", role.superuser),
        inherit=flags.get("inherit", role.inherit),
        verifier=verifier,
    )
