"""ctid, the address of a row: what it names stays the same row, and conditions on it read no other files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gpudb.catalog.row_addresses import RowAddresses
from gpudb.catalog.tables import DataFile
from gpudb.session.session import Session
from gpudb.values.tid import OFFSET_BITS
from tests.support.sessions import fails, run, value


@pytest.fixture
def table(session: Session) -> Session:
    run(session, "DROP TABLE IF EXISTS placed; CREATE TABLE placed (id int PRIMARY KEY, v text)")
    for first in (1, 3001, 3002):
        last = 3000 if first == 1 else first
        run(session, f"INSERT INTO placed SELECT g, 'v' || g FROM generate_series({first}, {last}) g")
    return session


def test_each_row_of_a_table_has_its_own_address(table: Session) -> None:
    assert run(table, "SELECT count(*), count(DISTINCT ctid) FROM placed") == [(3002, 3002)]
    assert value(table, "SELECT count(*) FROM placed a JOIN placed b ON a.ctid = b.ctid AND a.id = b.id") == 3002


def test_ranges_of_blocks_are_the_whole_table_in_parts(table: Session) -> None:
    last = value(table, "SELECT split_part(trim(max(ctid)::text, '()'), ',', 1) FROM placed")
    count = 0
    for block in range(int(last) + 1):
        between = f"ctid BETWEEN '({block},0)'::tid AND '({block},65535)'::tid"
        count += value(table, f"SELECT count(*) FROM placed WHERE {between}")
    assert count == 3002


@pytest.mark.parametrize("condition", ["= {}", "IN ({})", "= ANY (ARRAY[{}])", ">= {0} AND t.ctid <= {0}"])
def test_an_address_finds_its_row(table: Session, condition: str) -> None:
    address = value(table, "SELECT ctid::text FROM placed WHERE id = 3001")
    test = condition.format(f"'{address}'::tid")
    assert run(table, f"SELECT id FROM placed t WHERE t.ctid {test}") == [(3001,)]


def test_a_transaction_that_reads_addresses_leaves_other_rows_in_place(table: Session) -> None:
    run(table, "CREATE TABLE moved AS SELECT g AS id, 'old' AS v FROM generate_series(1, 20) g")
    run(table, "BEGIN")
    for number, address in run(table, "SELECT id, ctid::text FROM moved ORDER BY id"):
        changed = run(table, f"UPDATE moved SET v = 'new' WHERE ctid = '{address}' RETURNING id")
        assert changed == [(number,)]
    run(table, "COMMIT")
    assert run(table, "SELECT v, count(*) FROM moved GROUP BY v") == [("new", 20)]
    run(table, "DROP TABLE moved")


def test_reading_addresses_needs_the_right_to_all_columns(table: Session) -> None:
    run(table, "CREATE ROLE placed_reader; GRANT SELECT (id), UPDATE (v) ON placed TO placed_reader")
    run(table, "SET ROLE placed_reader")
    try:
        for sql in (
            "SELECT ctid FROM placed",
            "SELECT id FROM placed WHERE ctid = '(0,1)'",
            "UPDATE placed SET v = 'x' WHERE ctid = '(0,1)'",
        ):
            assert fails(table, sql).sqlstate == "42501"
    finally:
        run(table, "RESET ROLE")
    run(table, "DROP OWNED BY placed_reader; DROP ROLE placed_reader")


def test_policies_hide_rows_by_their_addresses_too(table: Session) -> None:
    run(table, "CREATE TABLE hidden AS SELECT g AS id FROM generate_series(1, 4) g; CREATE ROLE placed_guest")
    run(table, "GRANT SELECT, UPDATE, DELETE ON hidden TO placed_guest; ALTER TABLE hidden ENABLE ROW LEVEL SECURITY")
    run(table, "CREATE POLICY p ON hidden USING (id < 3)")
    places = [address for (address,) in run(table, "SELECT ctid::text FROM hidden WHERE id > 2")]
    run(table, "SET ROLE placed_guest")
    try:
        assert value(table, "SELECT count(DISTINCT ctid) FROM hidden") == 2
        for address in places:
            assert run(table, f"SELECT id FROM hidden WHERE ctid = '{address}'") == []
            assert run(table, f"DELETE FROM hidden WHERE ctid = '{address}' RETURNING id") == []
    finally:
        run(table, "RESET ROLE")
    run(table, "DROP TABLE hidden; DROP ROLE placed_guest")


def test_addresses_of_files_follow_their_order_and_size() -> None:
    addresses = RowAddresses()
    files = [DataFile("/a/1", 100_000, 8192), DataFile("/a/2", 10, 100), DataFile("/b/1", 9, 1 << 20)]
    spans = addresses.place(files)
    assert spans == addresses.place(files)
    assert [(each.first, each.blocks) for each in spans] == [(0, 2), (2, 1), (0, 9)]
    paths, numbers = pa.array(["/a/1", "/a/1", "/a/2", None]), pa.array([0, 99_999, 9, None])
    found = addresses.locate(paths, numbers)
    assert found.null_count == 1
    assert np.all(np.diff(found[:3].to_numpy()) > 0)
    assert [each.as_py() >> OFFSET_BITS for each in found[:3]] == [0, 1, 2]
