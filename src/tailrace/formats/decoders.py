"""The formats we read, by their SQL keyword."""

from __future__ import annotations

from tailrace.formats.decode_avro import AvroDecoder
from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_contract import Decoder
from tailrace.formats.decode_csv import CsvDecoder
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_regex import RegexDecoder
from tailrace.formats.decode_text import TextDecoder

DECODERS: tuple[type[Decoder], ...] = (BytesDecoder, TextDecoder, JsonDecoder, CsvDecoder, RegexDecoder, AvroDecoder)
