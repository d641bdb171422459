"""A database whose workers are starting: statements over tables wait for them, all others run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gpudb.config.database import DatabaseSettings
from gpudb.engine.starting import WAIT_EVENT
from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.session.database import Database
from tests.support.http_client import wait_for
from tests.support.sessions import run


class Start:
    """A start of workers that ends when the test says so."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.error: BaseException | None = None

    def __call__(self, embedded: Any, *_: object) -> Any:
        self.may_end.wait()
        if self.error is not None:
            raise self.error
        facts = {"name": "twin", "scores_trees": False, "members": 7, "close": lambda: None}
        return SimpleNamespace(run=embedded.run, explain=embedded.explain, **facts)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    start = Start()
    monkeypatch.setattr("gpudb.session.database.start_cluster", start)
    return start


@pytest.fixture
def database(start: Start) -> Iterator[Database]:
    database = Database(None, DatabaseSettings(engine="twin"), waits=False)
    yield database
    start.may_end.set()
    database.close()


def ask(database: Database, sql: str, found: list[object]) -> threading.Thread:
    """Runs a statement in a session of its own, on a thread; its rows or its error are appended."""
    session = database.session("gpudb")

    def ask_it() -> None:
        try:
            found.extend(run(session, sql))
        except GpudbError as error:
            found.append(error)

    thread = threading.Thread(target=ask_it)
    thread.start()
    return thread


def waits(database: Database) -> bool:
    return any(session.running.waits_for == WAIT_EVENT for session in database.sessions())


def test_statements_over_tables_wait_for_workers_and_others_do_not(database: Database, start: Start) -> None:
    done: list[object] = []
    ask(database, "CREATE TABLE t AS VALUES (1), (2); SELECT 3", done).join()
    assert done == [(3,)]
    found: list[object] = []
    thread = ask(database, "SELECT sum(column1) AS x FROM t", found)
    wait_for(lambda: waits(database))
    assert not found
    assert database.cluster is None
    start.may_end.set()
    thread.join()
    assert found == [(3,)]
    assert database.members == 7


def test_a_cancel_ends_the_wait(database: Database) -> None:
    ask(database, "CREATE TABLE t (a int)", []).join()
    found: list[object] = []
    thread = ask(database, "SELECT a FROM t", found)
    wait_for(lambda: waits(database))
    for session in database.sessions():
        session.cancel()
    thread.join()
    assert [type(each) for each in found] == [QueryCanceled]


def test_statements_tell_why_workers_could_not_start(database: Database, start: Start) -> None:
    ask(database, "CREATE TABLE t (a int)", []).join()
    start.error = SqlError.of("object_in_use", "the GPU is in use by another gpudb")
    start.may_end.set()
    for _ in range(2):
        found: list[object] = []
        ask(database, "SELECT a FROM t", found).join()
        assert found == [start.error]
    assert database.cluster_start is not None
    assert database.cluster_start.error is start.error


def test_a_database_of_this_process_is_not_made_without_its_workers(start: Start) -> None:
    start.error = SqlError.of("object_in_use", "the GPU is in use by another gpudb")
    start.may_end.set()
    with pytest.raises(SqlError, match="in use"):
        Database(None, DatabaseSettings(engine="twin"))
