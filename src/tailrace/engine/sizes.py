"""What counts as small: changes up to here are handled by the driver alone, larger ones by Spark's executors; and how
large a Kafka transaction gets.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.sinks.kafka_definition import Limits
from tailrace.state.store import SMALL_ROWS

_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Changes of up to `small_rows` stay on the driver; a larger one goes to Kafka in parts of about `slot_rows`.

    `transaction_seconds`: what each part may take; no broker takes more than its `transaction.max.timeout.ms`.
    """

    small_rows: int = SMALL_ROWS
    slot_rows: int = _LIMITS.slot_rows
    transaction_seconds: float = _LIMITS.transaction_seconds

    @property
    def of_kafka_sinks(self) -> Limits:
        return Limits(
            small_rows=self.small_rows, slot_rows=self.slot_rows, transaction_seconds=self.transaction_seconds
        )
