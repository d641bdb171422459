"""Patterns that take for ever: they end with their statement, nobody waits for them, and no answer changes by it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from gpudb.duckdb.udf import matcher, regex
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.case_files import read_all
from tests.support.sessions import fails, run, value, wait_until

HOSTILE = [
    r"SELECT repeat('a', 60) || 'b' ~ '^(a|aa)+(b)\2$'",
    r"SELECT regexp_replace(repeat('a', 60) || 'b', '^(a|aa)+(b)\2$', '')",
    r"SELECT count(*) FROM (SELECT repeat('a', 60 + g % 7) || 'b' AS s FROM generate_series(1, 3000) g)"
    r" WHERE s ~ '^(a|aa)+(b)\2$'",
    r"""SELECT jsonb_path_exists(to_jsonb(repeat('a', 60) || 'b'), '$ ? (@ like_regex "^(a|aa)+(b)\\2$")')""",
]
LINEAR = [
    r"SELECT repeat('a', 300) LIKE repeat('%a', 5) || 'b'",
    r"SELECT repeat('a', 3000) LIKE repeat('%a', 50) || '_' || chr(92) || 'b'",
    r"SELECT repeat('a', 3000) ILIKE repeat('%A_', 50) || 'b'",
    r"SELECT repeat('a', 300)::bytea LIKE (repeat('%a', 9) || 'b')::bytea",
    r"SELECT repeat('a', 3000) SIMILAR TO repeat('(a|aa)*', 9) || 'b'",
    r"SELECT repeat('a', 300) ~ ('^(a|aa)+' || 'c$')",
]


@pytest.mark.parametrize("sql", HOSTILE[:3])
def test_a_timeout_ends_it(session: Session, sql: str) -> None:
    run(session, "SET statement_timeout = '300ms'")
    error = fails(session, sql)
    assert (error.sqlstate, error.message) == ("57014", "canceling statement due to statement timeout")
    assert value(session, "SELECT 1") == 1


def test_without_a_statement_it_has_its_own_limit(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "LIMIT_S", 0.2)
    assert fails(session, HOSTILE[3]).sqlstate == "54000"


@pytest.mark.parametrize("sql", LINEAR)
def test_time_is_linear(session: Session, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: object) -> None:
        raise AssertionError("it is tried in a process")

    monkeypatch.setattr(matcher, "call", call)
    assert value(session, sql) is False


def test_others_go_on_and_a_cancel_ends_it(session: Session, other: Session) -> None:
    ended: list[str] = []

    def work() -> None:
        try:
            run(session, HOSTILE[0])
        except GpudbError as error:
            ended.append(error.sqlstate)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: session.running.active, "it runs")
    for _ in range(20):
        assert value(other, "SELECT 1") == 1
    assert not ended
    session.cancel()
    thread.join(60)
    assert ended == ["57014"]


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every call is taken to a process at once; the names of those that were."""
    called: list[str] = []
    real: Callable[..., Any] = matcher.call

    def call(name: str, *others: Any) -> Any:
        called.append(name)
        return real(name, *others)

    monkeypatch.setattr(matcher, "call", call)
    monkeypatch.setattr(regex, "QUICK_S", 0.0)
    return called


def _answers() -> list[Any]:
    found: list[Any] = []
    with closing(Database(None)) as database, closing(database.session("gpudb")) as session:
        files = read_all()
        for sql in (r"SELECT 'abab' ~ '(ab)\1'", *(each.sql for each in files["mixed_regex"] + files["texts"])):
            try:
                found.append(sorted(run(session, sql), key=repr))
            except GpudbError as error:
                found.append((error.sqlstate, error.message))
    return found


def test_processes_answer_alike(in_processes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    there = _answers()
    assert {"is_match", "replace", "substring", "find_groups"} <= {*in_processes}
    monkeypatch.undo()
    assert _answers() == there
