"""Every case on PostgreSQL: the result is what the file says, and the same on a second run."""

from __future__ import annotations

import pytest

from tests.support import case_files, case_runner
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle

_FILES = case_files.read_all()


@pytest.mark.parametrize("name", _FILES)
def test_cases_mean_what_they_say(name: str, oracle: Oracle) -> None:
    """Setup succeeds, an error mark names PostgreSQL's SQLSTATE, all else succeeds, and a second run agrees."""
    statements = _FILES[name]
    with oracle.database(f"cases_{name}") as dsn:
        first = case_runner.run(statements, dsn)
    with oracle.database(f"cases_{name}") as dsn:
        second = case_runner.run(statements, dsn, first)
    wrong = [
        f"{statement.name}: expected {statement.sqlstate or 'success'}, got {outcome.sqlstate} {outcome.message}"
        for statement, outcome in zip(statements, first, strict=True)
        if outcome.sqlstate != statement.sqlstate
    ]
    for statement, one, other in zip(statements, first, second, strict=True):
        wrong += [
            f"{statement.name}: not the same twice: {line}" for line in differences(one, other, statement.ordered)
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
