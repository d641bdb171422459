"""Every case line: the same rows, types and SQLSTATE as PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.functions.evaluate import Evaluator, cases
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle

FOLDER = Path(__file__).parent / "cases"


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    yield made
    made.close()


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.sql")))
def test_expressions(file: str, oracle: Oracle, evaluator: Evaluator) -> None:
    wrong = []
    for case in cases(FOLDER):
        if case.file != file:
            continue
        oracle.execute(f"SET TimeZone = '{case.zone}'")
        expected = oracle.execute(case.sql)
        found = differences(expected, evaluator.execute(case.sql, case.zone), ordered=True)
        if found:
            wrong.append(f"{case} {case.text}\n    " + "\n    ".join(found))
    oracle.execute("SET TimeZone = 'UTC'")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)
