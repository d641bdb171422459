"""The protocol's state machine on bytes, without sockets."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from gpudb.errors import GpudbError, InternalError, SqlError
from gpudb.server.wire.conversation import Conversation
from gpudb.server.wire.messages import ProtocolViolation
from gpudb.server.wire.recording import ExecutedStatement
from tests.support import raw_wire
from tests.support.fake_database import FakeDatabase, FakeSession
from tests.support.raw_wire import FLUSH, SYNC, Answer, bind, close, describe, execute, message, parse, query


class Talk:
    """A conversation; `say` returns the answers to messages."""

    def __init__(self) -> None:
        self.database = FakeDatabase()
        self.session: FakeSession = self.database.session("gpudb")
        self.sent = bytearray()
        self.flushed = 0
        self.ran: list[ExecutedStatement] = []
        self.conversation = Conversation(self.session, self._send, self._flush, self._failure, self.ran.append)

    def say(self, *messages: bytes) -> list[Answer]:
        for whole in messages:
            for part in raw_wire.split(whole):
                self.conversation.handle_message(ord(part.kind), part.payload)
        answers, self.sent = raw_wire.split(bytes(self.sent)), bytearray()
        return answers

    def kinds(self, *messages: bytes) -> str:
        return "".join(answer.kind for answer in self.say(*messages))

    def _send(self, data: bytes | memoryview) -> None:
        self.sent += data

    def _flush(self) -> None:
        self.flushed = len(self.sent)

    def _failure(self, error: BaseException) -> GpudbError:
        return error if isinstance(error, GpudbError) else InternalError("internal error 1")


@pytest.fixture
def talk() -> Iterator[Talk]:
    made = Talk()
    yield made
    made.session.close()
    made.database.close()


def error(answers: list[Answer]) -> dict[str, str]:
    found = [answer.fields for answer in answers if answer.kind == "E"]
    assert len(found) == 1, answers
    return found[0]


def rows(answers: list[Answer]) -> list[list[bytes | None]]:
    return [answer.values for answer in answers if answer.kind == "D"]


# ---- simple protocol


def test_a_query_gives_its_columns_rows_and_tag(talk: Talk) -> None:
    answers = talk.say(query("select 1 as a, null as b, 'é' as c"))
    assert [answer.kind for answer in answers] == ["T", "D", "C", "Z"]
    assert rows(answers) == [[b"1", None, "é".encode()]]
    assert answers[2].text == "SELECT 1"
    assert answers[3].payload == b"I"
    assert talk.session.open_results == 0


def test_row_description_names_table_type_and_modifier(talk: Talk) -> None:
    description = talk.say(query("select 1::int as number"))[0].payload
    assert description == struct.pack("!H", 1) + b"number\0" + struct.pack("!IhIhih", 16384, 1, 23, 4, -1, 0)


def test_several_statements_answer_one_after_the_other(talk: Talk) -> None:
    answers = talk.say(query("select 1; begin; select 2"))
    assert [answer.kind for answer in answers] == ["T", "D", "C", "C", "T", "D", "C", "Z"]
    assert answers[-1].payload == b"T"


def test_an_error_ends_the_text(talk: Talk) -> None:
    answers = talk.say(query("select 1; selec 2; select 3"))
    assert [answer.kind for answer in answers] == ["T", "D", "C", "E", "Z"]
    assert error(answers)["C"] == "42601"
    assert talk.kinds(query("select 1")) == "TDCZ"


def test_a_failed_transaction_takes_only_its_end(talk: Talk) -> None:
    assert talk.say(query("begin"))[-1].payload == b"T"
    assert talk.say(query("selec"))[-1].payload == b"E"
    answers = talk.say(query("select 1"))
    assert (error(answers)["C"], answers[-1].payload) == ("25P02", b"E")
    answers = talk.say(query("commit"))
    assert (answers[0].text, answers[-1].payload) == ("ROLLBACK", b"I")


@pytest.mark.parametrize("sql", ["", " ", ";"])
def test_an_empty_query_has_an_answer_of_its_own(talk: Talk, sql: str) -> None:
    assert talk.kinds(query(sql)) == "IZ"


def test_notices_come_before_the_tag(talk: Talk) -> None:
    answers = talk.say(query("notice mind the gap"))
    assert [answer.kind for answer in answers] == ["N", "C", "Z"]
    assert answers[0].fields == {
        "S": "NOTICE", "V": "NOTICE", "C": "00000", "M": "mind the gap", "H": "look closely",
    }  # fmt: skip


def test_changed_settings_are_reported(talk: Talk) -> None:
    answers = talk.say(query("report TimeZone Asia/Tokyo"))
    assert [(answer.kind, answer.payload) for answer in answers[1:2]] == [("S", b"TimeZone\0Asia/Tokyo\0")]


def test_an_unknown_exception_tells_nothing_of_the_inside(talk: Talk) -> None:
    answers = talk.say(query("fault"))
    assert error(answers)["C"] == "XX000"
    assert b"secret" not in answers[0].payload
    assert talk.kinds(query("select 1")) == "TDCZ"


def test_a_terminated_session_ends_the_conversation(talk: Talk) -> None:
    with pytest.raises(SqlError) as raised:
        talk.say(query("lost"))
    assert raised.value.sqlstate == "57P01"


def test_a_lost_worker_does_not(talk: Talk) -> None:
    answers = talk.say(query("workerlost"))
    assert (error(answers)["C"], error(answers)["S"]) == ("57P01", "ERROR")
    assert talk.kinds(query("select 1")) == "TDCZ"


def test_a_malformed_function_call_is_answered(talk: Talk) -> None:
    answers = talk.say(message("F", b"\0\0\0\1"))
    assert (error(answers)["C"], answers[-1].kind) == ("08P01", "Z")


# ---- extended protocol


def test_the_whole_extended_sequence(talk: Talk) -> None:
    answers = talk.say(parse("select 1::int as a"), bind(), describe("P"), execute(), SYNC)
    assert "".join(answer.kind for answer in answers) == "12TDCZ"


def test_nothing_is_flushed_before_sync_or_flush(talk: Talk) -> None:
    for part in raw_wire.split(parse("select 1") + bind() + execute()):
        talk.conversation.handle_message(ord(part.kind), part.payload)
    assert talk.flushed == 0
    talk.conversation.handle_message(ord("H"), b"")
    assert talk.flushed == len(talk.sent) > 0


def test_describing_a_statement_gives_parameters_and_columns(talk: Talk) -> None:
    answers = talk.say(parse("select $1::int + 1 as a", "s", [23]), describe("S", "s"), SYNC)
    assert [answer.kind for answer in answers] == ["1", "t", "T", "Z"]
    assert answers[1].payload == struct.pack("!HI", 1, 23)


def test_a_statement_without_rows_is_described_as_no_data(talk: Talk) -> None:
    assert talk.kinds(parse("begin"), describe("S"), bind(), describe("P"), execute(), SYNC) == "1tn2nCZ"


def test_an_empty_statement_can_be_executed(talk: Talk) -> None:
    assert talk.kinds(parse(""), bind(), describe("P"), execute(), SYNC) == "12nIZ"


def test_parameters_in_text_and_binary(talk: Talk) -> None:
    sql = "select $1::int as a, $2::text as b, $3::int as c"
    values = [struct.pack("!i", 7), None, b" 9 "]
    answers = talk.say(parse(sql, "", [23, 25, 23]), bind(values=values, formats=[1, 0, 0]), execute(), SYNC)
    assert rows(answers) == [[b"7", None, b"9"]]


def test_one_format_holds_for_all(talk: Talk) -> None:
    values = [struct.pack("!i", 7), struct.pack("!i", 8)]
    answers = talk.say(
        parse("select $1::int as a, $2::int as b", "", [23, 23]),
        bind(values=values, formats=[1], results=[1]),
        describe("P"), execute(), SYNC,
    )  # fmt: skip
    assert rows(answers) == [values]
    assert answers[2].payload.count(b"\0\1", -8) == 1


def test_results_in_mixed_formats(talk: Talk) -> None:
    answers = talk.say(parse("select 1::int as a, 2::int as b"), bind(results=[0, 1]), execute(), SYNC)
    assert rows(answers) == [[b"1", b"\0\0\0\2"]]


def test_a_row_limit_suspends_the_portal(talk: Talk) -> None:
    talk.say(parse("select * from range(5) t(n)"), bind("c"))
    first = talk.say(execute("c", 2))
    second = talk.say(execute("c", 2))
    third = talk.say(execute("c", 2))
    assert [answer.kind for answer in first] == ["D", "D", "s"]
    assert [answer.kind for answer in second] == ["D", "D", "s"]
    assert [answer.kind for answer in third] == ["D", "C"]
    assert third[-1].text == "SELECT 1"
    assert rows(first + second + third) == [[b"%d" % number] for number in range(5)]
    again = talk.say(execute("c", 2))
    assert [answer.text for answer in again] == ["SELECT 0"]
    assert talk.session.open_results == 0


def test_a_limit_that_takes_all_rows_leaves_the_end_open(talk: Talk) -> None:
    talk.say(parse("select * from range(2) t(n)"), bind("c"))
    assert talk.kinds(execute("c", 2)) == "DDs"
    assert talk.say(execute("c", 2))[-1].text == "SELECT 0"


def test_after_an_error_all_is_skipped_to_sync(talk: Talk) -> None:
    answers = talk.say(
        parse("select from from"), bind(), describe("P"), execute(), query("select 1"), FLUSH,
        parse("select 1", "later"), SYNC, bind("", "later"), SYNC,
    )  # fmt: skip
    assert "".join(answer.kind for answer in answers) == "EZEZ"
    assert [answer.fields["C"] for answer in answers if answer.kind == "E"] == ["42601", "26000"]


def test_portals_end_with_the_transaction(talk: Talk) -> None:
    talk.say(parse("select * from range(9) t(n)", "s"), bind("c", "s"), execute("c", 1), SYNC)
    assert talk.session.open_results == 0
    assert error(talk.say(execute("c"), SYNC))["C"] == "34000"


def test_portals_live_over_sync_within_a_transaction(talk: Talk) -> None:
    talk.say(query("begin"))
    talk.say(parse("select * from range(9) t(n)", "s"), bind("c", "s"), execute("c", 1), SYNC)
    assert talk.kinds(execute("c", 1), SYNC) == "DsZ"
    talk.say(query("rollback"), SYNC)
    assert talk.session.open_results == 0


def test_an_error_closes_open_portals(talk: Talk) -> None:
    talk.say(parse("select * from range(9) t(n)"), bind("c"), execute("c", 1), execute("none"))
    assert talk.session.open_results == 0


def test_a_simple_query_drops_the_unnamed_statement(talk: Talk) -> None:
    talk.say(parse("select 1"), query("select 2"))
    assert error(talk.say(bind(), SYNC))["C"] == "26000"


def test_closing_is_never_an_error(talk: Talk) -> None:
    assert talk.kinds(close("S", "none"), close("P", "none"), close("S"), close("P"), SYNC) == "3333Z"
    talk.say(parse("select 1", "s"), close("S", "s"), SYNC)
    assert error(talk.say(bind("", "s"), SYNC))["C"] == "26000"


@pytest.mark.parametrize(
    ("messages", "sqlstate"),
    [
        ([bind()], "26000"),
        ([bind("", "none")], "26000"),
        ([execute("none")], "34000"),
        ([execute()], "34000"),
        ([describe("P")], "34000"),
        ([describe("S", "none")], "26000"),
        ([parse("select 1", "s"), parse("select 1", "s")], "42P05"),
        ([parse("select 1", "s"), bind("p", "s"), bind("p", "s")], "42P03"),
        ([parse("select 1; select 2")], "42601"),
        ([parse("select $1::int", "", [23]), bind()], "08P01"),
        ([parse("select 1"), bind(values=[b"1"])], "08P01"),
        ([parse("select $1::int", "", [23]), bind(values=[b"1"], formats=[0, 0])], "08P01"),
        ([parse("select $1::int", "", [23]), bind(values=[b"1"], formats=[2])], "22023"),
        ([parse("select $1::int", "", [23]), bind(values=[b"x"])], "22P02"),
        ([parse("select $1::int", "", [23]), bind(values=[b"\0"], formats=[1])], "22P03"),
        ([parse("select $1::int", "", [23]), bind(values=[b"99999999999"])], "22003"),
        ([parse("select $1::text", "", [25]), bind(values=[b"\xff"])], "22021"),
        ([parse("select $1::text", "", [25]), bind(values=[b"a\0b"])], "22021"),
        ([parse("select 1 as a"), bind(results=[0, 0])], "08P01"),
        ([parse("select 1 as a"), bind(results=[3])], "22023"),
        ([parse("begin"), bind("p"), execute("p"), execute("p")], "55000"),
        ([parse("select $1", "", [999999])], "42704"),
        ([message("D", b"X\0")], "08P01"),
        ([message("C", b"S")], "08P01"),
        ([message("B", b"")], "08P01"),
        ([message("P", b"\xff\0\0\0\0")], "22021"),
        ([message("E", b"\0\0\0")], "08P01"),
        ([parse("select 1") [:-1] + b"\1"], "08P01"),
    ],
)  # fmt: skip
def test_errors_have_postgresqls_sqlstates(talk: Talk, messages: list[bytes], sqlstate: str) -> None:
    answers = talk.say(*messages, SYNC)
    assert error(answers)["C"] == sqlstate
    assert answers[-1].kind == "Z"
    talk.say(query("rollback"))
    assert talk.kinds(query("select 1")) == "TDCZ"


def test_text_parameters_follow_the_sessions_time_zone(talk: Talk) -> None:
    talk.say(query("report TimeZone Asia/Tokyo"))
    answers = talk.say(
        parse("select epoch($1::timestamptz) as s", "", [1184]), bind(values=[b"1970-01-01 09:00"]), execute(), SYNC
    )
    assert rows(answers) == [[b"0"]]


def test_a_new_time_zone_holds_at_once(talk: Talk) -> None:
    answers = talk.say(
        parse("report TimeZone Asia/Tokyo"), bind(), execute(),
        parse("select epoch($1::timestamptz) as s", "", [1184]), bind(values=[b"1970-01-01 09:00"]), execute(), SYNC,
    )  # fmt: skip
    assert rows(answers) == [[b"0"]]
    assert [answer.kind for answer in answers][-2:] == ["S", "Z"]


# ---- COPY


def test_copy_in_by_query(talk: Talk) -> None:
    answers = talk.say(query("copy t from stdin"))
    assert [(answer.kind, answer.payload) for answer in answers] == [("G", b"\0\0\1\0\0")]
    assert talk.conversation.is_copying
    assert talk.kinds(message("d", b"1\n2"), SYNC, FLUSH, message("d", b"\n")) == ""
    answers = talk.say(message("c"))
    assert [answer.kind for answer in answers] == ["C", "Z"]
    assert answers[0].text == "COPY 2"
    assert talk.database.lines == [b"1\n2\n"]


def test_statements_after_a_copy_in_go_on(talk: Talk) -> None:
    assert talk.kinds(query("select 1; copy t from stdin; select 2")) == "TDCG"
    assert talk.kinds(message("d", b"1\n"), message("c")) == "CTDCZ"


def test_copy_in_by_execute(talk: Talk) -> None:
    assert talk.kinds(parse("copy t from stdin"), bind(), execute(), SYNC) == "12G"
    assert talk.kinds(message("d", b"1\n"), message("c"), SYNC) == "CZ"


@pytest.mark.parametrize(
    ("ending", "sqlstate"),
    [
        (message("f", b"changed my mind\0"), "57014"),
        (message("d", b"bad\n"), "22P04"),
        (message("d", b"worse\n") + message("c"), "23502"),
        (query("select 1"), "08P01"),
        (parse("select 1"), "08P01"),
        (message("f", b"\xff\0"), "22021"),
    ],
)
@pytest.mark.parametrize("simple", [True, False])
def test_a_copy_in_that_fails_leaves_nothing(talk: Talk, ending: bytes, sqlstate: str, simple: bool) -> None:
    talk.say(query("copy t from stdin") if simple else parse("copy t from stdin") + bind() + execute())
    answers = talk.say(message("d", b"1\n"), ending)
    assert error(answers)["C"] == sqlstate
    assert not talk.conversation.is_copying
    # messages that the client had already sent are dropped
    assert talk.kinds(message("d", b"2\n"), message("c"), message("f", b"\0")) == ""
    if simple:
        assert answers[-1].kind == "Z"
    else:
        assert talk.kinds(query("select 1"), SYNC) == "Z"
    assert talk.database.lines == []
    assert talk.kinds(query("select 1")) == "TDCZ"


def test_copy_fail_carries_the_clients_words(talk: Talk) -> None:
    talk.say(query("copy t from stdin"))
    assert error(talk.say(message("f", b"disk full\0")))["M"] == "COPY from stdin failed: disk full"


def test_a_lost_client_aborts_its_copy(talk: Talk) -> None:
    talk.say(query("copy t from stdin"), message("d", b"1\n"))
    talk.conversation.close()
    assert talk.database.lines == []


def test_copy_out(talk: Talk) -> None:
    answers = talk.say(query("copy t to stdout"))
    assert [answer.kind for answer in answers] == ["H", "d", "d", "d", "c", "C", "Z"]
    assert b"".join(answer.payload for answer in answers if answer.kind == "d") == b"0\n1\n2\n"
    assert answers[-2].text == "COPY 3"
    assert talk.kinds(parse("copy t to stdout"), bind(), describe("P"), execute(), SYNC) == "12nHdddcCZ"


def test_copy_out_that_fails_half_way(talk: Talk) -> None:
    answers = talk.say(query("copy fail to stdout"))
    assert [answer.kind for answer in answers] == ["H", "d", "d", "d", "E", "Z"]


# ---- unexpected messages


@pytest.mark.parametrize("kind", ["p"])
def test_a_password_out_of_place_is_fatal(talk: Talk, kind: str) -> None:
    with pytest.raises(ProtocolViolation) as raised:
        talk.say(message(kind, b"x\0"))
    assert raised.value.fatal


def test_statements_are_told_to_the_log(talk: Talk) -> None:
    talk.say(query("select 1; select 2"), query("selec"))
    talk.say(parse("select * from range(7) t(n)"), bind(), execute(), SYNC)
    assert [(ran.sql, ran.rows, ran.sqlstate) for ran in talk.ran] == [
        ("select 1; select 2", 2, "00000"),
        ("selec", 0, "42601"),
        ("select * from range(7) t(n)", 7, "00000"),
    ]
    assert all(0 <= ran.seconds < 60 for ran in talk.ran)
