"""Indexes of vectors on the embedded engine: what they find beside exact searches, and that they follow the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gpudb
from gpudb.api.connection import Connection
from gpudb.catalog.vector_indexes import VECTOR_METHODS
from gpudb.errors import SqlError

ROWS, DIMENSIONS, K = 4000, 16, 10
_DRAWN = np.random.default_rng(5)
_CENTRES = _DRAWN.standard_normal((20, DIMENSIONS)) * 3
MATRIX = (_CENTRES[_DRAWN.integers(0, 20, ROWS)] + _DRAWN.standard_normal((ROWS, DIMENSIONS))).astype(np.float32)
QUERIES = (_CENTRES[:12] + _DRAWN.standard_normal((12, DIMENSIONS))).astype(np.float32)
BITS = _DRAWN.random((20, 64)) < 0.4
BITS = BITS[_DRAWN.integers(0, 20, ROWS)] ^ (_DRAWN.random((ROWS, 64)) < 0.1)
NEAREST = "SELECT id, v {0} '{1}'::vector FROM items {2} ORDER BY v {0} '{1}'::vector LIMIT {3}"


def text_of(vector: np.ndarray) -> str:
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def bits_of(row: np.ndarray) -> str:
    return "".join("01"[each] for each in row.astype(int))


def fill(db: Connection, table: str, first: int = 0, last: int = ROWS) -> None:
    """Inserts rows of the matrix; every fiftieth has no vector."""
    values = (
        f"({n}, {n % 10}, {'NULL' if n % 50 == 9 else repr(text_of(MATRIX[n]))}, B'{bits_of(BITS[n])}')"
        for n in range(first, last)
    )
    db.execute(f"INSERT INTO {table} VALUES {', '.join(values)}")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with gpudb.connect(tmp_path_factory.mktemp("filled")) as db:
        table = f"id int, kind int, v vector({DIMENSIONS}), b bit(64), h halfvec({DIMENSIONS})"
        db.execute(f"CREATE TABLE items ({table})")
        fill(db, "items")
        db.execute("UPDATE items SET h = v")
        yield db


@pytest.fixture
def db(filled: Connection) -> Iterator[Connection]:
    """The table without an index."""
    yield filled
    filled.execute("DROP INDEX IF EXISTS near; RESET ALL")


def exactly(db: Connection, sql: str) -> list[tuple[object, ...]]:
    """The rows of a query that uses no index."""
    db.execute("SET enable_indexscan = off")
    rows = list(db.sql(sql).fetchall())
    db.execute("RESET enable_indexscan")
    return rows


def plan_of(db: Connection, sql: str) -> str:
    return "\n".join(row[0] for row in db.sql(f"EXPLAIN {sql}").fetchall())


def uses_index(db: Connection, sql: str, name: str = "near") -> bool:
    return f"Index Scan using {name} on " in plan_of(db, sql)


def recall(db: Connection, statements: list[str]) -> float:
    """The share of an exact search's rows that the index finds; the distances of what it finds are exact."""
    shared = total = 0
    for sql in statements:
        assert uses_index(db, sql)
        found, wanted = db.sql(sql).fetchall(), exactly(db, sql)
        assert len(found) == len(wanted)
        assert [row[1] for row in found] == sorted(row[1] for row in found)
        known = dict(exactly(db, sql.replace(f"LIMIT {K}", f"LIMIT {ROWS}")))
        assert all(known[number] == distance for number, distance in found)
        shared += len({row[0] for row in found} & {row[0] for row in wanted})
        total += len(wanted)
    return shared / total


CASES = {
    "hnsw (v vector_l2_ops)": "<->",
    "hnsw (v vector_cosine_ops) WITH (m = 24, ef_construction = 100)": "<=>",
    "hnsw (v vector_ip_ops)": "<#>",
    "cagra (v)": "<->",
    "ivfflat (v vector_cosine_ops) WITH (lists = 20)": "<=>",
    "ivf_flat (v vector_ip_ops) WITH (lists = 20)": "<#>",
    "ivf_pq (v) WITH (lists = 20, pq_dim = 8)": "<->",
    "hnsw (h halfvec_l2_ops)": "<->",
    "hnsw (h halfvec_ip_ops)": "<#>",
    "ivfflat (h halfvec_cosine_ops) WITH (lists = 20)": "<=>",
    "ivf_flat (h) WITH (lists = 20)": "<->",
}


