"""The clients of bench_wire: every case is answered, and its rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks.wire_client import CASES, SETUP, Client, connect, list_rows, read_answer, run
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support.wire_server import serving

ROWS = {"SELECT 1": 1, "by key": 1, "grouped": 10}


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    database = Database(None)
    with closing(database.session("gpudb")) as session:
        for result in (result for statement in SETUP for result in session.run(statement)):
            result.close()
    with serving(database) as made:
        yield made


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_answered(server: PgServer, case: str) -> None:
    first, steps = CASES[case]
    with closing(connect(*server.address, "gpudb", "gpudb")) as connection:
        client = Client(connection)
        if first:
            connection.sendall(first)
            read_answer(connection)
        for step in steps:
            connection.sendall(step)
            client.answer.append(read_answer(connection))
        assert len(run([client], steps, 0.0)) == 1
    assert sum(len(list_rows(answer)) for answer in client.answer) == ROWS[case.partition(",")[0]]
