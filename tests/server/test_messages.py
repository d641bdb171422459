"""Parsing and building of messages: every bound is checked."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudb.errors import GpudbError, SqlError, StalePlan
from gpudb.server.wire import messages, replies
from gpudb.server.wire.messages import ProtocolViolation
from gpudb.session.results import Notice, ResultColumn
from gpudb.types import INT4, TEXT, numeric
from tests.support import raw_wire

PARSERS = (
    messages.parse_query,
    messages.parse_parse,
    messages.parse_bind,
    messages.parse_execute,
    messages.parse_startup,
    messages.parse_cancel,
    messages.parse_parameters,
    messages.parse_sasl_initial,
    lambda payload: messages.parse_target(payload, "DESCRIBE"),
)


@given(st.binary(max_size=60))
def test_any_bytes_are_parsed_or_refused(payload: bytes) -> None:
    for parser in PARSERS:
        refused = None
        try:
            parser(payload)
        except GpudbError as error:
            refused = error.sqlstate
        assert refused in (None, "08P01", "22021")


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9),
    st.lists(st.none() | st.binary(max_size=9), max_size=5),
)
def test_bind_comes_back_as_it_was_built(name: str, values: list[bytes | None]) -> None:
    built = raw_wire.bind(name, "s", values, [1], [0, 1])
    parsed = messages.parse_bind(built[5:])
    assert parsed == messages.Bind(name, "s", (1,), tuple(values), (0, 1))


@given(st.lists(st.integers(0, 2**32 - 1), max_size=5), st.text("abc", max_size=5))
def test_parse_comes_back_as_it_was_built(oids: list[int], name: str) -> None:
    assert messages.parse_parse(raw_wire.parse("select 1", name, oids)[5:]) == messages.Parse(
        name, "select 1", tuple(oids)
    )


def test_every_cut_of_a_message_is_refused() -> None:
    built = raw_wire.bind("p", "s", [b"abc", None], [0, 1], [1])[5:]
    for end in range(len(built)):
        with pytest.raises(ProtocolViolation):
            messages.parse_bind(built[:end])


@pytest.mark.parametrize("length", [3, 0, 10_001, -1])
def test_lengths_of_small_messages(length: int) -> None:
    with pytest.raises(ProtocolViolation) as raised:
        messages.check_length(ord("S"), length)
    assert raised.value.fatal


def test_lengths_of_large_messages() -> None:
    assert messages.check_length(ord("Q"), (1 << 30) - 1) == (1 << 30) - 5
    with pytest.raises(ProtocolViolation):
        messages.check_length(ord("Q"), 1 << 30)


@pytest.mark.parametrize("kind", [0, ord("Z"), ord("b"), 255])
def test_unknown_types_are_fatal(kind: int) -> None:
    with pytest.raises(ProtocolViolation) as raised:
        messages.check_length(kind, 4)
    assert raised.value.fatal


def test_error_response_carries_all_fields() -> None:
    error = SqlError("bad", detail="why", hint="how", position=7, where="COPY t, line 1")
    (answer,) = raw_wire.split(replies.error_response(error, replies.FATAL))
    assert answer.kind == "E"
    assert answer.fields == {
        "S": "FATAL", "V": "FATAL", "C": "XX000", "M": "bad",
        "D": "why", "H": "how", "P": "7", "W": "COPY t, line 1",
    }  # fmt: skip


def test_error_response_names_the_routine_that_drivers_ask_for() -> None:
    (answer,) = raw_wire.split(replies.error_response(StalePlan("bad")))
    assert (answer.fields["C"], answer.fields["R"]) == ("0A000", "RevalidateCachedQuery")


def test_text_with_a_nul_cannot_break_a_message() -> None:
    (answer,) = raw_wire.split(replies.notice_response(Notice("a\0b\ud800")))
    assert answer.fields["M"] == "ab?"


def test_row_description() -> None:
    columns = [ResultColumn("n", numeric(10, 2), 7, 3), ResultColumn("t", TEXT)]
    (answer,) = raw_wire.split(replies.row_description(tuple(columns), (0, 1)))
    typmod = ((10 << 16) | 2) + 4
    assert answer.payload == (
        struct.pack("!H", 2)
        + b"n\0" + struct.pack("!IhIhih", 7, 3, 1700, -1, typmod, 0)
        + b"t\0" + struct.pack("!IhIhih", 0, 0, 25, -1, -1, 1)
    )  # fmt: skip


def test_parameter_description() -> None:
    (answer,) = raw_wire.split(replies.parameter_description([INT4, TEXT]))
    assert answer.payload == struct.pack("!HII", 2, 23, 25)


@pytest.mark.parametrize(("binary", "form"), [(False, b"\0\0"), (True, b"\0\1")])
def test_copy_responses(binary: bool, form: bytes) -> None:
    assert replies.copy_in_response(binary, 2)[5:] == bytes([binary]) + b"\0\2" + form * 2
    assert replies.copy_out_response(binary, 1)[0:1] == b"H"
