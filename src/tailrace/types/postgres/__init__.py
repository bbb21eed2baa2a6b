"""What PostgreSQL calls each SQL type, and how its clients read and write the values."""

from tailrace.types.postgres.binary import binary_form
from tailrace.types.postgres.oids import from_oid, length_of, modifier_of, oid_of
from tailrace.types.postgres.parameters import binary_parameter, text_parameter
from tailrace.types.postgres.text import text_form

__all__ = [
    "binary_form",
    "binary_parameter",
    "from_oid",
    "length_of",
    "modifier_of",
    "oid_of",
    "text_form",
    "text_parameter",
]
