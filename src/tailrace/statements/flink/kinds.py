"""What a Flink table's options may be.  Every value is written as a string; here it becomes typed.

Durations are Flink's: `5 min`, `10 s`; a number alone counts milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from tailrace.sql.durations import Duration, parse_duration
from tailrace.sql.kinds import Kind, Unusable
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer

T = TypeVar("T")
_OFFSET = re.compile(r"\s*partition\s*:\s*(\d{1,9})\s*,\s*offset\s*:\s*(\d{1,18})\s*")


class FromText(Kind[T], Generic[T]):
    """A value in quotes.  `read` raises ValueError, whose text says what would have been right."""

    shown = "String"

    def read(self, text: str) -> T:
        raise NotImplementedError

    def write(self, value: T) -> str:
        return str(value)

    def parse(self, p: Parser) -> T:
        text = p.string("option value in quotes")
        try:
            return self.read(text)
        except ValueError as error:
            raise Unusable(f"Could not parse value '{text}'. {error}") from None

    def show(self, value: T, printer: Printer) -> str:
        return printer.text(self.write(value))


class String(FromText[str]):
    def read(self, text: str) -> str:
        return text


class Names(FromText[tuple[str, ...]]):
    """`a;b`"""

    shown = "List<String>"

    def read(self, text: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in text.split(";") if name.strip())
        if not names:
            raise ValueError("Expected names separated by ';'.")
        return names

    def write(self, value: tuple[str, ...]) -> str:
        return ";".join(value)


class Boolean(FromText[bool]):
    shown = "Boolean"

    def read(self, text: str) -> bool:
        if text.strip().lower() not in ("true", "false"):
            raise ValueError("Expected true or false.")
        return text.strip().lower() == "true"

    def write(self, value: bool) -> str:
        return str(value).lower()


class Whole(FromText[int]):
    """An integer from `least` on."""

    def __init__(self, shown: str, least: int) -> None:
        self.shown = shown
        self._least = least

    def read(self, text: str) -> int:
        value = int(text) if re.fullmatch(r"\s*[-+]?\d{1,18}\s*", text) else None
        if value is None or value < self._least:
            raise ValueError(f"Expected an integer of at least {self._least}.")
        return value


class Choice(FromText[str]):
    """One of some words, in any case; the value is as listed here."""

    shown = "Enum"

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def read(self, text: str) -> str:
        for choice in self.choices:
            if choice.lower() == text.strip().lower():
                return choice
        raise ValueError(f"Expected one of: [{', '.join(self.choices)}]")


class Length(FromText[Duration]):
    shown = "Duration"

    def read(self, text: str) -> Duration:
        if re.fullmatch(r"\s*\d{1,15}\s*", text):
            return Duration(text, timedelta(milliseconds=int(text)))
        duration = parse_duration(text)
        if duration is None:
            raise ValueError("Expected a duration like '5 min'.")
        return duration

    def write(self, value: Duration) -> str:
        return value.text


class Character(FromText[str]):
    """One character; `\\t` and the like are understood."""

    def read(self, text: str) -> str:
        character = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}.get(text, text)
        if len(character) != 1:
            raise ValueError("Expected a single character.")
        return character

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """Offsets by partition."""

    by_partition: tuple[tuple[int, int], ...]


class Offsets(FromText[PartitionOffsets]):
    """`partition:0,offset:42;partition:1,offset:300`"""

    def read(self, text: str) -> PartitionOffsets:
        pairs: dict[int, int] = {}
        for part in text.strip().removesuffix(";").split(";"):
            found = _OFFSET.fullmatch(part)
            if found is None or int(found[1]) in pairs:
                raise ValueError("It should follow the format 'partition:0,offset:42;partition:1,offset:300'.")
            pairs[int(found[1])] = int(found[2])
        return PartitionOffsets(tuple(sorted(pairs.items())))

    def write(self, value: PartitionOffsets) -> str:
        return ";".join(f"partition:{partition},offset:{offset}" for partition, offset in value.by_partition)


STRING = String()
NAMES = Names()
BOOLEAN = Boolean()
LONG = Whole("Long", 0)
PARALLELISM = Whole("Integer", 1)
ROWS = Whole("Integer", 0)
DURATION = Length()
CHARACTER = Character()
OFFSETS = Offsets()
