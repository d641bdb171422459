"""Tables whose joins and groups are fused: a large one and a small one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lab import Lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """`f` of 20,000 rows, `g` of 41, and `points` with vectors of three dimensions."""
    made = Lab()
    made.run("CREATE TABLE f AS SELECT i % 50 AS k, i % 17 AS a FROM generate_series(1, 20000) i")
    made.run("CREATE TABLE g AS SELECT i AS k, 'n' || i % 3 AS name, i * 10 AS v FROM generate_series(0, 40) i")
    made.run(
        "CREATE TABLE points AS SELECT i AS k, ARRAY[i % 13, i % 7, i % 3]::vector(3) AS v FROM generate_series(1, 91) i"
    )
    yield made
    made.close()
