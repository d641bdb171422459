"""The extended protocol (Parse, Bind, Describe, Execute): gpudb and PostgreSQL answer alike, statement by statement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import case_files, case_runner
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle
from tests.support.server_program import running_server

_FILES = case_files.read_all()


@pytest.fixture(scope="module")
def fresh_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A separate gpudb server, because the case files' tables are created again."""
    given: str | None = request.config.getoption("--gpudb-dsn")
    if given is not None:
        pytest.skip("the server that runs already holds the case files' tables")
    with running_server(tmp_path_factory.mktemp("gpudb-extended")) as dsn:
        yield dsn


@pytest.mark.parametrize("name", case_files.sample(_FILES, 5))
def test_same_as_postgresql(name: str, oracle: Oracle, fresh_server: str) -> None:
    _compare(name, oracle, fresh_server)


@pytest.mark.soak
@pytest.mark.parametrize("name", _FILES)
def test_every_file_is_the_same_as_on_postgresql(name: str, oracle: Oracle, fresh_server: str) -> None:
    _compare(name, oracle, fresh_server)


def _compare(name: str, oracle: Oracle, fresh_server: str) -> None:
    """Compares every statement of a case file, prepared and executed by protocol messages."""
    statements = _FILES[name]
    with oracle.database(f"extended_{name}") as dsn:
        expected = case_runner.run(statements, dsn, extended=True)
    actual = case_runner.run(statements, fresh_server, expected, extended=True)
    found = [
        f"{statement.name}: {line}"
        for statement, one, other in zip(statements, expected, actual, strict=True)
        if statement.refused is None and not statement.differs
        for line in differences(one, other, statement.ordered)
    ]
    assert not found, "\n".join(found)
