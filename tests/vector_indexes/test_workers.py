"""Indexes of vectors on workers, CPU ones and GPUs: rows beside those of exact searches, through a client."""

from __future__ import annotations

import math
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine
from tests.vector_indexes.test_searches import DIMENSIONS, MATRIX, NEAREST, QUERIES, ROWS, K, text_of

METHODS = {
    "hnsw (v vector_l2_ops)": "<->",
    "cagra (v vector_cosine_ops) WITH (graph_degree = 32)": "<=>",
    "ivf_flat (v vector_ip_ops) WITH (lists = 20)": "<#>",
    "ivf_pq (v) WITH (lists = 20, pq_dim = 16)": "<->",
    "hnsw (h halfvec_l2_ops)": "<->",
    "ivf_flat (h halfvec_cosine_ops) WITH (lists = 20)": "<=>",
}


@pytest.fixture(scope="module", params=[each for each in ENGINES if "cpu" not in str(each)])
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    columns = f"id int, kind int, name text, v vector({DIMENSIONS}), h halfvec({DIMENSIONS})"
    setup = f"CREATE TABLE items ({columns}); CREATE TABLE kinds (kind int)"
    with client_of_engine(request.param, setup) as connection:
        connection.execute("INSERT INTO kinds VALUES (1), (3), (4)")
        with connection.cursor().copy("COPY items FROM STDIN") as copy:
            for number in range(ROWS):
                vector = None if number % 50 == 9 else text_of(MATRIX[number])
                copy.write_row((number, number % 10, f"name {number}", vector, vector))
        if "gpu" in request.param:
            # GPU workers compute few rows on their host. These are far from all queries.
            places = ", ".join(f"sin(i * {place + 1})" for place in range(DIMENSIONS))
            far = f"ARRAY[{places}]::float4[]"
            connection.execute(
                f"INSERT INTO items SELECT 100000 + i, i % 10, 'far', {far}, {far} FROM generate_series(1, 20000) AS i"
            )
        yield connection


@pytest.fixture
def near(client: psycopg.Connection) -> Iterator[psycopg.Connection]:
    yield client
    client.execute("DROP INDEX IF EXISTS near; RESET ALL")


def exactly(client: psycopg.Connection, sql: str) -> list[tuple[object, ...]]:
    client.execute("SET enable_indexscan = off")
    rows = client.execute(sql).fetchall()
    client.execute("RESET enable_indexscan")
    return rows


def are_alike(rows: list[tuple[int, float]], others: list[tuple[int, float]]) -> bool:
    """Whether ids are equal, and distances but for the order of their sums: GPUs compute few rows on their host."""
    same = [row[0] for row in rows] == [row[0] for row in others]
    return same and all(
        math.isclose(one, other, abs_tol=1e-12) for (_, one), (_, other) in zip(rows, others, strict=True)
    )


def plan_of(client: psycopg.Connection, sql: str) -> str:
    return "\n".join(row[0] for row in client.execute(f"EXPLAIN {sql}").fetchall())


@pytest.mark.parametrize("what", METHODS)
def test_an_index_finds_nearly_all_of_the_nearest_rows(near: psycopg.Connection, what: str) -> None:
    near.execute(f"CREATE INDEX near ON items USING {what}")
    shared = 0
    for query in QUERIES:
        sql = NEAREST.format(METHODS[what], text_of(query), "", K)
        if "(h" in what:
            sql = sql.replace(" v ", " h ").replace("::vector", "::halfvec")
        assert "Index Scan using near on items" in plan_of(near, sql)
        found, wanted = near.execute(sql).fetchall(), exactly(near, sql)
        assert [row[1] for row in found] == sorted(row[1] for row in found)
        known = dict(exactly(near, sql.replace(f"LIMIT {K}", f"LIMIT {ROWS}")))
        assert all(math.isclose(known[number], distance, abs_tol=1e-12) for number, distance in found)
        shared += len({row[0] for row in found} & {row[0] for row in wanted})
    assert shared >= 0.95 * K * len(QUERIES)


def test_filters_and_joins_lose_no_row(near: psycopg.Connection) -> None:
    near.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
    order = f"ORDER BY i.v <-> '{text_of(QUERIES[0])}' LIMIT 10"
    for sql in (
        f"SELECT id, name FROM items i WHERE kind = 3 {order}",
        f"SELECT id FROM items i WHERE kind < 5 AND name LIKE '%7' {order} OFFSET 5",
        f"SELECT id, i.kind FROM items i JOIN kinds k ON k.kind = i.kind {order}",
        f"SELECT id FROM items i WHERE EXISTS (SELECT FROM kinds k WHERE k.kind = i.kind) {order}",
        f"SELECT count(*), sum(id) FROM (SELECT id FROM items i {order}) AS s",
        f"SELECT id FROM items i WHERE id < 30 {order}",
        f"SELECT id FROM items i WHERE id < 5 {order}",
        f"SELECT id FROM items i WHERE v IS NULL {order.replace(' LIMIT', ', id LIMIT')}",
        f"SELECT id FROM items i {order.replace('LIMIT 10', 'LIMIT 3900')}",
        f"SELECT id FROM items i {order.replace(' LIMIT', ' DESC LIMIT')}",
        f"SELECT id FROM kinds k LEFT JOIN items i ON i.kind = k.kind {order}",
    ):
        assert near.execute(sql).fetchall() == exactly(near, sql), sql
    with pytest.raises(psycopg.errors.DataException, match="different vector dimensions"):
        near.execute("SELECT id FROM items ORDER BY v <-> '[1,2]' LIMIT 3")


def test_new_and_deleted_rows_count_at_once(near: psycopg.Connection) -> None:
    near.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
    sql = NEAREST.format("<->", text_of(QUERIES[2]), "", K)
    first = near.execute(sql).fetchall()
    near.execute(f"INSERT INTO items VALUES (9000, 0, 'new', '{text_of(QUERIES[2])}')")
    assert are_alike(near.execute(sql).fetchall(), [(9000, 0), *first[:-1]])
    gone = [row[0] for row in first[:4]]
    near.execute("DELETE FROM items WHERE id = ANY(%s)", (gone,))
    second = near.execute(sql).fetchall()
    assert are_alike(second[:6], [(9000, 0), *first[4:9]])
    assert are_alike(second, exactly(near, sql))
    near.execute("DELETE FROM items WHERE id = 9000")
    assert are_alike(near.execute(sql).fetchall()[:6], first[4:])
    for number in gone:
        near.execute(f"INSERT INTO items VALUES ({number}, {number % 10}, 'again', '{text_of(MATRIX[number])}')")
    assert are_alike(near.execute(sql).fetchall(), first)


def test_a_search_of_one_list_of_many_misses_rows(near: psycopg.Connection) -> None:
    near.execute("CREATE INDEX near ON items USING ivf_flat (v vector_l2_ops) WITH (lists = 200)")
    near.execute("SET ivf_flat.probes = 1")
    statements = [NEAREST.format("<->", text_of(query), "", K) for query in QUERIES]
    found = [near.execute(sql).fetchall() for sql in statements]
    assert all(len(rows) == K for rows in found)
    assert found != [exactly(near, sql) for sql in statements]
