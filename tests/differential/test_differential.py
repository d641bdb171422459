"""Every case statement: gpudb and PostgreSQL return the same rows, names, types, and errors with their messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.support import case_files, case_runner
from tests.support.oracle.compare import assert_same, differences
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import Outcome
from tests.support.server_program import running_server

_FILES = case_files.read_all()
_ALL = [(name, number) for name, statements in _FILES.items() for number in range(len(statements))]

Pairs = list[tuple[Outcome, Outcome]]


class Comparison:
    """Both servers' outcomes of each case file, computed when its first statement is needed."""

    def __init__(self, oracle_dsn: str, gpudb_dsn: str) -> None:
        self._oracle_dsn = oracle_dsn
        self._gpudb_dsn = gpudb_dsn
        self.pairs = cache(self._run)

    def _run(self, name: str) -> Pairs:
        statements = _FILES[name]
        expected = case_runner.run(statements, self._oracle_dsn)
        return list(zip(expected, case_runner.run(statements, self._gpudb_dsn, expected), strict=True))


@pytest.fixture(scope="module")
def comparison(
    oracle: Oracle, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Comparison]:
    """The outcomes to compare, on a database and a server of their own: the files leave hundreds of tables."""
    with ExitStack() as stack:
        dsn: str | None = request.config.getoption("--gpudb-dsn")
        if dsn is None:
            dsn = stack.enter_context(running_server(tmp_path_factory.mktemp("gpudb-differential")))
        yield Comparison(stack.enter_context(oracle.database("differential")), dsn)


@pytest.mark.parametrize(("name", "number"), _ALL, ids=[_FILES[name][number].name for name, number in _ALL])
def test_same_as_postgresql(name: str, number: int, comparison: Comparison) -> None:
    """Each statement is compared on its own; setup statements must succeed on both servers.

    PostgreSQL's outcome is what the file says: an error mark names its SQLSTATE, all else succeeds.
    """
    statement = _FILES[name][number]
    expected, actual = comparison.pairs(name)[number]
    assert expected.sqlstate == statement.sqlstate, (
        f"{statement.sql}\nPostgreSQL: {expected.sqlstate} {expected.message}"
    )
    if statement.setup:
        assert actual.sqlstate is None, f"{statement.sql}\ngpudb: {actual.sqlstate} {actual.message}"
        return
    if statement.differs:
        assert differences(expected, actual, statement.ordered), f"{statement.sql}\nno longer differs"
        return
    if statement.refused is not None:
        assert actual.sqlstate == statement.refused, f"{statement.sql}\nis no longer refused: {actual}"
        return
    try:
        assert_same(expected, actual, statement.ordered, statement.messages)
    except AssertionError as error:
        raise AssertionError(f"{statement.name}\n{statement.sql}\n{error}") from None
