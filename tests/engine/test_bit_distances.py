"""Bit strings of a declared length on every engine: distances, order, groups, joins and what workers leave to others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS, BITS = 500, 40
DRAWN = np.random.default_rng(3).random((ROWS, BITS)) < 0.3
DRAWN[7] = False
TEXTS = ["".join("01"[bit] for bit in row) for row in DRAWN.astype(int)]


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    setup = f"CREATE TABLE prints (id int, b bit({BITS}), w bit varying, c bit(8)); CREATE TABLE eights (c bit(8), d bit(4))"
    with client_of_engine(request.param, setup) as connection:
        with connection.cursor().copy("COPY prints FROM STDIN") as copy:
            for number, text in enumerate(TEXTS):
                copy.write_row((number, None if number % 50 == 3 else text, text[: number % 9 + 1], text[:8]))
        connection.execute("INSERT INTO eights SELECT DISTINCT c, c::text::bit(4) FROM prints WHERE id < 20")
        yield connection


@pytest.mark.parametrize("metric", ["b <%> {}", "b <~> {}", "gpu_similarity(b, {})", "jaccard_distance({}, b)"])
@pytest.mark.parametrize("to", [f"B'{TEXTS[5]}'", f"B'{TEXTS[5]}'::bit({BITS})", "b", f"B'{'0' * BITS}'"])
def test_distances_are_numpys(client: psycopg.Connection, metric: str, to: str) -> None:
    rows = client.execute(f"SELECT id, {metric.format(to)} FROM prints ORDER BY id").fetchall()
    other = DRAWN if to == "b" else DRAWN[7] if "1" not in to[:BITS] else DRAWN[5]
    common, either = (DRAWN & other).sum(1), (DRAWN | other).sum(1)
    similarity = common / np.maximum(either, 1)
    wanted = either - common if "<~>" in metric else similarity if "similarity" in metric else 1 - similarity
    assert rows == [(n, None if n % 50 == 3 else wanted[n]) for n in range(ROWS)]


def test_bit_strings_order_group_and_join(client: psycopg.Connection) -> None:
    present = [(n, text) for n, text in enumerate(TEXTS) if n % 50 != 3]
    by_text = sorted(present, key=lambda each: (each[1], each[0]))
    assert client.execute("SELECT id, b FROM prints WHERE b IS NOT NULL ORDER BY b, id").fetchall() == by_text
    nearest = sorted(present, key=lambda each: ((DRAWN[each[0]] ^ DRAWN[5]).sum(), each[0]))[:7]
    found = client.execute(
        f"SELECT id, b FROM prints WHERE id > -1 ORDER BY b <~> B'{TEXTS[5]}', id LIMIT 7"
    ).fetchall()
    assert found == nearest
    groups = client.execute("SELECT c, count(*) FROM prints GROUP BY c ORDER BY c").fetchall()
    assert [row[0] for row in groups] == sorted({text[:8] for text in TEXTS})
    assert sum(row[1] for row in groups) == ROWS
    mine = {text[:8] for text in TEXTS[:20]}
    joined = "SELECT count(*) FROM prints p JOIN eights e ON p.c = e.c"
    assert client.execute(joined).fetchone() == (sum(text[:8] in mine for text in TEXTS),)
    assert client.execute("SELECT count(*) FROM prints p JOIN eights e ON p.c = e.d").fetchone() == (0,)
    assert client.execute("SELECT count(*) FROM prints WHERE c = ANY (SELECT d FROM eights)").fetchone() == (0,)
    assert client.execute(f"SELECT id FROM prints WHERE b = B'{TEXTS[9]}'").fetchall() == [(9,)]
    assert client.execute("SELECT count(*) FROM prints WHERE c = B'10'").fetchone() == (0,)
    calls = "b::text, length(b), b | b, b::bit(3), c::bit varying, substring(b from 2 for 3), ~c, b::text || 'x'"
    assert client.execute(f"SELECT {calls} FROM prints WHERE id = 5").fetchone() == (
        TEXTS[5], BITS, TEXTS[5], TEXTS[5][:3], TEXTS[5][:8], TEXTS[5][1:4],
        TEXTS[5][:8].translate(str.maketrans("01", "10")), TEXTS[5] + "x",
    )  # fmt: skip
    united = "SELECT c FROM prints WHERE id = 5 UNION ALL SELECT d FROM eights WHERE c = (SELECT c FROM eights ORDER BY c LIMIT 1)"
    assert client.execute(f"SELECT * FROM ({united}) AS u(x) ORDER BY x DESC").fetchall()
    with pytest.raises(psycopg.Error, match="different bit lengths 40 and 3"):
        client.execute("SELECT b <~> B'101' FROM prints")


def test_columns_compute_them(client: psycopg.Connection) -> None:
    sql = f"SELECT id FROM prints WHERE id % 2 = 0 ORDER BY gpu_similarity(b, B'{TEXTS[5]}') DESC NULLS LAST LIMIT 3"
    plan = "\n".join(row[0] for row in client.execute(f"EXPLAIN {sql}").fetchall())
    assert "On Host" not in plan
    assert "Fallback" not in plan


def test_results_without_a_length_are_bit_strings(client: psycopg.Connection) -> None:
    """What a window, an aggregate or a CASE gives has the type bit, and workers keep bits of a length packed."""
    first, second = TEXTS[0][:8], TEXTS[1][:8]
    windows = "first_value(c) OVER o, lead(c) OVER o, lag(c, 1, B'1') OVER o, nth_value(c, 2) OVER (ORDER BY id DESC)"
    sql = f"SELECT {windows} FROM prints WHERE id < 2 WINDOW o AS (ORDER BY id) ORDER BY id"
    assert client.execute(sql).fetchall() == [(first, second, "1", first), (first, None, first, None)]
    aggregates = "any_value(c), percentile_disc(0.5) WITHIN GROUP (ORDER BY c), mode() WITHIN GROUP (ORDER BY c)"
    found = client.execute(f"SELECT {aggregates}, (array_agg(c))[1] FROM prints WHERE id = 1").fetchall()
    assert found == [(second,) * 4]
    chosen = "CASE WHEN id = 1 THEN c ELSE b END, coalesce(c, b), CASE WHEN id = 0 THEN c END"
    rows = client.execute(f"SELECT {chosen} FROM prints WHERE id < 2 ORDER BY id").fetchall()
    assert rows == [(TEXTS[0], first, first), (second, second, None)]
