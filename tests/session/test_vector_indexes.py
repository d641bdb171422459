"""Indexes of vectors: declared, listed, shown and dropped as pgvector's are; searches stay exact."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.session.session import Session
from tests.support.sessions import fails, run


@pytest.fixture
def table(session: Session) -> Iterator[Session]:
    run(
        session,
        "CREATE TABLE items (id int, v vector(3), w vector, b bit(8), wide vector(3000), h halfvec(4000), s sparsevec(9))",
    )
    run(session, "INSERT INTO items SELECT i, ARRAY[i, i % 7, 1], NULL, i::bit(8) FROM generate_series(1, 99) AS i")
    yield session
    run(session, "DROP TABLE items")


MADE = {
    "USING hnsw (v vector_l2_ops)": "USING hnsw (v vector_l2_ops)",
    "USING hnsw (v vector_ip_ops) WITH (m = 16, ef_construction = 64)": (
        "USING hnsw (v vector_ip_ops) WITH (m='16', ef_construction='64')"
    ),
    "USING hnsw (v vector_l1_ops)": "USING hnsw (v vector_l1_ops)",
    "USING hnsw (b bit_jaccard_ops)": "USING hnsw (b bit_jaccard_ops)",
    "USING hnsw ((w::vector(5)) vector_cosine_ops)": "USING hnsw (((w)::vector(5)) vector_cosine_ops)",
    "USING hnsw (v public.vector_l2_ops) WHERE (id > 5)": "USING hnsw (v vector_l2_ops) WHERE (id > 5)",
    "USING ivfflat (v) WITH (lists = 100)": "USING ivfflat (v) WITH (lists='100')",
    "USING cagra (v vector_cosine_ops) WITH (graph_degree = 32)": (
        "USING cagra (v vector_cosine_ops) WITH (graph_degree='32')"
    ),
    "USING ivf_flat (wide vector_ip_ops)": "USING ivf_flat (wide vector_ip_ops)",
    "USING ivf_pq (v) WITH (lists = 10, pq_dim = 2, pq_bits = 8)": (
        "USING ivf_pq (v) WITH (lists='10', pq_dim='2', pq_bits='8')"
    ),
    "USING hnsw (h halfvec_l2_ops)": "USING hnsw (h halfvec_l2_ops)",
    "USING hnsw (s sparsevec_cosine_ops)": "USING hnsw (s sparsevec_cosine_ops)",
    "USING hnsw ((v::halfvec(3)) halfvec_l2_ops)": "USING hnsw (((v)::halfvec(3)) halfvec_l2_ops)",
    "(v)": "USING btree (v)",
    "(h)": "USING btree (h)",
}


@pytest.mark.parametrize("what", MADE)
def test_an_index_is_listed_until_it_is_dropped(table: Session, what: str) -> None:
    nearest = "SELECT id FROM items ORDER BY v <-> '[50,1,1]' LIMIT 4"
    exact = run(table, nearest)
    run(table, f"CREATE INDEX near ON items {what}")
    listed = "SELECT indexdef FROM pg_indexes WHERE indexname = 'near'"
    assert run(table, listed) == [(f"CREATE INDEX near ON public.items {MADE[what]}",)]
    named = "SELECT amname, opcname FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam"
    named += " JOIN pg_opclass o ON o.oid = indclass[0] AND opcmethod = a.oid WHERE relname = 'near'"
    ((method, operator_class),) = run(table, named)
    assert method in MADE[what]
    assert operator_class in MADE[what] or operator_class in {"vector_l2_ops", "vector_ops", "halfvec_ops"}
    assert run(table, nearest) == exact
    run(table, "DROP INDEX near")
    assert run(table, listed) == []


WRONG = {
    "USING hnsw (v)": ("42704", 'data type vector has no default operator class for access method "hnsw"'),
    "USING hnsw (id vector_l2_ops)": ("42804", 'operator class "vector_l2_ops" does not accept data type integer'),
    "USING ivfflat (v vector_l1_ops)": (
        "42704",
        'operator class "vector_l1_ops" does not exist for access method "ivfflat"',
    ),
    "USING hnsw (w vector_l2_ops)": ("22023", "column does not have dimensions"),
    "USING hnsw (wide vector_l2_ops)": ("54000", "column cannot have more than 2000 dimensions for hnsw index"),
    "USING hnsw (h vector_l2_ops)": ("42804", 'operator class "vector_l2_ops" does not accept data type halfvec'),
    "USING hnsw (s)": ("42704", 'data type sparsevec has no default operator class for access method "hnsw"'),
    "USING ivfflat (s sparsevec_l2_ops)": (
        "42704",
        'operator class "sparsevec_l2_ops" does not exist for access method "ivfflat"',
    ),
    "USING hnsw ((h::halfvec(4001)) halfvec_l2_ops)": (
        "54000",
        "column cannot have more than 4000 dimensions for hnsw index",
    ),
    "USING hnsw (v vector_l2_ops) WITH (m = 1)": ("22023", 'value 1 out of bounds for option "m"'),
    "USING hnsw (v vector_l2_ops) WITH (m = 40)": ("22023", "ef_construction must be greater than or equal to 2 * m"),
    "USING hnsw (v vector_l2_ops) WITH (lists = 4)": ("22023", 'unrecognized parameter "lists"'),
    "USING ivfflat (v) WITH (lists = many)": ("22023", 'invalid value for integer option "lists": many'),
    "USING hnsw (v vector_l2_ops, b bit_hamming_ops)": (
        "0A000",
        'access method "hnsw" does not support multicolumn indexes',
    ),
    "USING hnsw (v vector_l2_ops DESC)": ("0A000", 'access method "hnsw" does not support ASC/DESC options'),
    "USING diskann (v)": ("42704", 'access method "diskann" does not exist'),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_pgvector_refuses_is_refused(table: Session, what: str) -> None:
    error = fails(table, f"CREATE INDEX ON items {what}")
    assert (error.sqlstate, error.message) == WRONG[what]


def test_settings_of_searches_are_checked_and_shown(session: Session) -> None:
    assert run(session, "SHOW hnsw.ef_search") == [("40",)]
    run(session, "SET hnsw.ef_search = 200; SET LOCAL ivfflat.probes = 10; SET hnsw.iterative_scan = strict_order")
    assert run(session, "SHOW hnsw.ef_search") == [("200",)]
    assert run(session, "SELECT current_setting('hnsw.iterative_scan')") == [("strict_order",)]
    assert fails(session, "SET hnsw.ef_search = 0").sqlstate == "22023"
    assert fails(session, "SET ivfflat.probes = 'few'").sqlstate == "22023"


def test_a_role_without_rights_neither_searches_nor_changes_an_index(table: Session) -> None:
    run(table, "CREATE INDEX near ON items USING hnsw (h halfvec_l2_ops); CREATE ROLE stranger_to_items")
    try:
        run(table, "SET ROLE stranger_to_items")
        for sql in (
            "SELECT id FROM items ORDER BY v <-> '[1,1,1]' LIMIT 1",
            "SELECT id FROM items ORDER BY s <-> '{}/9' LIMIT 1",
            "CREATE INDEX other ON items USING hnsw (v vector_l2_ops)",
            "DROP INDEX near",
        ):
            assert fails(table, sql).sqlstate == "42501", sql
        assert run(table, "SELECT l2_norm('[3,4]'::halfvec), '{1:2}/2'::sparsevec <-> '{}/2'") == [(5.0, 2.0)]
        run(table, "RESET ROLE; GRANT SELECT (id, v) ON items TO stranger_to_items; SET ROLE stranger_to_items")
        assert run(table, "SELECT id FROM items ORDER BY v <-> '[7,0,1]' LIMIT 1") == [(7,)]
        assert fails(table, "SELECT id FROM items ORDER BY h <-> h LIMIT 1").sqlstate == "42501"
    finally:
        run(table, "RESET ROLE; DROP OWNED BY stranger_to_items; DROP ROLE stranger_to_items")
