"""Seeded transactions: generated statements and scripts, mutations of these and of the suites, and parser stress.

A seed and a number determine the transaction in every process; a case added to the suites changes only the
transactions that draw next to it.
"""

from __future__ import annotations

import bisect
import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.tables import schema
from tests.support.case_files import read_all
from tests.support.fuzz import clauses, constructs, mutations, shapes
from tests.support.fuzz.scripts import script
from tests.support.generated import casts, expressions, operators, queries
from tests.support.generated.statement import Made

_QUERIES = Path(__file__).parents[3] / "benchmarks" / "queries"


@dataclass(frozen=True, slots=True)
class Transaction:
    """Statements that run one after the other within a transaction in a time zone.

    `settled` if each has one answer: its order is total, and nothing describes the server itself.
    """

    statements: tuple[str, ...]
    settled: bool = False
    zone: str = "UTC"


@cache
def _corpus() -> tuple[list[bytes], list[str]]:
    """Every statement of the differential cases and the benchmarks, by a digest of its text."""
    found = {each.sql for statements in read_all().values() for each in statements}
    found |= {path.read_text(encoding="utf-8") for path in _QUERIES.glob("*/q*.sql")}
    placed = sorted((hashlib.sha256(sql.encode()).digest(), sql) for sql in found)
    return [digest for digest, _ in placed], [sql for _, sql in placed]


def _known(chance: random.Random) -> str:
    """A statement of the corpus: the first at or after a random digest, so a new case rarely changes it."""
    digests, statements = _corpus()
    return statements[bisect.bisect(digests, chance.randbytes(32)) % len(statements)]


def setup() -> list[str]:
    """Statements that create the tables of the corpus."""
    found = [";\n".join(schema(suite.name)) for suite in sorted(_QUERIES.iterdir())]
    found += [each.sql for statements in read_all().values() for each in statements if each.setup]
    return [*found, *expressions.SETUP, *queries.SETUP]


_MAKERS: dict[str, Callable[[random.Random], Made | str]] = {
    "expression": lambda chance: next(expressions.statements(chance, 1)),
    "query": lambda chance: next(queries.statements(chance, 1)),
    "operator": operators.one,
    "cast": casts.one,
    "construct": constructs.statement,
    "clause": clauses.statement,
}
_WEIGHTS = (1, 2, 1, 1, 3, 3)


def well_formed(chance: random.Random) -> Made:
    """A statement of the generated suites, of `constructs` or of `clauses`."""
    made = _MAKERS[chance.choices(tuple(_MAKERS), _WEIGHTS)[0]](chance)
    return made if isinstance(made, Made) else Made("construct", made)


def _well_formed(chance: random.Random) -> Transaction:
    made = well_formed(chance)
    return Transaction((made.sql,), settled=True, zone=made.zone)


def _changed(chance: random.Random) -> Transaction:
    return Transaction((mutations.mutated(chance, _known(chance), _known(chance)),))


def _broken(chance: random.Random) -> Transaction:
    return Transaction((mutations.mutated(chance, well_formed(chance).sql, well_formed(chance).sql),))


def _single(make: Callable[[random.Random], str]) -> Callable[[random.Random], Transaction]:
    return lambda chance: Transaction((make(chance),))


_KINDS: dict[Callable[[random.Random], Transaction], float] = {
    _well_formed: 36,
    _changed: 22,
    _broken: 16,
    _single(shapes.expression): 8,
    lambda chance: Transaction(tuple(script(chance)), settled=True): 1.6,
    _single(lambda chance: mutations.noise(chance, _known(chance), _known(chance))): 2,
    _single(shapes.strain): 2.5,
    _single(shapes.megabyte): 0.15,
}
"""Weights of the kinds; a script has about fifteen statements."""


def transaction(seed: int, number: int) -> Transaction:
    """Returns the transaction of a seed and a number."""
    chance = random.Random(f"{seed} {number}")
    made = chance.choices(tuple(_KINDS), tuple(_KINDS.values()))[0](chance)
    # NUL ends a message's text: it is tested with the protocol
    return Transaction(tuple(sql.replace("\0", "") for sql in made.statements), made.settled, made.zone)


def transactions(seed: int, count: int, first: int = 0) -> Iterator[tuple[int, Transaction]]:
    """Transactions from the `first` on with their numbers, until they have at least `count` statements."""
    drawn, number = 0, first
    while drawn < count:
        made = transaction(seed, number)
        yield number, made
        drawn, number = drawn + len(made.statements), number + 1
