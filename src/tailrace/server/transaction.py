"""Where a session stands: idle, in a transaction, or in a failed one, in which only its end is accepted.

The engine keeps the transaction itself; this follows it by the tags of the statements that succeed.
"""

from __future__ import annotations

import re

from tailrace.errors import SqlError

IDLE, OPEN, FAILED = b"I", b"T", b"E"

_SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)"
_END = re.compile(
    rf"{_SPACE}*(?:commit|rollback|end|abort)(?:{_SPACE}+(?:work|transaction))?"
    rf"(?:{_SPACE}+and{_SPACE}+no{_SPACE}+chain)?{_SPACE}*;?{_SPACE}*",
    re.IGNORECASE | re.DOTALL,
)
_BACK = re.compile(
    rf"{_SPACE}*rollback(?:{_SPACE}+(?:work|transaction))?{_SPACE}+to{_SPACE}.*", re.IGNORECASE | re.DOTALL
)


class FailedTransaction(SqlError):
    sqlstate = "25P02"

    def __init__(self) -> None:
        super().__init__("current transaction is aborted, commands ignored until end of transaction block")


class Transaction:
    def __init__(self) -> None:
        self.status = IDLE

    def admit(self, text: str) -> str:
        """The statement to run for this text: after a failure, whatever ends a transaction rolls it back."""
        if self.status != FAILED or _BACK.fullmatch(text):
            return text
        if _END.fullmatch(text) is None:
            raise FailedTransaction
        return "ROLLBACK"

    def succeeded(self, tag: str, text: str = "") -> None:
        """ROLLBACK TO a savepoint has the tag of a whole ROLLBACK, but the block goes on."""
        if tag == "ROLLBACK" and _BACK.fullmatch(text):
            self.status = OPEN
            return
        match tag:
            case "BEGIN" | "START TRANSACTION":
                self.status = OPEN
            case "COMMIT" | "ROLLBACK":
                self.status = IDLE

    def failed(self) -> None:
        if self.status == OPEN:
            self.status = FAILED