@pytest.mark.parametrize("what", CASES)
def test_an_index_finds_nearly_all_of_the_nearest_rows(db: Connection, what: str) -> None:
    db.execute(f"CREATE INDEX near ON items USING {what}")
    db.execute("SET ivfflat.probes = 10")
    statements = [NEAREST.format(CASES[what], text_of(query), "", K) for query in QUERIES]
    if "(h" in what:
        statements = [each.replace(" v ", " h ").replace("::vector", "::halfvec") for each in statements]
    assert recall(db, statements) >= 0.95


@pytest.mark.parametrize("what", ["hnsw (b bit_jaccard_ops)", "hnsw (b bit_hamming_ops)", "ivfflat (b)"])
def test_an_index_of_bits_finds_rows_as_near_as_the_nearest(db: Connection, what: str) -> None:
    db.execute(f"CREATE INDEX near ON items USING {what}")
    db.execute("SET hnsw.ef_search = 100; SET ivfflat.probes = 40")
    operator = "<%>" if "jaccard" in what else "<~>"
    same = 0
    for row in BITS[3:30:3]:
        sql = NEAREST.format(operator, bits_of(row), "", K).replace("v ", "b ").replace("'::vector", "'::bit(64)")
        assert uses_index(db, sql)
        found, wanted = ([each[1] for each in rows] for rows in (db.sql(sql).fetchall(), exactly(db, sql)))
        same += sum(one == other for one, other in zip(found, wanted, strict=True))
    assert same >= 0.95 * 9 * K  # many rows are equally near


def test_filters_joins_and_subqueries_lose_no_row(db: Connection) -> None:
    db.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
    to = text_of(QUERIES[0])
    order = f"ORDER BY i.v <-> '{to}' LIMIT 10"
    by_index = [
        f"SELECT id FROM items i WHERE kind = 3 {order}",
        f"SELECT id FROM items i WHERE kind < 5 {order} OFFSET 5",
        f"SELECT id, u.name FROM items i JOIN (VALUES (1, 'a'), (3, 'b')) AS u(kind, name) ON u.kind = i.kind {order}",
        f"SELECT id, u.name FROM items i LEFT JOIN (VALUES (1, 'a')) AS u(kind, name) USING (kind) {order}",
        f"SELECT count(*), sum(id) FROM (SELECT id FROM items i {order}) AS s",
        f"WITH near AS (SELECT id FROM items i {order}) SELECT max(id) FROM near",
        "SELECT id FROM items i ORDER BY i.v <-> (SELECT v FROM items WHERE id = 77), id LIMIT 10",
        f"SELECT id FROM items i WHERE id IN (SELECT id FROM items WHERE kind = 1) {order}",
    ]
    for sql in by_index:
        assert uses_index(db, sql), sql
        assert db.sql(sql).fetchall() == exactly(db, sql), sql
    exact = [
        f"SELECT id FROM items i WHERE id < 30 {order}",  # too few rows: all are read
        f"SELECT id FROM items i WHERE id < 5 {order}",
        f"SELECT id FROM items i WHERE v IS NULL {order}",
        f"SELECT id FROM items i {order.replace('LIMIT 10', 'LIMIT 3990')}",
        f"SELECT id FROM items i {order.replace(' LIMIT', ' DESC LIMIT')}",
        f"SELECT kind, count(*) FROM items i GROUP BY kind, v {order}",
        f"SELECT id FROM items i WHERE random() < 2 {order}",
        f"SELECT id FROM items i {order.replace('<->', '<=>')}",
        f"SELECT id FROM (VALUES (3)) AS u(kind) LEFT JOIN items i ON i.kind = u.kind {order}",
        "SELECT id FROM items i ORDER BY v <-> NULL LIMIT 3",
    ]
    for sql in exact:
        assert not uses_index(db, sql), sql
        assert len(db.sql(sql).fetchall()) == len(exactly(db, sql)), sql
    with pytest.raises(SqlError, match="different vector dimensions"):
        db.sql("SELECT id FROM items ORDER BY v <-> '[1,2]' LIMIT 3").fetchall()


