"""The formats that sinks can write.  A new one is a file that keeps encode_contract.py, and a line here."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.formats.encode_bytes import BytesEncoder
from tailrace.formats.encode_contract import Encoder
from tailrace.formats.encode_json import JsonEncoder
from tailrace.formats.encode_text import TextEncoder

ENCODERS: tuple[Encoder, ...] = (JsonEncoder(), TextEncoder(), BytesEncoder())


def encoder(name: str) -> Encoder:
    """The encoder of a FORMAT that takes no options, by its lower-case name."""
    for each in ENCODERS:
        if each.name == name:
            return each
    raise NotSupported(f"{name.upper()} format in sinks not yet supported")
