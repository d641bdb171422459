"""Case files on PostgreSQL: results are the same on a second run. `test_differential` compares them with the files."""

from __future__ import annotations

import pytest

from tests.support import case_files, case_runner
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle

_FILES = case_files.read_all()


@pytest.mark.parametrize("name", case_files.sample(_FILES, 8))
def test_cases_are_the_same_twice(name: str, oracle: Oracle) -> None:
    _run_twice(name, oracle)


@pytest.mark.soak
@pytest.mark.parametrize("name", _FILES)
def test_every_case_is_the_same_twice(name: str, oracle: Oracle) -> None:
    _run_twice(name, oracle)


def _run_twice(name: str, oracle: Oracle) -> None:
    statements = _FILES[name]
    outcomes = []
    for _ in range(2):
        with oracle.database(f"cases_{name}") as dsn:
            outcomes.append(case_runner.run(statements, dsn, *outcomes))
    wrong = [
        f"{statement.name}: not the same twice: {line}"
        for statement, one, other in zip(statements, *outcomes, strict=True)
        for line in differences(one, other, statement.ordered)
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_enough_messages() -> None:
    """At least 300 errors are compared with message, detail, hint and position."""
    errors = [each for statements in _FILES.values() for each in statements if each.messages and each.sqlstate]
    assert len(errors) >= 300


def test_there_are_enough_cases() -> None:
    """The suite compares at least 1000 statements."""
    cases = [statement for statements in _FILES.values() for statement in statements if not statement.setup]
    assert len(cases) >= 1000
