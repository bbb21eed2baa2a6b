"""Confluent's schema registry, as sources and sinks use it: schemas by subject, and by id.

Every call is one or a few small requests and waits for the answer.  Raises SqlError for what a person must change
(a schema that does not fit, a password), Unavailable for what may pass.
"""

from __future__ import annotations

import base64
import json
import logging
import ssl
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.secret import Secret

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 10.0
_CONTENT = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = 404
_CONFLICT = 409
_UNPROCESSABLE = 422
_REFUSED = (401, 403)
_LEVEL_HINT = "Change the subject's compatibility level, or write to a topic of its own."


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryConnection:
    """How to reach a registry, with secrets already looked up: a name with a password, a token, or neither."""

    name: str
    url: str
    username: Secret | None = None
    password: Secret | None = None
    token: Secret | None = None
    ssl_key: Secret | None = None
    ssl_certificate: Secret | None = None
    ssl_certificate_authority: Secret | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """The line of schemas of one topic's keys or values.  `level` is set if the subject has none of its own."""

    connection: RegistryConnection
    name: str
    level: str | None = None


class Refusal(Exception):
    """An answer that is not a success: the HTTP status and what the registry says."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def subjects(connection: RegistryConnection) -> list[str]:
    """The names of all subjects: what proves that the registry can be used."""
    found: list[str] = _asked(connection, "list subjects", "GET", "/subjects")
    return found


def publish(subject: Subject, schema: str) -> int:
    """The schema's id.  A schema that the subject has already keeps the id that it has."""
    connection, quoted = subject.connection, _quoted(subject.name)
    doing = f'publish schema of subject "{subject.name}"'
    if subject.level is not None and not _has_level(subject):
        _asked(connection, doing, "PUT", f"/config/{quoted}", {"compatibility": subject.level})
    answer = _asked(connection, doing, "POST", f"/subjects/{quoted}/versions", {"schema": schema})
    id: int = answer["id"]
    log.info("schema published subject=%s id=%d", subject.name, id)
    return id


def check_fits(subject: Subject, schema: str) -> None:
    """Raises if the subject would not take the schema.  Changes nothing."""
    connection, quoted = subject.connection, _quoted(subject.name)
    doing = f'compare schema with subject "{subject.name}"'
    try:
        answer = _request(
            connection, "POST", f"/compatibility/subjects/{quoted}/versions?verbose=true", {"schema": schema}
        )
    except Refusal as refusal:
        if refusal.status == _NOT_FOUND:  # no schema yet: any will do
            return
        raise _failure(connection, doing, refusal) from refusal
    except OSError as error:
        raise _silence(connection, doing, error) from error
    if not answer["is_compatible"]:
        raise SqlError(
            f"CONFLUENT SCHEMA REGISTRY {connection.name}: schema being registered is incompatible with an earlier"
            f' schema for subject "{subject.name}"',
            detail="; ".join(map(str, answer.get("messages") or ())) or None,
            hint=_LEVEL_HINT,
            sqlstate="42P16",
        )


def latest(connection: RegistryConnection, subject: str) -> str:
    """The newest schema of a subject."""
    doing = f"fetch schema {subject} from schema registry"
    found: str = _asked(connection, doing, "GET", f"/subjects/{_quoted(subject)}/versions/latest")["schema"]
    return found


def schema_of(connection: RegistryConnection, id: int) -> str | None:
    """The schema with an id; None if there is none."""
    doing = f"fetch schema {id}"
    try:
        found: str = _request(connection, "GET", f"/schemas/ids/{id}")["schema"]
    except Refusal as refusal:
        if refusal.status == _NOT_FOUND:
            return None
        raise _failure(connection, doing, refusal) from refusal
    except OSError as error:
        raise _silence(connection, doing, error) from error
    return found


def _has_level(subject: Subject) -> bool:
    connection = subject.connection
    try:
        _request(connection, "GET", f"/config/{_quoted(subject.name)}")
    except Refusal as refusal:
        if refusal.status == _NOT_FOUND:
            return False
        raise _failure(connection, "read compatibility level", refusal) from refusal
    except OSError as error:
        raise _silence(connection, "read compatibility level", error) from error
    return True


def _asked(connection: RegistryConnection, doing: str, method: str, path: str, body: Any = None) -> Any:
    try:
        return _request(connection, method, path, body)
    except Refusal as refusal:
        raise _failure(connection, doing, refusal) from refusal
    except OSError as error:
        raise _silence(connection, doing, error) from error


def _failure(connection: RegistryConnection, doing: str, refusal: Refusal) -> TailraceError:
    said = f"CONFLUENT SCHEMA REGISTRY {connection.name}: {doing} failed: {refusal}"
    if refusal.status in _REFUSED:
        hint = "Look at the name, the password and the certificates that it is reached with."
        return SqlError(said, detail=f"The registry answered {refusal.status}.", hint=hint, sqlstate="28000")
    if refusal.status == _NOT_FOUND:
        return SqlError(said, detail="The registry answered 404.", sqlstate="42704")
    if refusal.status in (_CONFLICT, _UNPROCESSABLE):
        return SqlError(said, detail=f"The registry answered {refusal.status}.", hint=_LEVEL_HINT, sqlstate="42P16")
    return Unavailable(said, detail=f"The registry answered {refusal.status}.")


def _silence(connection: RegistryConnection, doing: str, error: OSError) -> TailraceError:
    cause = getattr(error, "reason", error)
    said = f"CONFLUENT SCHEMA REGISTRY {connection.name}: {doing} failed: {cause}"
    return Unavailable(said, hint=f"Is a registry running at {connection.url}, and reachable from here?")


def _request(connection: RegistryConnection, method: str, path: str, body: Any = None) -> Any:
    """The answer's JSON.  Raises Refusal, or OSError if nobody answers."""
    request = urllib.request.Request(
        connection.url.rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Accept": _CONTENT, "Content-Type": _CONTENT, **_login(connection)},
    )
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS, context=_tls(connection)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise Refusal(error.code, _said(error)) from None
    except ValueError as error:  # no JSON: something else listens there
        raise OSError(f"{connection.url} is no schema registry: {error}") from error


def _said(error: urllib.error.HTTPError) -> str:
    raw = error.read().decode(errors="replace")
    try:
        return str(json.loads(raw)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.reason}: {raw[:200]}" if raw else str(error.reason)


def _login(connection: RegistryConnection) -> dict[str, str]:
    if connection.token is not None:
        return {"Authorization": f"Bearer {connection.token.reveal()}"}
    if connection.username is None:
        return {}
    password = "" if connection.password is None else connection.password.reveal()
    both = f"{connection.username.reveal()}:{password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(both).decode()}"}


def _tls(connection: RegistryConnection) -> ssl.SSLContext | None:
    if not connection.url.startswith("https:"):
        return None
    authority = connection.ssl_certificate_authority
    context = ssl.create_default_context(cadata=None if authority is None else authority.reveal())
    if connection.ssl_key is not None and connection.ssl_certificate is not None:
        # Python takes a key from a file only; this one is nobody else's to read, and gone at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
            pem.write(f"{connection.ssl_certificate.reveal()}\n{connection.ssl_key.reveal()}\n")
            pem.flush()
            context.load_cert_chain(pem.name)
    return context


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")
