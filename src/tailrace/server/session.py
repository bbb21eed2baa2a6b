"""One client's conversation: a message in, messages out.  Knows no sockets; calls the engine, so it blocks.

`handle` is a generator: what it yields is sent before it is asked to go on, so rows leave as they come and a
slow reader holds up nobody but itself.  Closing it, when the client is gone, ends the statement that runs.
`Describe` plans and never executes.  After an error the extended protocol skips everything up to Sync.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailrace.errors import NotSupported, SqlError
from tailrace.server import messages as wire
from tailrace.server.copy_in import Answer, Copying, DataWanted, response
from tailrace.server.delivery import check_described, deliver
from tailrace.server.fields import ProtocolViolation
from tailrace.server.interruption import Interruption
from tailrace.server.messages import Message
from tailrace.server.portals import Portal, Portals, bind
from tailrace.server.prepared import PreparedStatements, readable
from tailrace.server.reports import error_response, is_wanted, notice_response
from tailrace.server.rows import row_description
from tailrace.server.transaction import IDLE, Transaction
from tailrace.statements.contract import Notice, Result, Session
from tailrace.types.core import Schema


class WireSession:
    """Used by one thread at a time, except for `interruption`."""

    def __init__(self, engine: Session) -> None:
        self.closed = False
        self.interruption = Interruption(engine.cancel)
        self.engine = engine
        self._transaction = Transaction()
        self._statements = PreparedStatements(engine)
        self._portals = Portals()
        self._reported: dict[str, str] = {}
        self._skipping = False
        self._copying: Copying | None = None
        self._offset = 0  # of the statement that runs, in the text of its Query message

    @property
    def is_in_block(self) -> bool:
        """A transaction is open, also one that has failed, and waits for a statement."""
        return self._transaction.status != IDLE and self._copying is None

    def idle_limit(self) -> float | None:
        """Seconds that the client of an open transaction may be silent.  None: as long as it likes."""
        return self.engine.idle_limit() or None

    def greet(self, notices: list[Notice]) -> Iterator[Message]:
        """What a new client is told: the variables, and what went wrong with the settings it brought."""
        yield from self._changed_variables()
        yield from map(notice_response, notices)

    def ready(self) -> Iterator[Message]:
        yield from self._changed_variables()
        yield wire.ReadyForQuery(self._transaction.status)

    def handle(self, message: Message) -> Iterator[Message]:
        """The answer to a message.  What goes wrong in the engine is part of the answer, never raised."""
        if self.closed or (self._skipping and not isinstance(message, wire.Sync | wire.Terminate)):
            return
        if self._copying is not None:
            yield from self._copy(self._copying, message)
            return
        self._offset = 0
        with self.interruption.possible():
            answer = self._answer(message)
            try:
                yield from self._until_data_are_wanted(answer, message)
            except Exception as error:  # noqa: BLE001  # whatever the engine raises, its client is told
                yield from self._fail(error, message)

    def _until_data_are_wanted(self, answer: Answer, message: Message) -> Iterator[Message]:
        for reply in answer:
            if isinstance(reply, DataWanted):
                self._copying = Copying(reply.target, answer, message)
                self.interruption.is_waiting = True
                yield response(reply.target)
                return
            yield reply

    def _copy(self, copying: Copying, message: Message) -> Iterator[Message]:
        """A message while COPY … FROM STDIN waits for data."""
        if isinstance(message, wire.Terminate):
            self.closed = True
            return
        with self.interruption.possible():
            try:
                self.interruption.check()
                if copying.is_ended_by(message):
                    self._copying, self.interruption.is_waiting = None, False
                yield from copying.take(message)
            except Exception as error:  # noqa: BLE001  # as above
                self._copying, self.interruption.is_waiting = None, False
                copying.answer.close()
                yield from self._fail(error, copying.begun_by)

    def close(self) -> None:
        """Ends everything that the session holds.  Blocks."""
        self.closed = True
        self._portals.clear()
        self.engine.close()

    def _answer(self, message: Message) -> Answer:
        self.interruption.check()
        match message:
            case wire.Query(text=text):
                yield from self._query(text)
            case wire.Parse():
                yield from self._parse(message)
            case wire.Bind():
                yield from self._bind(message)
            case wire.Describe(kind=kind, name=name):
                yield from self._describe(kind, name)
            case wire.Execute(portal=name, max_rows=most):
                yield from self._execute(name, most if most > 0 else None)
            case wire.Close(kind=kind, name=name):
                yield from self._close(kind, name)
            case wire.Sync():
                yield from self._sync()
            case wire.Terminate():
                self.closed = True
            case wire.FunctionCall():
                raise NotSupported("function calls by message not yet supported")
            case wire.Flush() | wire.CopyData() | wire.CopyDone() | wire.CopyFail():
                return  # all is sent at once anyway; and what is left of a failed COPY is to be ignored
            case _:
                raise ProtocolViolation("unexpected message")

    def _fail(self, error: Exception, message: Message) -> Iterator[Message]:
        """The error, then ReadyForQuery in the simple protocol; the extended one waits for Sync."""
        self._transaction.failed()
        error = self.interruption.reason(error)
        fatal = self.interruption.is_final or isinstance(error, ProtocolViolation)
        # Sync itself does nothing that may fail but tell the variables: there is no state to go on from.
        self.closed = fatal = fatal or isinstance(message, wire.Sync)
        yield error_response(error, severity="FATAL" if fatal else "ERROR", offset=self._offset)
        if isinstance(message, wire.Query | wire.FunctionCall) and not fatal:
            yield from self.ready()
        else:
            self._skipping = True

    def _query(self, text: str) -> Answer:
        """The simple protocol: statement by statement, the first error ends the string."""
        self._statements.forget("")
        self._portals.close("")
        found = self.engine.split(readable(text))
        if not found:
            yield wire.EmptyQueryResponse()
        yield from self._run_all(text, found)
        yield from self.ready()

    def _run_all(self, text: str, found: Sequence[str]) -> Answer:
        end, keep = 0, False
        if len(found) > 1 and self._transaction.status == IDLE:
            self.engine.begin_string()
        try:
            for statement in found:
                self._offset = max(text.find(statement, end), end)
                end = self._offset + len(statement)
                yield from self._run(statement)
            keep = True
        finally:
            self.engine.end_string(keep=keep)

    def _run(self, text: str) -> Answer:
        portal = Portal(self._statements.plan(self._transaction.admit(text)))
        if portal.prepared.statement is None:
            yield wire.EmptyQueryResponse()
            return
        try:
            result = self._start(portal)
            if result.columns is not None:
                portal.formats = (wire.TEXT,) * len(result.columns)
                if result.copy is None:
                    yield row_description(result.columns, portal.formats)
            yield from self._continue(portal, result)
        finally:
            portal.close()

    def _parse(self, message: wire.Parse) -> Iterator[Message]:
        self._transaction.admit(message.text)
        self._statements.add(message)
        yield wire.ParseComplete()

    def _bind(self, message: wire.Bind) -> Iterator[Message]:
        statement = self._statements.get(message.statement)
        self._transaction.admit(statement.prepared.text)
        self._portals.add(message.portal, bind(message, statement))
        yield wire.BindComplete()

    def _describe(self, kind: bytes, name: str) -> Iterator[Message]:
        if _is_statement(kind):
            statement = self._statements.get(name)
            yield wire.ParameterDescription(statement.parameter_oids)
            columns = statement.prepared.columns
            formats: tuple[int, ...] = (wire.TEXT,) * len(columns or ())
        else:
            columns, formats = self._described_portal(name)
        yield wire.NoData() if columns is None else row_description(columns, formats)

    def _described_portal(self, name: str) -> tuple[Schema | None, tuple[int, ...]]:
        """Of a portal, or of a cursor: to PostgreSQL, and so to drivers, they are one."""
        declared = None if self._portals.has(name) else self.engine.cursor(name)
        if declared is not None:
            return declared, (wire.TEXT,) * len(declared)
        portal = self._portals.get(name)
        return portal.prepared.columns, portal.formats

    def _execute(self, name: str, most: int | None) -> Answer:
        portal = self._portals.get(name)
        if portal.prepared.statement is None:
            yield wire.EmptyQueryResponse()
        elif portal.is_finished:
            yield _again(name, portal.result)
        else:
            result = portal.result or self._start(portal)
            check_described(portal.prepared, result)
            yield from self._continue(portal, result, most)

    def _close(self, kind: bytes, name: str) -> Iterator[Message]:
        if _is_statement(kind):
            self._statements.forget(name)
        else:
            self._portals.close(name)
        yield wire.CloseComplete()

    def _sync(self) -> Iterator[Message]:
        self._skipping = False
        if self._transaction.status == IDLE:
            self._portals.clear()  # they do not outlive their transaction
        yield from self.ready()

    def _start(self, portal: Portal) -> Result:
        """Runs the statement; its rows are still to be taken."""
        text = self._transaction.admit(portal.prepared.text)
        prepared = portal.prepared if text == portal.prepared.text else self._statements.plan(text)
        result = self._statements.execute(prepared, portal.arguments)
        portal.run(result)
        return result

    def _continue(self, portal: Portal, result: Result, most: int | None = None) -> Answer:
        """Sends rows until they end, or until `most` are sent.  Whatever breaks it off ends the portal."""
        try:
            yield from self._notices(result)
            for notice in result.finish():
                self.interruption.check()
                result.notices.append(notice)
                yield from self._notices(result)
            if result.copy_in is not None:
                sent = yield DataWanted(result.copy_in)
            else:
                sent = yield from deliver(portal, result, self.interruption.check, most)
            yield from self._notices(result)
        except BaseException:
            portal.close()
            raise
        yield wire.PortalSuspended() if sent is None else self._completed(portal, result, sent)

    def _completed(self, portal: Portal, result: Result, rows: int) -> Message:
        portal.close()
        tag = result.tag.replace("{rows}", str(rows))
        self._transaction.succeeded(tag, portal.prepared.text)
        self._statements.succeeded(tag)
        if self._transaction.status == IDLE and tag in ("COMMIT", "ROLLBACK"):
            self._portals.clear()
        return wire.CommandComplete(tag)

    def _notices(self, result: Result) -> Iterator[Message]:
        """Those that have come up so far, each once."""
        if not result.notices:
            return
        try:
            least = self.engine.variable("client_min_messages")
        except SqlError:
            least = "notice"
        while result.notices:
            notice = result.notices.pop(0)
            if is_wanted(notice, least):
                yield notice_response(notice)

    def _changed_variables(self) -> Iterator[Message]:
        now = self.engine.reported()
        for name, value in now.items():
            if self._reported.get(name) != value:
                yield wire.ParameterStatus(name, value)
        self._reported = dict(now)


def _is_statement(kind: bytes) -> bool:
    if kind not in (b"S", b"P"):
        raise ProtocolViolation(f"invalid kind {kind!r} of thing to describe or close")
    return kind == b"S"


def _again(name: str, result: Result | None) -> Message:
    """Execute of a portal that has ended: there are no more rows, and nothing is done twice."""
    if result is None or result.columns is None:
        raise SqlError(f'portal "{name}" cannot be run', sqlstate="55000")
    return wire.CommandComplete(result.tag.replace("{rows}", "0"))
