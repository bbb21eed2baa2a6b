"""The start of a session: what the client asks for, which protocol we agree on, which settings it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailrace.errors import NotSupported, SqlError
from tailrace.server.messages import NegotiateProtocolVersion, StartupMessage
from tailrace.statements.contract import Notice, Session

_OLDEST, _NEWEST = 3 << 16, 3 << 16 | 2
_OPTION_PREFIX = "_pq_."
_NOT_SETTINGS = frozenset({"user", "database", "options", "replication"})


class BadStartup(SqlError):
    """A start-up packet that cannot become a session."""

    sqlstate = "28000"


@dataclass(frozen=True, kw_only=True, slots=True)
class StartupInfo:
    """Who asks for a session, on what, and from where.  `settings` are variables; unknown ones are let be."""

    user: str
    database: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    encrypted: bool = False
    version: int = _OLDEST

    @property
    def application_name(self) -> str:
        return self.settings.get("application_name", "")

    @property
    def takes_long_secrets(self) -> bool:
        return self.version >= _NEWEST


def read_startup(message: StartupMessage, *, address: str, encrypted: bool) -> StartupInfo:
    """Raises BadStartup or NotSupported; either ends the connection."""
    major, minor = message.version >> 16, message.version & 0xFFFF
    if major != 3:
        raise NotSupported(f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2")
    given = dict(message.settings)
    if not given.get("user"):
        raise BadStartup("no PostgreSQL user name specified in startup packet")
    if given.get("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise NotSupported("replication connections not yet supported")
    settings = {name: value for name, value in given.items() if not _is_special(name)}
    return StartupInfo(
        user=given["user"],
        database=given.get("database") or None,
        settings=parse_options(given.get("options", "")) | settings,
        address=address,
        encrypted=encrypted,
        version=_agreed(message.version),
    )


def _is_special(name: str) -> bool:
    return name in _NOT_SETTINGS or name.startswith(_OPTION_PREFIX)


def _agreed(asked: int) -> int:
    """3.1 was never released; whoever asks for it gets 3.0."""
    return _NEWEST if asked >= _NEWEST else _OLDEST


def negotiation(message: StartupMessage) -> NegotiateProtocolVersion | None:
    """What to say to a client that asks for more than we know; None if we can do all of it."""
    unknown = tuple(name for name, _ in message.settings if name.startswith(_OPTION_PREFIX))
    version = _agreed(message.version)
    return NegotiateProtocolVersion(version, unknown) if unknown or version != message.version else None


def parse_options(options: str) -> dict[str, str]:
    """`-c name=value`, `-cname=value`, `--name=value`; a backslash keeps the next character, even a space."""
    words = iter(_words(options))
    settings = {}
    for word in words:
        text = next(words, "") if word == "-c" else word.removeprefix("-c")
        name, _, value = text.removeprefix("--").partition("=")
        if name and not name.startswith("-"):
            settings[name.replace("-", "_")] = value
    return settings


def _words(options: str) -> list[str]:
    words, word, characters = [], "", iter(options)
    for character in characters:
        if character == "\\":
            word += next(characters, "")
        elif not character.isspace():
            word += character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


def apply_settings(engine: Session, settings: Mapping[str, str]) -> list[Notice]:
    """Sets the variables that the client brought along.

    Drivers send settings of PostgreSQL that we do not have, and some that cannot have another value
    (`TimeZone`): the first pass in silence, the second in a notice, and neither keeps the client out.
    """
    notices = []
    for name, value in settings.items():
        try:
            engine.set_variable(name, value)
        except SqlError as error:
            if error.sqlstate != "42704":
                notices.append(Notice(f"startup setting {name} not set: {error.message}"))
    return notices
