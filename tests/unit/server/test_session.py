"""The protocol without sockets: messages in, messages out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.server import messages as wire
from tailrace.server.messages import BINARY, Message
from tailrace.server.session import WireSession
from unit.server.fake_engine import FakeSession


class Client:
    """Speaks to a session and remembers the engine behind it."""

    def __init__(self) -> None:
        self.engine = FakeSession()
        self.session = WireSession(self.engine)
        list(self.session.greet([]))

    def says(self, *messages: Message) -> list[Message]:
        return [answer for message in messages for answer in self.session.handle(message)]

    def hears(self, *messages: Message) -> list[str]:
        """The answers, each by its name, with what matters most of it."""
        return [brief(answer) for answer in self.says(*messages)]

    def asks(self, text: str) -> list[str]:
        return self.hears(wire.Query(text))


def brief(message: Message) -> str:
    match message:
        case wire.CommandComplete(text=text):
            return text
        case wire.ReadyForQuery(status=status):
            return f"ready {status.decode()}"
        case wire.RowBlock(count=count):
            return f"{count} rows"
        case wire.ErrorResponse(fields=fields) | wire.NoticeResponse(fields=fields):
            coded = dict(fields)
            return f"{coded['S']} {coded['C']}"
        case _:
            return type(message).__name__


def error_fields(messages: list[Message]) -> dict[str, str]:
    return next(dict(m.fields) for m in messages if isinstance(m, wire.ErrorResponse))


def prepared(text: str, *, name: str = "", portal: str = "", **bind: tuple[object, ...]) -> list[Message]:
    return [wire.Parse(name, text), wire.Bind(portal, name, **bind)]  # type: ignore[arg-type]


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.session.close()


def test_a_query_gives_its_rows_and_then_is_ready(client: Client) -> None:
    assert client.asks("select 7") == ["RowDescription", "1 rows", "SELECT 1", "ready I"]


def test_several_statements_answer_one_after_the_other(client: Client) -> None:
    assert client.asks("select 1; insert x;") == [
        "RowDescription",
        "1 rows",
        "SELECT 1",
        "INSERT 0 1",
        "ready I",
    ]


def test_an_error_ends_the_string(client: Client) -> None:
    assert client.asks("insert x; fail; insert y") == ["INSERT 0 1", "ERROR 22012", "ready I"]
    assert client.engine.executed == ["insert x", "fail"]


@pytest.mark.parametrize("text", ["", "  ", ";"])
def test_no_statement_is_answered_too(client: Client, text: str) -> None:
    assert client.asks(text) == ["EmptyQueryResponse", "ready I"]


def test_all_fields_of_an_error_arrive(client: Client) -> None:
    fields = error_fields(client.says(wire.Query("insert x;  fail")))
    told = {"S": "ERROR", "V": "ERROR", "C": "22012", "M": "it failed"}
    assert fields == told | {"D": "Because.", "H": "Do not.", "P": "12"}


def test_a_position_counts_from_the_start_of_the_text(client: Client) -> None:
    assert error_fields(client.says(wire.Query("select 1; selec 2")))["P"] == "11"
    assert error_fields(client.says(wire.Query("select 'x")))["P"] == "8"


def test_an_unknown_error_tells_an_id_and_nothing_else(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    fields = error_fields(client.says(wire.Query("crash")))
    assert fields["C"] == "XX000"
    assert "hunter2" not in str(fields)
    assert fields["M"].removeprefix("internal error ") in caplog.text


def test_notices_come_before_the_end_of_their_statement(client: Client) -> None:
    assert client.asks("notify") == ["WARNING 00000", "NOTIFY", "ready I"]
    client.asks("set client_min_messages = error")
    assert client.asks("notify") == ["NOTIFY", "ready I"]


def test_changed_variables_are_reported_once(client: Client) -> None:
    answers = client.says(wire.Query("set application_name = psql"))
    assert wire.ParameterStatus("application_name", "psql") in answers
    assert client.asks("select 1")[-2:] == ["SELECT 1", "ready I"]


def test_text_that_is_not_utf8_is_an_error_and_no_more(client: Client) -> None:
    bad = wire.decode(b"Q", b"select '\xff'\0")
    assert client.hears(bad) == ["ERROR 22021", "ready I"]
    assert client.hears(wire.decode(b"P", b"\0\xff\0\0\0"), wire.Sync()) == ["ERROR 22021", "ready I"]


def test_transactions_are_followed(client: Client) -> None:
    assert client.asks("begin")[-1] == "ready T"
    assert client.asks("select 1")[-1] == "ready T"
    assert client.asks("commit")[-1] == "ready I"


def test_a_failed_transaction_takes_nothing_but_its_end(client: Client) -> None:
    client.asks("begin")
    assert client.asks("fail") == ["ERROR 22012", "ready E"]
    assert client.asks("select 1") == ["ERROR 25P02", "ready E"]
    assert client.hears(wire.Parse("", "select 1"), wire.Sync()) == ["ERROR 25P02", "ready E"]
    assert client.asks("COMMIT /* now */ ;") == ["ROLLBACK", "ready I"]
    assert client.engine.executed[-1] == "ROLLBACK"


@pytest.mark.parametrize("text", ["commit prepared 'x'", "end it", "-- commit\nselect 1", "savepoint a"])
def test_what_only_looks_like_an_end_is_refused_in_a_failed_transaction(client: Client, text: str) -> None:
    client.asks("begin")
    client.asks("fail")
    assert client.asks(text) == ["ERROR 25P02", "ready E"]


def test_the_end_of_a_failed_transaction_may_be_prepared(client: Client) -> None:
    client.says(wire.Parse("end", "commit"), wire.Sync())
    client.asks("begin")
    client.asks("fail")
    answers = client.hears(wire.Bind("", "end"), wire.Execute(""), wire.Sync())
    assert answers == ["BindComplete", "ROLLBACK", "ready I"]


def test_describe_plans_and_never_executes(client: Client) -> None:
    answers = client.says(wire.Parse("s", "select $1::int8, $2::text", (0, 25)), wire.Describe(b"S", "s"))
    assert answers[1] == wire.ParameterDescription((20, 25))
    assert isinstance(answers[2], wire.RowDescription)
    assert [(c.name, c.type_oid) for c in answers[2].columns] == [("c0", 20), ("c1", 25)]
    assert client.hears(wire.Parse("i", "insert x"), wire.Describe(b"S", "i"))[-1] == "NoData"
    assert client.engine.executed == []


def test_columns_come_in_the_formats_asked_for(client: Client) -> None:
    text = "select $1::int4, $2::text"
    bind = {
        "parameter_formats": (BINARY, 0),
        "parameters": (b"\0\0\0\5", b"x"),
        "result_formats": (BINARY, 0),
    }
    answers = client.says(*prepared(text, **bind), wire.Describe(b"P", ""), wire.Execute(""), wire.Sync())
    assert isinstance(answers[2], wire.RowDescription)
    assert [c.format for c in answers[2].columns] == [BINARY, 0]
    assert answers[3] == wire.RowBlock(1, wire.encode(wire.DataRow((b"\0\0\0\5", b"x"))))


def test_null_is_null_both_ways(client: Client) -> None:
    answers = client.says(*prepared("select $1::int4", parameters=(None,)), wire.Execute(""))
    assert wire.RowBlock(1, wire.encode(wire.DataRow((None,)))) in answers


def test_a_portal_gives_its_rows_in_pieces(client: Client) -> None:
    client.asks("begin")
    client.says(*prepared("numbers 10 4", portal="p"))
    assert client.hears(wire.Execute("p", 3), wire.Sync()) == ["3 rows", "PortalSuspended", "ready T"]
    assert client.hears(wire.Execute("p", 3), wire.Sync()) == [
        "1 rows",
        "2 rows",
        "PortalSuspended",
        "ready T",
    ]
    assert client.hears(wire.Execute("p", 0)) == ["2 rows", "4 rows", "SELECT 6"]
    assert client.hears(wire.Execute("p", 0), wire.Sync()) == ["SELECT 0", "ready T"]
    assert client.engine.executed == ["begin", "numbers 10 4"]


def test_as_many_rows_as_asked_for_suspend_a_portal_even_if_they_are_all(client: Client) -> None:
    client.says(*prepared("numbers 4 4"))
    assert client.hears(wire.Execute("", 4)) == ["4 rows", "PortalSuspended"]
    assert client.hears(wire.Execute("", 4)) == ["SELECT 0"]


def test_portals_end_with_their_transaction(client: Client) -> None:
    client.says(*prepared("numbers 10 4", portal="p"), wire.Execute("p", 1))
    rows = client.engine.rows
    assert rows is not None
    assert client.hears(wire.Sync(), wire.Execute("p", 1), wire.Sync()) == [
        "ready I",
        "ERROR 34000",
        "ready I",
    ]
    assert rows.closed.is_set()


def test_a_statement_without_rows_runs_once(client: Client) -> None:
    answers = client.hears(*prepared("insert x"), wire.Execute(""), wire.Execute(""), wire.Sync())
    assert answers == ["ParseComplete", "BindComplete", "INSERT 0 1", "ERROR 55000", "ready I"]


def test_an_empty_statement_can_be_prepared(client: Client) -> None:
    answers = client.hears(*prepared(""), wire.Describe(b"P", ""), wire.Execute(""), wire.Sync())
    assert answers == ["ParseComplete", "BindComplete", "NoData", "EmptyQueryResponse", "ready I"]


def test_after_an_error_everything_up_to_sync_is_skipped(client: Client) -> None:
    answers = client.hears(
        wire.Parse("", "selec"), *prepared("insert x"), wire.Execute(""), wire.Query("select 1")
    )
    assert answers == ["ERROR 42601"]
    assert client.hears(wire.Sync(), wire.Query("select 1"))[-1] == "ready I"
    assert client.engine.executed == ["select 1"]


@pytest.mark.parametrize(
    ("message", "sqlstate"),
    [
        (wire.Bind("", "missing"), "26000"),
        (wire.Bind("", ""), "26000"),
        (wire.Execute("missing"), "34000"),
        (wire.Describe(b"S", "missing"), "26000"),
        (wire.Describe(b"P", "missing"), "34000"),
        (wire.Parse("s", "select 2"), "42P05"),
        (wire.Bind("p", "s", (), (b"1",)), "42P03"),
        (wire.Bind("", "s", (), ()), "08P01"),
        (wire.Bind("", "s", (0, 0), (b"1",)), "08P01"),
        (wire.Bind("", "s", (2,), (b"1",)), "22023"),
        (wire.Bind("", "s", (), (b"1",), (1, 1)), "08P01"),
        (wire.Bind("", "s", (1,), (b"1",)), "22P03"),
        (wire.Bind("", "s", (), (b"\xff",)), "22021"),
        (wire.Parse("", "select $1::int4", (9_999,)), "42704"),
        (wire.FunctionCall(b""), "0A000"),
    ],
)
def test_mistakes_have_their_sqlstates(client: Client, message: Message, sqlstate: str) -> None:
    client.says(*prepared("select $1::int4", name="s", portal="p", parameters=(b"1",)))
    assert client.hears(message)[0] == f"ERROR {sqlstate}"
    assert client.hears(wire.Sync()) == ["ready I"]


def test_closing_what_is_not_there_is_fine(client: Client) -> None:
    assert client.hears(wire.Close(b"S", "x"), wire.Close(b"P", "x")) == ["CloseComplete", "CloseComplete"]


def test_a_closed_statement_can_be_prepared_again(client: Client) -> None:
    client.says(wire.Parse("s", "select 1"), wire.Close(b"S", "s"))
    assert client.hears(wire.Parse("s", "select 2")) == ["ParseComplete"]


@pytest.mark.parametrize(
    "text", ['deallocate "S"', "DEALLOCATE PREPARE s2;", "deallocate all", "discard all"]
)
def test_deallocate_drops_what_parse_has_made(client: Client, text: str) -> None:
    client.says(wire.Parse("S", "select 1"), wire.Parse("s2", "select 2"), wire.Sync())
    assert client.asks(text)[-1] == "ready I"
    name = "s2" if "s2" in text else "S"
    assert client.hears(wire.Describe(b"S", name), wire.Sync())[0] == "ERROR 26000"


def test_rows_that_no_longer_fit_their_description_are_not_sent(client: Client) -> None:
    client.says(*prepared("changed"))
    assert client.hears(wire.Execute(""), wire.Sync()) == ["ERROR 0A000", "ready I"]


def test_copy_sends_lines(client: Client) -> None:
    answers = client.says(wire.Query("copy text"))
    assert answers[0] == wire.CopyOutResponse(b"\0", (0, 0))
    assert isinstance(answers[1], wire.RowBlock)
    assert answers[1].payload.startswith(wire.encode(wire.CopyData(b"1\ta\\tb\n")))
    assert [brief(a) for a in answers[2:]] == ["CopyDone", "COPY 3", "ready I"]


def test_rows_leave_as_they_come(client: Client) -> None:
    answers = client.session.handle(wire.Query("forever"))
    assert [brief(next(answers)) for _ in range(3)] == ["RowDescription", "1 rows", "1 rows"]
    client.session.interruption.cancel()
    assert [brief(answer) for answer in answers] == ["ERROR 57014", "ready I"]


def test_a_cancel_is_noticed_between_batches_even_if_the_engine_is_not(client: Client) -> None:
    answers = client.session.handle(wire.Query("numbers 100 10"))
    assert [brief(next(answers)) for _ in range(2)] == ["RowDescription", "10 rows"]
    client.session.interruption.cancel()
    assert [brief(answer) for answer in answers] == ["ERROR 57014", "ready I"]
    assert client.engine.rows is not None
    assert client.engine.rows.closed.is_set()


def test_a_cancel_between_statements_hits_nothing(client: Client) -> None:
    client.session.interruption.cancel()
    assert client.asks("select 1")[-2:] == ["SELECT 1", "ready I"]


def test_the_end_of_the_server_is_the_end_of_the_session(client: Client) -> None:
    answers = client.session.handle(wire.Query("forever"))
    assert [brief(next(answers)) for _ in range(3)] == ["RowDescription", "1 rows", "1 rows"]
    client.session.interruption.terminate()
    assert [brief(answer) for answer in answers] == ["FATAL 57P01"]
    assert client.session.closed


def test_a_client_that_leaves_ends_its_rows(client: Client) -> None:
    answers = client.session.handle(wire.Query("numbers 100 10"))
    assert [brief(next(answers)) for _ in range(2)] == ["RowDescription", "10 rows"]
    answers.close()  # type: ignore[attr-defined]  # it is a generator
    assert client.engine.rows is not None
    assert client.engine.rows.closed.is_set()


def test_closing_a_session_closes_its_portals_and_the_engine(client: Client) -> None:
    client.says(*prepared("numbers 10 4"), wire.Execute("", 1))
    client.session.close()
    assert client.engine.rows is not None
    assert client.engine.rows.closed.is_set()
    assert client.engine.closed.is_set()


@pytest.mark.parametrize(
    "message", [wire.Describe(b"X", ""), wire.Close(b"\0", ""), wire.PasswordMessage(b"")]
)
def test_nonsense_is_fatal(client: Client, message: Message) -> None:
    assert client.hears(message) == ["FATAL 08P01"]
    assert client.session.closed
    assert client.asks("select 1") == []


TEXTS = st.sampled_from(
    ["select 1", "begin", "commit", "fail", "crash", "numbers 10 3", "insert x", "", "selec", "deallocate a"]
)
NAMES = st.sampled_from(["", "a", "b"])
KINDS = st.sampled_from([b"S", b"P"])
ANY_MESSAGE = st.one_of(
    st.builds(wire.Query, TEXTS),
    st.builds(wire.Parse, NAMES, TEXTS, st.sampled_from([(), (23,), (0,)])),
    st.builds(
        wire.Bind, NAMES, NAMES, st.just(()), st.sampled_from([(), (b"1",)]), st.sampled_from([(), (1,)])
    ),
    st.builds(wire.Describe, KINDS, NAMES),
    st.builds(wire.Execute, NAMES, st.integers(min_value=-1, max_value=4)),
    st.builds(wire.Close, KINDS, NAMES),
    st.sampled_from([wire.Sync(), wire.Flush(), wire.CopyDone(), wire.CopyData(b"x")]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ANY_MESSAGE, max_size=12))
def test_any_order_of_messages_leaves_a_session_that_works(sent: list[Message]) -> None:
    client = Client()
    answers = client.says(*sent)
    expected = sum(isinstance(m, wire.Sync) for m in sent)
    assert sum(isinstance(a, wire.ReadyForQuery) for a in answers) >= expected
    client.says(wire.Sync(), wire.Query("rollback"))
    assert client.asks("select 1") == ["RowDescription", "1 rows", "SELECT 1", "ready I"]
