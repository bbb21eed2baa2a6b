"""`properties.*` of a Flink table as a Kafka connection, and the options of its formats as one to a schema registry.

Java's clients take key stores and a login module; librdkafka takes PEM and a name with a password.  A key store is read
by the JVM that Spark runs in, when the connection is first needed, so CREATE TABLE does not look at files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from tailrace.errors import InvalidOption, NotSupported
from tailrace.formats.registry import RegistryConnection
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.java_properties import JAVA_ONLY, SHARED
from tailrace.secret import Secret
from tailrace.statements.flink.format_options import BASIC_USER_INFO, BEARER_TOKEN, REGISTRY_URL, Format
from tailrace.statements.flink.options import PROPERTIES
from tailrace.statements.flink.with_options import MASK

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.statements.create_flink_table import CreateFlinkTable

NOWHERE = KafkaConnection(id="", name="", brokers=(), security_protocol="PLAINTEXT", progress_topic="")
"""For definitions that only say what a table looks like."""

_NO_REGISTRY = RegistryConnection(name="", url="")
_LOGIN = re.compile(r"""(username|password)\s*=\s*\\?(["'])((?:\\.|(?!\2).)*?)\\?\2""")
_PASSWORD_LOGINS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def connection(engine: Engine, statement: CreateFlinkTable, id: str) -> KafkaConnection:
    """How to reach the table's brokers.  May read key stores."""
    properties = properties_of(engine, statement, id)
    brokers = tuple(each.strip() for each in properties["bootstrap.servers"].split(",") if each.strip())
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    mechanism = properties.get("sasl.mechanism", "GSSAPI") if protocol.startswith("SASL") else None
    username, password = _login(properties, mechanism)
    key, certificate = _key_store(engine, properties) if protocol.endswith("SSL") else (None, None)
    name = hashlib.sha256(",".join(sorted(brokers)).encode()).hexdigest()[:8]
    return KafkaConnection(
        id=name,
        name="kafka",
        brokers=brokers,
        security_protocol=protocol,
        sasl_mechanism=mechanism,
        sasl_username=username,
        sasl_password=password,
        ssl_key=key,
        ssl_certificate=certificate,
        ssl_certificate_authority=_trust_store(engine, properties) if protocol.endswith("SSL") else None,
        progress_topic=f"_materialize-progress-{engine.region}-{name}",
        properties=tuple(sorted((n, v) for n, v in properties.items() if n in SHARED | JAVA_ONLY)),
    )


def properties_of(engine: Engine, statement: CreateFlinkTable, id: str) -> dict[str, str]:
    """The client properties, with the values that are not shown."""
    return _revealed(engine, statement, id, PROPERTIES)


def _revealed(engine: Engine, statement: CreateFlinkTable, id: str, prefix: str) -> dict[str, Any]:
    """The options whose names begin so, with the values that are not shown."""
    options = statement.options.behind(prefix)
    if MASK not in options.values():
        return options
    hidden: Mapping[str, str] = json.loads(engine.storage.secret(id).reveal())
    return {n: hidden.get(f"{prefix}{n}", v) if v == MASK else v for n, v in options.items()}


class Registries:
    """The schema registries that a table's formats name.  `id`: of the table, or None if nobody is to log in."""

    def __init__(self, engine: Engine, statement: CreateFlinkTable, id: str | None) -> None:
        self._engine, self._statement, self._id = engine, statement, id

    def of_key(self) -> RegistryConnection:
        return self._of(self._statement.settings.key_format, "key.")

    def of_value(self) -> RegistryConnection:
        return self._of(self._statement.settings.value_format, self._statement.options.value_prefix)

    def _of(self, format: Format | None, prefix: str) -> RegistryConnection:
        """May read key stores."""
        assert format is not None
        if not format.has_registry:
            return _NO_REGISTRY
        url = format.get(REGISTRY_URL)
        assert url is not None  # or the table would not exist
        if self._id is None:
            return RegistryConnection(name=url, url=url)
        given = _revealed(self._engine, self._statement, self._id, f"{prefix}{format.name}.")
        name, _, password = given.get(BASIC_USER_INFO.name, "").partition(":")
        token = given.get(BEARER_TOKEN.name)
        key, certificate = _key_store(self._engine, given)
        return RegistryConnection(
            name=url,
            url=url,
            username=Secret(name) if name else None,
            password=Secret(password) if name else None,
            token=None if token is None else Secret(token),
            ssl_key=key,
            ssl_certificate=certificate,
            ssl_certificate_authority=_trust_store(self._engine, given),
        )


def _login(properties: Mapping[str, str], mechanism: str | None) -> tuple[Secret | None, Secret | None]:
    if mechanism is None:
        return None, None
    if mechanism not in _PASSWORD_LOGINS:
        raise NotSupported(
            f"sasl.mechanism '{mechanism}' not yet supported", hint=f"Use one of {', '.join(_PASSWORD_LOGINS)}."
        )
    found = {name: _unescaped(value) for name, _, value in _LOGIN.findall(properties.get("sasl.jaas.config", ""))}
    for name in ("username", "password"):
        if name not in found:
            raise InvalidOption(f"'properties.sasl.jaas.config' has no {name}")
    return Secret(found["username"]), Secret(found["password"])


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _trust_store(engine: Engine, properties: Mapping[str, str]) -> Secret | None:
    if "ssl.truststore.certificates" in properties:
        return Secret(properties["ssl.truststore.certificates"])
    if "ssl.truststore.location" not in properties:
        return None
    if _is_pem(properties, "truststore"):
        return Secret(_file(properties["ssl.truststore.location"]))
    store = _store(engine, properties, "truststore")
    found = [each for alias in _aliases(store) if (each := store.getCertificate(alias)) is not None]
    return Secret("".join(_pem("CERTIFICATE", _encoded(engine, "cert.Certificate", each)) for each in found))


def _key_store(engine: Engine, properties: Mapping[str, str]) -> tuple[Secret | None, Secret | None]:
    """The private key and its certificates."""
    if "ssl.keystore.key" in properties:
        return Secret(properties["ssl.keystore.key"]), Secret(properties.get("ssl.keystore.certificate.chain", ""))
    if "ssl.keystore.location" not in properties:
        return None, None
    if _is_pem(properties, "keystore"):
        text = Secret(_file(properties["ssl.keystore.location"]))
        return text, text
    store = _store(engine, properties, "keystore")
    password = properties.get("ssl.key.password", properties.get("ssl.keystore.password", ""))
    for alias in _aliases(store):
        if store.isKeyEntry(alias):
            key = store.getKey(alias, _characters(engine, password))
            every = (_encoded(engine, "cert.Certificate", each) for each in store.getCertificateChain(alias))
            chain = "".join(_pem("CERTIFICATE", each) for each in every)
            return Secret(_pem("PRIVATE KEY", _encoded(engine, "Key", key))), Secret(chain)
    raise InvalidOption(f"'{properties['ssl.keystore.location']}' holds no private key")


def _is_pem(properties: Mapping[str, str], which: str) -> bool:
    return properties.get(f"ssl.{which}.type", "").upper() == "PEM"


def _store(engine: Engine, properties: Mapping[str, str], which: str) -> Any:
    """A key store, opened by the JVM."""
    jvm: Any = engine.spark.sparkContext._jvm
    location, password = properties[f"ssl.{which}.location"], properties.get(f"ssl.{which}.password", "")
    store = jvm.java.security.KeyStore.getInstance(properties.get(f"ssl.{which}.type", "JKS"))
    try:
        stream = jvm.java.io.FileInputStream(location)
        try:
            store.load(stream, _characters(engine, password))
        finally:
            stream.close()
    except Py4JError as error:
        cause = str(getattr(error, "java_exception", error)).splitlines()[0]
        raise InvalidOption(f"cannot open 'ssl.{which}.location' = '{location}'", detail=cause) from None
    return store


def _characters(engine: Engine, text: str) -> Any:
    """A `char[]` of Java's.  A String of Java's would be one of Python's again before it could be asked for its own."""
    gateway: Any = engine.spark.sparkContext._gateway
    units = text.encode("utf-16-be")
    found = gateway.new_array(gateway.jvm.char, len(units) // 2)
    for place in range(len(found)):
        found[place] = chr(int.from_bytes(units[2 * place : 2 * place + 2], "big"))
    return found


def _encoded(engine: Engine, kind: str, of: Any) -> bytes:
    """Asked by way of a class that Java lets everybody see: those of keys and certificates themselves are hidden."""
    gateway: Any = engine.spark.sparkContext._gateway
    java = gateway.jvm.java.lang
    method = java.Class.forName(f"java.security.{kind}").getMethod("getEncoded", gateway.new_array(java.Class, 0))
    return bytes(method.invoke(of, gateway.new_array(java.Object, 0)))


def _aliases(store: Any) -> list[str]:
    names = store.aliases()
    found = []
    while names.hasMoreElements():
        found.append(names.nextElement())
    return found


def _pem(what: str, data: bytes) -> str:
    text = base64.encodebytes(bytes(data)).decode()
    return f"-----BEGIN {what}-----\n{text}-----END {what}-----\n"


def _file(location: str) -> str:
    try:
        return Path(location).read_text()
    except OSError as error:
        raise InvalidOption(f"cannot read '{location}'", detail=str(error)) from None