def test_parameters_are_searched_for(db: Connection) -> None:
    db.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
    for query in QUERIES[:3]:
        rows = db.execute("SELECT id FROM items ORDER BY v <-> $1::vector LIMIT $2", [text_of(query), 3]).fetchall()
        assert rows == [row[:1] for row in exactly(db, NEAREST.format("<->", text_of(query), "", 3))]


def test_what_cannot_be_built_stays_a_declaration(db: Connection) -> None:
    sql = NEAREST.format("<+>", text_of(QUERIES[0]), "", 3)
    db.execute("CREATE INDEX near ON items USING hnsw (v vector_l1_ops)")
    assert not uses_index(db, sql)
    db.execute("DROP INDEX near; CREATE INDEX near ON items USING hnsw (v vector_l2_ops) WHERE kind = 3")
    assert not uses_index(db, sql.replace("<+>", "<->"))
    assert {"hnsw", "ivfflat", "cagra", "ivf_flat", "ivf_pq"} == VECTOR_METHODS


def test_an_index_follows_its_table_until_it_is_dropped(tmp_path: Path) -> None:
    kept = tmp_path / "vector_indexes"

    def count_indexes() -> int:
        return sum(each.name != "path" for each in kept.glob("*/*"))

    sql = NEAREST.format("<->", text_of(QUERIES[1]), "", K)
    with gpudb.connect(tmp_path) as db:
        db.execute(f"CREATE TABLE items (id int, kind int, v vector({DIMENSIONS}), b bit(64))")
        fill(db, "items", 0, 3000)
        db.execute("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
        assert count_indexes() == 1
        fill(db, "items", 3000, 3300)  # few new rows are compared one by one
        db.execute(f"INSERT INTO items VALUES (9000, 0, '{text_of(QUERIES[1])}')")
        assert uses_index(db, sql)
        first = db.sql(sql).fetchall()
        assert first[0] == (9000, 0)
        assert first == exactly(db, sql)
        gone = ", ".join(str(row[0]) for row in first[:6])
        db.execute("BEGIN")
        db.execute(f"DELETE FROM items WHERE id IN ({gone})")
        assert db.sql(sql).fetchall() == exactly(db, sql)
        db.execute("ROLLBACK")
        assert db.sql(sql).fetchall() == first
        db.execute(f"DELETE FROM items WHERE id IN ({gone})")
        assert uses_index(db, sql)
        second = db.sql(sql).fetchall()
        assert second == exactly(db, sql)
        assert second[:4] == first[6:]
        db.execute("ALTER TABLE items RENAME COLUMN v TO w; ALTER TABLE items ADD COLUMN later int")
        sql = sql.replace("v <->", "w <->")
        assert uses_index(db, sql)
        assert db.sql(sql).fetchall() == second
    with gpudb.connect(tmp_path) as db:
        assert uses_index(db, sql)  # found again
        assert db.sql(sql).fetchall() == second
        db.execute("CREATE INDEX other ON items USING hnsw (w vector_l2_ops)")
        db.execute("DROP INDEX near")
        assert uses_index(db, sql, "other")
        db.execute("DROP INDEX other")
        assert not uses_index(db, sql)
        assert count_indexes() == 0


def test_indexes_of_files_that_are_gone_go_too(tmp_path: Path) -> None:
    with gpudb.connect(tmp_path) as db:
        db.execute(f"CREATE TABLE items (id int, kind int, v vector({DIMENSIONS}), b bit(64))")
        fill(db, "items", 0, 1200)
        db.execute("CREATE INDEX near ON items USING ivf_flat (v) WITH (lists = 4)")
        assert list(tmp_path.glob("vector_indexes/*/path"))
        db.execute("DROP TABLE items")
    with gpudb.connect(tmp_path):
        assert not list(tmp_path.glob("tables/*/data/*.parquet"))
    with gpudb.connect(tmp_path):
        assert not list(tmp_path.glob("vector_indexes/*/path"))
