"""Tables of different sizes, whose statistics decide how rules apply."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lab import Lab

SETUP = """
CREATE TABLE facts (id int, a int, b int, c int, v numeric(10,2), d date);
INSERT INTO facts SELECT i, i % 400, i % 40, i % 4, i, date '2020-01-01' + i % 1000 FROM generate_series(1, 40000) i;
CREATE TABLE dim_a (a int PRIMARY KEY, b int, name text);
INSERT INTO dim_a SELECT i, i % 40, 'a' || i FROM generate_series(0, 399) i;
CREATE TABLE dim_b (b int PRIMARY KEY, c int, name text);
INSERT INTO dim_b SELECT i, i % 4, 'b' || i FROM generate_series(0, 39) i;
CREATE TABLE dim_c (c int PRIMARY KEY, name text);
INSERT INTO dim_c SELECT i, 'c' || i FROM generate_series(0, 3) i
"""


@pytest.fixture(scope="session")
def star() -> Iterator[Lab]:
    """A fact table and three dimensions."""
    made = Lab()
    for statement in SETUP.split(";"):
        made.run(statement)
    yield made
    made.close()
