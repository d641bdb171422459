"""Random SELECTs over generated tables, each with the database that has its tables."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import count

from gpudb.engine.protocol import Request, Settings
from tests.support.fuzz.statements import well_formed
from tests.support.generated import expressions, queries
from tests.support.generated.statement import Made
from tests.support.gpu import random_stars
from tests.support.gpu.comparison import selected
from tests.support.gpu.random_tables import ROWS, tables
from tests.support.lab import Lab

EACH = 20
"""Statements for one database, since its tables are loaded to a GPU for each database."""
STARS = 5
"""Statements for one star: compilation of their kernels takes longer than all else."""
STAR_ROWS = (0, 1, 5, 40, 40, 40)


def drawn(seed: str) -> Iterator[tuple[str, Lab, Request]]:
    """Yields requests without end; each name has the seed that draws it again, and its text."""
    setups = {kind: [*tables(kind)] for kind in ROWS} | {"made": [*expressions.SETUP, *queries.SETUP]}
    labs = {kind: _made(setup) for kind, setup in setups.items()}
    try:
        for turn in count():
            chance = random.Random(f"{seed} {turn}")
            for kind, lab in labs.items():
                yield from _each(f"{kind}-{seed}-{turn}", lab, (_one(kind, chance) for _ in range(EACH)))
            calm = chance.random() < 0.4
            star = _made(random_stars.Star(chance, chance.choice(STAR_ROWS), calm).setup())
            try:
                found = (Made("star", random_stars.Maker(chance, calm).statement()) for _ in range(STARS))
                yield from _each(f"star-{seed}-{turn}", star, found)
            finally:
                star.close()
    finally:
        for lab in labs.values():
            lab.close()


def _made(setup: Iterable[str]) -> Lab:
    lab = Lab()
    for statement in setup:
        lab.run(statement)
    return lab


def _one(kind: str, chance: random.Random) -> Made:
    return well_formed(chance) if kind == "made" else next(queries.statements(chance, 1))


def _each(name: str, lab: Lab, statements: Iterable[Made]) -> Iterator[tuple[str, Lab, Request]]:
    for number, made in enumerate(statements):
        request = selected(lab, made.sql, Settings(timezone=made.zone))
        if request is not None:
            yield f"drawn:{name}-{number}: {made.sql}", lab, request
        lab.release()
