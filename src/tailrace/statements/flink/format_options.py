"""The formats of Flink tables and their options.

In a table they are written after the format's name (`json.ignore-parse-errors`), behind `key.` or `value.` where the
format is given so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from tailrace.sql.options import Option, Options
from tailrace.statements.flink import kinds

T = TypeVar("T")

IGNORE_PARSE_ERRORS = Option(
    "ignore-parse-errors", kinds.BOOLEAN, default=False, doc="A broken field is NULL, a broken message a dead letter."
)
FAIL_ON_MISSING_FIELD = Option(
    "fail-on-missing-field", kinds.BOOLEAN, default=False, doc="A field that is missing is an error, not NULL."
)
TIMESTAMP_STANDARD = Option(
    "timestamp-format.standard",
    kinds.Choice("SQL", "ISO-8601"),
    default="SQL",
    doc="`2020-12-30 12:13:14.123`, or with a `T`.",
)
MAP_NULL_KEY_MODE = Option(
    "map-null-key.mode", kinds.Choice("FAIL", "DROP", "LITERAL"), default="FAIL", doc="Maps here never have NULL keys."
)
MAP_NULL_KEY_LITERAL = Option("map-null-key.literal", kinds.STRING, default="null", doc="With `LITERAL`.")
DECIMAL_AS_PLAIN = Option(
    "encode.decimal-as-plain-number", kinds.BOOLEAN, default=False, doc="0.000000027, and not 2.7E-8."
)
IGNORE_NULL_FIELDS = Option(
    "encode.ignore-null-fields", kinds.BOOLEAN, default=False, doc="A field that is NULL is left out."
)
JSON_PARSER = Option(
    "decode.json-parser.enabled", kinds.BOOLEAN, default=True, doc="Taken and of no effect: there is one parser."
)

FIELD_DELIMITER = Option("field-delimiter", kinds.CHARACTER, default=",", doc="Between fields.")
DISABLE_QUOTE = Option("disable-quote-character", kinds.BOOLEAN, default=False, doc="Fields are never in quotes.")
QUOTE = Option("quote-character", kinds.CHARACTER, default='"', doc="Around fields.")
ALLOW_COMMENTS = Option("allow-comments", kinds.BOOLEAN, default=False, doc="A line that begins with `#` is no row.")
ARRAY_DELIMITER = Option("array-element-delimiter", kinds.STRING, default=";", doc="Between elements.")
ESCAPE = Option("escape-character", kinds.CHARACTER, doc="Before a character that means itself.")
NULL_LITERAL = Option("null-literal", kinds.STRING, doc="What stands for NULL.")
SCIENTIFIC = Option("write-bigdecimal-in-scientific-notation", kinds.BOOLEAN, default=True, doc="1E+5, and not 100000.")

CHARSET = Option("charset", kinds.Choice("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16"), default="UTF-8", doc="Of text.")
ENDIANNESS = Option("endianness", kinds.Choice("big-endian", "little-endian"), default="big-endian", doc="Of numbers.")

SCHEMA_INCLUDE = Option("schema-include", kinds.BOOLEAN, default=False, doc="Messages have `schema` and `payload`.")
DATABASE_INCLUDE = Option("database.include", kinds.STRING, doc="Only databases whose whole name matches.")
TABLE_INCLUDE = Option("table.include", kinds.STRING, doc="Only tables whose whole name matches.")

AVRO_ENCODING = Option("encoding", kinds.Choice("binary"), default="binary", doc="Of messages.")
AVRO_LEGACY_TIMESTAMPS = Option(
    "timestamp_mapping.legacy",
    kinds.BOOLEAN,
    default=True,
    doc="TIMESTAMP(3) is timestamp-millis.  If not: local-timestamp-millis or -micros, TIMESTAMP_LTZ without local.",
)
REGISTRY_URL = Option("url", kinds.STRING, doc="The schema registry's address.  It is required.")
REGISTRY_SUBJECT = Option(
    "subject", kinds.STRING, doc="What to publish under; by default `{topic}-key` or `{topic}-value`."
)
BASIC_SOURCE = Option(
    "basic-auth.credentials-source", kinds.Choice("USER_INFO"), doc="Where name and password are: in `user-info`."
)
BASIC_USER_INFO = Option("basic-auth.user-info", kinds.STRING, doc="`name:password`, to log in to the registry.")
BEARER_SOURCE = Option(
    "bearer-auth.credentials-source", kinds.Choice("STATIC_TOKEN"), doc="Where the token is: in `token`."
)
BEARER_TOKEN = Option("bearer-auth.token", kinds.STRING, doc="To log in to the registry.")
KEY_STORE = Option("ssl.keystore.location", kinds.STRING, doc="A file with our own key and certificate.")
KEY_STORE_PASSWORD = Option("ssl.keystore.password", kinds.STRING, doc="Of that file.")
TRUST_STORE = Option("ssl.truststore.location", kinds.STRING, doc="A file with the certificates that are trusted.")
TRUST_STORE_PASSWORD = Option("ssl.truststore.password", kinds.STRING, doc="Of that file.")

_JSON_CHANGES: tuple[Option[Any], ...] = (
    *(IGNORE_PARSE_ERRORS, TIMESTAMP_STANDARD, MAP_NULL_KEY_MODE, MAP_NULL_KEY_LITERAL, DECIMAL_AS_PLAIN),
    *(IGNORE_NULL_FIELDS,),
)

_REGISTRY: tuple[Option[Any], ...] = (
    *(REGISTRY_URL, REGISTRY_SUBJECT, AVRO_LEGACY_TIMESTAMPS),
    *(BASIC_SOURCE, BASIC_USER_INFO, BEARER_SOURCE, BEARER_TOKEN),
    *(KEY_STORE, KEY_STORE_PASSWORD, TRUST_STORE, TRUST_STORE_PASSWORD),
)

FORMATS: dict[str, tuple[Option[Any], ...]] = {
    "json": (*_JSON_CHANGES, FAIL_ON_MISSING_FIELD, JSON_PARSER),
    "csv": (
        *(FIELD_DELIMITER, DISABLE_QUOTE, QUOTE, ALLOW_COMMENTS, IGNORE_PARSE_ERRORS, ARRAY_DELIMITER, ESCAPE),
        *(NULL_LITERAL, SCIENTIFIC),
    ),
    "raw": (CHARSET, ENDIANNESS),
    "avro": (AVRO_ENCODING, AVRO_LEGACY_TIMESTAMPS),
    "avro-confluent": _REGISTRY,
    "debezium-json": (*_JSON_CHANGES, SCHEMA_INCLUDE),
    "canal-json": (*_JSON_CHANGES, DATABASE_INCLUDE, TABLE_INCLUDE),
    "maxwell-json": _JSON_CHANGES,
    "debezium-avro-confluent": _REGISTRY,
}

NOT_YET = ("ogg-json", "protobuf")

CHANGELOG = ("debezium-json", "canal-json", "maxwell-json", "debezium-avro-confluent")
"""Formats that can say that a row has left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """A format with its options."""

    name: str
    options: Options = field(default_factory=Options)

    def get(self, option: Option[T]) -> T | None:
        return self.options.get(option)

    def value(self, option: Option[T]) -> T:
        return self.options.value(option)

    @property
    def has_registry(self) -> bool:
        return REGISTRY_URL in FORMATS[self.name]

    @property
    def is_changelog(self) -> bool:
        return self.name in CHANGELOG
