"""Shares of TABLESAMPLE as parameters: of every type that clients send, and the errors of those that are none."""

from __future__ import annotations

from decimal import Decimal

import psycopg
import pytest

from tests.support.oracle.server import Oracle


@pytest.mark.parametrize(
    ("sample", "values"),
    [
        ("bernoulli(%s)", [100]),
        ("bernoulli(%s)", [0]),
        ("bernoulli(%s::float8)", [100]),
        ("system(%s)", [Decimal("100")]),
        ("bernoulli(%s) repeatable (%s)", ["100", 5]),
        ("bernoulli(%s)", [None]),
        ("bernoulli(%s)", [101]),
        ("bernoulli(%s)", [-1.5]),
        ("bernoulli(%s) repeatable (%s)", [50, None]),
        ("bernoulli(%s)", ["much"]),
    ],
)
def test_samples_are_those_of_postgresql(oracle: Oracle, gpudb_server: str, sample: str, values: list[object]) -> None:
    said = []
    for dsn in (oracle.dsn, gpudb_server):
        with psycopg.connect(dsn) as client:
            client.execute("CREATE TABLE sample_parameters AS SELECT generate_series(1, 1000) AS i")
            try:
                said.append(
                    client.execute(f"SELECT count(*) FROM sample_parameters TABLESAMPLE {sample}", values).fetchone()
                )
            except psycopg.Error as error:
                said.append((error.sqlstate, error.diag.message_primary))
            client.rollback()
    assert said[0] == said[1]


def test_a_share_between(gpudb_server: str) -> None:
    with psycopg.connect(gpudb_server) as client:
        client.execute("CREATE TABLE sampled_share AS SELECT generate_series(1, 10000) AS i")
        counts = [
            client.execute(
                "SELECT count(*) FROM sampled_share TABLESAMPLE bernoulli(%s) REPEATABLE (%s)", (share, 7), prepare=True
            ).fetchone()
            for share in (20.5, 60, 20.5, 20.5, 60, 20.5)
        ]
        client.rollback()
    assert counts[0] == counts[2] == counts[3] == counts[5]
    assert counts[1] == counts[4]
    assert 1500 < (counts[0] or [0])[0] < 2600 < 5500 < (counts[1] or [0])[0] < 6500
