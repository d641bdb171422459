"""Generated statements: gpudb's rows, types, modifiers and SQLSTATEs equal PostgreSQL's, except listed differences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import case_files
from tests.support.generated import casts, expressions, operators, queries
from tests.support.generated.compare import Side, compared
from tests.support.generated.differences import entries, reason
from tests.support.generated.statement import Made
from tests.support.oracle.server import Oracle

SEED = 20261121
LEAST = 1_000
WHOLE_SUITE = 3_000
EQUAL = 0.99

_GUIDE = Path(__file__).parents[3] / "docs/differences.md"

Making = Callable[[random.Random, int], Iterator[Made]]
_MAKERS: dict[str, tuple[Making, int, int]] = {
    "operators": (operators.statements, 1, 20),
    "casts": (casts.statements, 1, 20),
    "expressions": (expressions.statements, 200, 20_000),
    "queries": (queries.statements, 150, 10_000),
}
"""Each generator with its number of statements in every run and in the long suite."""

SETUP = (*expressions.SETUP, *queries.SETUP)


def made(name: str, seed: int, count: int) -> list[Made]:
    """A generator's statements without duplicates."""
    return list(dict.fromkeys(_MAKERS[name][0](random.Random(f"{seed} {name}"), count)))


@pytest.fixture(scope="module")
def sides(oracle: Oracle, gpudb_server: str) -> Iterator[tuple[Side, Side]]:
    """A session on each server over the same tables."""
    both = Side(oracle.dsn), Side(gpudb_server)
    for side in both:
        for sql in SETUP:
            outcome = side.run(Made("setup", sql))
            assert not outcome.failed, f"{sql}\n{outcome.sqlstate} {outcome.message}"
    yield both
    for side in both:
        side.close()


def _check(statements: list[Made], sides: tuple[Side, Side]) -> None:
    found = [each for each in compared(*sides, statements) if each is not None]
    faults = [each for each in found if reason(each) is None]
    assert not faults, f"{len(faults)} of {len(statements)} differ:\n" + "\n".join(map(str, faults[:20]))
    assert len(found) <= len(statements) * (1 - EQUAL), f"{len(found)} of {len(statements)} differ on purpose"


@pytest.mark.timeout(300)
def test_same_as_postgresql(sides: tuple[Side, Side]) -> None:
    _check([each for name, (_, count, _) in _MAKERS.items() for each in made(name, SEED, count)], sides)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_same_as_postgresql(sides: tuple[Side, Side]) -> None:
    _check([each for name, (_, _, count) in _MAKERS.items() for each in made(name, SEED + 1, count)], sides)


def test_there_are_enough() -> None:
    """The suites have the required number of statements, with the case files'."""
    generated = {each for name, (_, count, _) in _MAKERS.items() for each in made(name, SEED, count)}
    cases = sum(not statement.setup for statements in case_files.read_all().values() for statement in statements)
    assert len(generated) >= LEAST
    assert len(generated) + cases >= WHOLE_SUITE


def test_the_guide_lists_every_difference() -> None:
    """Each intended difference is a row of a table in the guide."""
    rows = [line for line in _GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    missing = [entry.row for entry in entries() if not any(entry.row in row for row in rows)]
    assert not missing
