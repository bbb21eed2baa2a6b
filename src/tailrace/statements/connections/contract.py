"""What a type of connection is: the words that name it, its options, and what they must add up to.

A new type is one file with a `TYPE` and one line in registry.py.  `build` gets options that are known, typed
and given once, and checks what they mean together; a details object that exists is valid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tailrace.errors import InvalidOption, NotSupported
from tailrace.sql.options import Option, Options


class ConnectionDetails(Protocol):
    """Where and how to connect.  Each type adds its own typed fields."""

    @property
    def options(self) -> Options:
        """As given, in order: for SHOW CREATE and ALTER."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionType:
    name: str  # as written after TO, e.g. CONFLUENT SCHEMA REGISTRY
    options: tuple[Option[Any], ...] = field(repr=False)
    build: Callable[[Options], ConnectionDetails] = field(repr=False)
    unalterable: tuple[Option[Any], ...] = field(default=(), repr=False)
    validated: bool = True  # by CREATE CONNECTION, unless WITH (VALIDATE = false)

    def altered(self, details: ConnectionDetails, change: Options, reset: Options) -> ConnectionDetails:
        """The details after ALTER CONNECTION … SET (change), RESET (reset): all of it, or an error."""
        both = [given.option.name for given in change.given if reset.has(given.option)]
        if both:
            raise InvalidOption(f"cannot both SET and DROP/RESET options {', '.join(both)}")
        for given in (*change.given, *reset.given):
            if given.option in self.unalterable:
                message = f"cannot ALTER {self.name} option {given.option.name}"
                raise NotSupported(message, position=given.position)
        self.refuse_foreign(Options(change.given + reset.given))
        kept = details.options.without(given.option for given in reset.given)
        return self.build(kept.updated(change))

    def refuse_foreign(self, options: Options) -> None:
        """Options that only other types of connection have."""
        foreign = [given for given in options.given if given.option not in self.options]
        if foreign:
            names = ", ".join(given.option.name for given in foreign)
            message = f"{self.name} connections do not support {names} values"
            raise InvalidOption(message, position=foreign[0].position)
