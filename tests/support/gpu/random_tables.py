"""Random rows for the tables of generated queries, and costs that treat them as large."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gpudb.plan.physical.exchange_planning import Costs
from tests.support.generated import queries

LONG_S = 1.0
"""A statement that takes the embedded engine longer is too large."""

CLOSE = Costs(exchange=0, broadcast=40, range=3, groups=3, share=0.3)

ROWS = {"few": (14, 4, 25), "many": (160, 23, 400), "one": (1, 1, 1), "none": (0, 0, 0)}
"""Row counts of people, teams and deals."""


def tables(kind: str) -> Iterator[str]:
    """The generated tables with random rows, many of them NULL or equal, in up to three files each."""
    yield from queries.SETUP[:-3]
    chance = random.Random(f"rows {kind}")
    texts = ("'ann'", "'bob'", "''", "'zoë'", "'x'", "'a b'", "'%'", "NULL")
    days = ("DATE '1990-02-28'", "DATE '2024-02-29'", "DATE '2023-12-31'", "DATE '0001-01-01'", "NULL")
    numbers = ("0.00", "-3.50", "10.00", "1000.00", "99999.99", "NULL")
    truths = ("true", "false", "NULL")
    people, teams, deals = ROWS[kind]
    ids = (*map(str, range(1, max(people, 2))), "99", "NULL", "NULL")
    makers = {
        "people": (people, (("1", "2", "3", "NULL"), texts, numbers, days)),
        "teams": (teams, (ids, texts, truths)),
        "deals": (deals, (ids, numbers, days, texts, truths)),
    }
    for name, (count, columns) in makers.items():
        rows = [f"({number}, {', '.join(map(chance.choice, columns))})" for number in range(1, count + 1)]
        for part in (rows[: count // 2], rows[count // 2 : -1], rows[-1:]):
            if part:
                yield f"INSERT INTO made.{name} VALUES {', '.join(part)}"
