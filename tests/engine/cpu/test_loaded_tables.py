"""Loaded tables: what is loaded, how new files are added, what is evicted, and who may still read it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.file_tables import get_file_path
from gpudb.catalog.tables import Table
from gpudb.engine.cpu import loaded_tables
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.cpu.loaded_tables import LoadedTables
from gpudb.engine.protocol import Cancel
from gpudb.errors import GpudbError
from gpudb.storage import compaction
from gpudb.storage.iceberg import append
from tests.support.lab import Lab, answer


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    made = CpuEngine(spill=lab.database.store.spill)
    lab.database.store.followers.append(made.follow)
    yield made
    lab.database.store.followers.remove(made.follow)
    made.close()


def _names(engine: CpuEngine) -> list[str]:
    """Returns the segments in the engine's database."""
    rows = engine.instance.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'segment%'"
    ).fetchall()
    return sorted(str(row[0]) for row in rows)


def _relation(lab: Lab, name: str) -> Table:
    found = lab.database.store.catalog().relation("public", name)
    assert isinstance(found, Table)
    return found


def _budget(engine: CpuEngine, budget: int) -> None:
    engine.instance.loaded = LoadedTables(engine.instance.connection, budget)


@pytest.fixture
def table(lab: Lab) -> Iterator[str]:
    lab.run("CREATE TABLE kept AS SELECT i AS a, 'row ' || i AS b FROM generate_series(1, 1000) i")
    yield "kept"
    lab.release()
    lab.run("DROP TABLE IF EXISTS kept")


def test_a_small_table_is_loaded_at_its_first_use(cpu: CpuEngine, lab: Lab, table: str) -> None:
    assert _names(cpu) == []
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000,)]
    (first,) = _names(cpu)
    assert answer(cpu, lab.request("SELECT sum(a) FROM kept")) == [(500500,)]
    assert _names(cpu) == [first]


def test_a_large_table_is_loaded_at_its_second_use(
    cpu: CpuEngine, lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tables, "SMALL_TABLE_BYTES", 0)
    answer(cpu, lab.request("SELECT count(*) FROM kept"))
    assert _names(cpu) == []
    answer(cpu, lab.request("SELECT count(*) FROM kept"))
    assert len(_names(cpu)) == 1


def test_many_bytes_are_loaded_beside_statements(
    cpu: CpuEngine, lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first statement reads files and has its answer; those after the loading read memory."""
    monkeypatch.setattr(loaded_tables, "AWAITED_BYTES", 0)
    loaded = cpu.instance.loaded
    with loaded.open_reader() as reading:
        assert "parquet" in reading.relation(_relation(lab, table))
        loaded.wait()
        assert _names(cpu) == []
    loaded.wait()
    (first,) = _names(cpu)
    assert answer(cpu, lab.request("SELECT count(*), max(a) FROM kept")) == [(1000, 1000)]
    lab.run("INSERT INTO kept VALUES (1001, 'new')")
    assert answer(cpu, lab.request("SELECT count(*), max(a) FROM kept")) == [(1001, 1001)]
    loaded.wait()
    assert len(_names(cpu)) == 2
    assert first in _names(cpu)
    assert loaded.loads == 2


def test_a_table_is_loaded_once_beside_many_statements(
    cpu: CpuEngine, lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tables, "AWAITED_BYTES", 0)
    loaded = cpu.instance.loaded
    began, may_end = threading.Event(), threading.Event()
    load = loaded._load

    def load_late(*arguments: object) -> bool:
        began.set()
        assert may_end.wait(60)
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loaded, "_load", load_late)
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000,)]
    assert began.wait(60)
    for _ in range(3):
        assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000,)]
    may_end.set()
    loaded.wait()
    assert loaded.loads == 1


def test_files_that_are_removed_before_they_are_loaded_trouble_nobody(
    cpu: CpuEngine, lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tables, "AWAITED_BYTES", 0)
    loaded = cpu.instance.loaded
    load = loaded._load

    def remove_and_load(*arguments: object) -> bool:
        for file in arguments[2]:  # type: ignore[attr-defined]
            Path(get_file_path(file.path)).unlink()
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loaded, "_load", remove_and_load)
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000,)]
    loaded.wait()
    assert _names(cpu) == []
    assert not loaded._loading[_relation(lab, table).oid].locked()


def test_closing_stops_what_is_loaded_beside(lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_tables, "AWAITED_BYTES", 0)
    endless = "SELECT one.range AS a FROM range(1000000000) one, range(1000000000) two WHERE one.range + two.range < 0"
    monkeypatch.setattr(loaded_tables, "scan_sql", lambda *_: endless)
    engine = CpuEngine(spill=lab.database.store.spill)
    engine.instance.loaded.load_beside(_relation(lab, table))
    engine.close()  # returns
    assert engine.instance.loaded.loads == 0


def test_an_append_loads_only_its_own_files(cpu: CpuEngine, lab: Lab, table: str) -> None:
    answer(cpu, lab.request("SELECT count(*) FROM kept"))
    (first,) = _names(cpu)
    lab.run("INSERT INTO kept SELECT i, 'new' FROM generate_series(1001, 1010) i")
    assert answer(cpu, lab.request("SELECT count(*), max(a) FROM kept")) == [(1010, 1010)]
    names = _names(cpu)
    assert len(names) == 2
    assert first in names
    second = next(name for name in names if name != first)
    assert cpu.instance.connection.execute(f"SELECT count(*) FROM {second}").fetchone() == (10,)


def test_many_segments_are_loaded_together_again(cpu: CpuEngine, lab: Lab, table: str) -> None:
    for number in range(loaded_tables.MAX_SEGMENTS + 3):
        lab.run(f"INSERT INTO kept VALUES ({number}, 'x')")
        answer(cpu, lab.request("SELECT count(*) FROM kept"))
    assert len(_names(cpu)) <= loaded_tables.MAX_SEGMENTS
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000 + loaded_tables.MAX_SEGMENTS + 3,)]


def test_an_older_snapshot_is_not_read_from_a_newer_segment(cpu: CpuEngine, lab: Lab, table: str) -> None:
    before = lab.request("SELECT count(*) FROM kept")
    lab.run("INSERT INTO kept VALUES (0, 'x')")
    after = lab.request("SELECT count(*) FROM kept")
    lab.run("DELETE FROM kept WHERE a > 10")
    last = lab.request("SELECT count(*) FROM kept")
    for _ in range(2):
        assert answer(cpu, after) == [(1001,)]
        assert answer(cpu, before) == [(1000,)]
        assert answer(cpu, last) == [(11,)]


def test_segments_of_removed_files_are_dropped(
    cpu: CpuEngine, lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tables, "CHECK_SECONDS", 0.0)
    lab.run("CREATE TABLE gone AS SELECT 1 AS a")
    lab.run("INSERT INTO kept VALUES (2000, 'y')")
    for name in ("kept", "gone"):
        answer(cpu, lab.request(f"SELECT count(*) FROM {name}"))
    assert len(_names(cpu)) == 2
    lab.run("INSERT INTO kept VALUES (3000, 'z')")
    answer(cpu, lab.request("SELECT count(*) FROM kept"))
    lab.run("DELETE FROM kept WHERE a <= 2000")
    lab.run("DROP TABLE gone")
    lab.release()
    lab.database.store.garbage.collect(at_once=True)
    lab.run("CREATE TABLE other AS SELECT 1 AS a")
    assert answer(cpu, lab.request("SELECT count(*) FROM other")) == [(1,)]
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1,)]
    assert len(_names(cpu)) == 2
    assert len(cpu.instance.loaded._loading) <= 3
    lab.release()
    lab.run("DROP TABLE other")


def test_without_a_budget_nothing_is_loaded(cpu: CpuEngine, lab: Lab, table: str) -> None:
    _budget(cpu, 0)
    for _ in range(3):
        assert answer(cpu, lab.request("SELECT count(*), min(b) FROM kept")) == [(1000, "row 1")]
    assert _names(cpu) == []


def test_the_least_recently_used_goes_first(cpu: CpuEngine, lab: Lab) -> None:
    sizes = {}
    for name in ("one", "two", "three"):
        lab.run(f"CREATE TABLE lru_{name} AS SELECT i AS a, sin(i) AS b FROM generate_series(1, 3000) i")
        found = lab.database.store.catalog().relation("public", f"lru_{name}")
        sizes[name] = sum(file.bytes for file in found.files) * loaded_tables.EXPANSION_FACTOR  # type: ignore[union-attr]
    _budget(cpu, sizes["one"] + sizes["two"] + sizes["three"] // 2)
    tables = {}
    for name in ("one", "two", "one", "three"):
        before = set(_names(cpu))
        assert answer(cpu, lab.request(f"SELECT count(*) FROM lru_{name}")) == [(3000,)]
        for made in set(_names(cpu)) - before:
            tables[made] = name
    assert {tables[name] for name in _names(cpu)} == {"one", "three"}
    assert answer(cpu, lab.request("SELECT count(*) FROM lru_two")) == [(3000,)]
    lab.release()
    lab.run("DROP TABLE lru_one, lru_two, lru_three")


def test_a_segment_that_is_read_outlives_its_eviction(cpu: CpuEngine, lab: Lab) -> None:
    lab.run("CREATE TABLE busy AS SELECT i AS a FROM generate_series(1, 300000) i")
    lab.run("CREATE TABLE rival AS SELECT i AS a FROM generate_series(1, 300000) i")
    size = sum(f.bytes for f in lab.database.store.catalog().relation("public", "busy").files)  # type: ignore[union-attr]
    _budget(cpu, size * loaded_tables.EXPANSION_FACTOR + 1000)
    stream = cpu.run(lab.request("SELECT a FROM busy"))
    batches = iter(stream)
    rows = next(batches).num_rows
    (held,) = _names(cpu)
    assert answer(cpu, lab.request("SELECT count(*) FROM rival")) == [(300000,)]
    assert held in _names(cpu)
    rows += sum(batch.num_rows for batch in batches)
    assert rows == 300000
    assert held not in _names(cpu)
    lab.release()
    lab.run("DROP TABLE busy, rival")


def test_a_table_dropped_while_it_is_read(cpu: CpuEngine, lab: Lab, table: str) -> None:
    _budget(cpu, 0)  # read from its files
    lab.run("INSERT INTO kept SELECT i, 'more' FROM generate_series(1, 300000) i")
    stream = cpu.run(lab.request("SELECT a, b FROM kept"))
    batches = iter(stream)
    rows = next(batches).num_rows
    lab.run("DROP TABLE kept")
    rows += sum(batch.num_rows for batch in batches)
    assert rows == 301000


def test_waiting_for_a_loading_can_be_cancelled(cpu: CpuEngine, lab: Lab, table: str) -> None:
    relation = lab.database.store.catalog().relation("public", table)
    assert relation is not None
    answer(cpu, lab.request("SELECT count(*) FROM kept"))
    lab.run("INSERT INTO kept VALUES (0, 'new')")
    cancel = Cancel()
    threading.Timer(0.2, cancel.stop).start()
    with cpu.instance.loaded._loading[relation.oid], pytest.raises(GpudbError) as caught:
        answer(cpu, lab.request("SELECT count(*) FROM kept", cancel=cancel))
    assert caught.value.sqlstate == "57014"
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1001,)]


def test_a_table_that_does_not_fit_is_read_from_its_files(lab: Lab) -> None:
    """A table that is small on disk but too large in memory exceeds the estimate; the statement runs nevertheless."""
    lab.run(
        "CREATE TABLE wide AS SELECT i % 10 AS a, repeat('x', 200) || i % 10 AS b FROM generate_series(1, 1000000) i"
    )
    small = CpuEngine(memory_limit=100 << 20, threads=1)
    small.instance.connection.execute("SET temp_directory = ''")
    for _ in range(2):
        assert answer(small, lab.request("SELECT count(*), max(length(b)) FROM wide")) == [(1000000, 201)]
    assert _names(small) == []
    small.close()
    lab.release()
    lab.run("DROP TABLE wide")


def test_loading_can_be_cancelled(cpu: CpuEngine, lab: Lab, table: str) -> None:
    cancel = Cancel()
    cancel.stop("enough")
    with pytest.raises(GpudbError) as caught:
        answer(cpu, lab.request("SELECT count(*) FROM kept", cancel=cancel))
    assert caught.value.sqlstate == "57014"
    assert _names(cpu) == []
    assert answer(cpu, lab.request("SELECT count(*) FROM kept")) == [(1000,)]


def test_the_same_query_waits_for_one_loading(cpu: CpuEngine, lab: Lab, table: str) -> None:
    rows: list[list[tuple[object, ...]]] = []
    requests = [lab.request("SELECT count(*) FROM kept") for _ in range(6)]
    threads = [threading.Thread(target=lambda r=r: rows.append(answer(cpu, r))) for r in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert rows == [[(1000,)]] * 6
    assert len(_names(cpu)) == 1


@pytest.fixture
def holed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A table of two files, from which rows are deleted without writing them anew."""
    monkeypatch.setattr(compaction, "SMALL_ROWS", 0)
    lab.run("CREATE TABLE holed AS SELECT i AS a, 'row ' || i AS b FROM generate_series(1, 1000) i")
    lab.run("INSERT INTO holed SELECT i, 'row ' || i FROM generate_series(1001, 2000) i")
    yield "holed"
    lab.run("DROP TABLE IF EXISTS holed")


COUNTED = "SELECT count(*), sum(a), max(b) FROM holed WHERE b <> ''"


def _expected(*gone: int) -> list[tuple[object, ...]]:
    kept = [n for n in range(1, 2001) if n not in gone]
    return [(len(kept), sum(kept), max(f"row {n}" for n in kept))]


def test_deleted_rows_leave_a_segment(cpu: CpuEngine, lab: Lab, holed: str) -> None:
    assert answer(cpu, lab.request(COUNTED)) == _expected()
    names, loads = _names(cpu), cpu.instance.loaded.loads
    gone: list[int] = []
    # The first and the last row, of each file, and more than are compared one by one
    for keys in ([1], [1000, 1001], [2000], [1999, 500], list(range(1100, 1130))):
        gone += keys
        lab.run(f"DELETE FROM holed WHERE a IN ({', '.join(map(str, keys))})")
        assert answer(cpu, lab.request(COUNTED)) == _expected(*gone)
    assert (_names(cpu), cpu.instance.loaded.loads) == (names, loads)


def test_a_segment_in_use_keeps_its_rows(cpu: CpuEngine, lab: Lab, holed: str) -> None:
    with lab.database.store.begin() as before, cpu.instance.loaded.open_reader() as reading:
        table = before.catalog.relation("public", "holed")
        assert isinstance(table, Table)
        relation = reading.relation(table)
        lab.run("DELETE FROM holed WHERE a IN (3, 1500)")
        assert answer(cpu, lab.request(COUNTED)) == _expected(3, 1500)
        lab.run("DELETE FROM holed WHERE a BETWEEN 100 AND 130")
        assert answer(cpu, lab.request(COUNTED)) == _expected(3, 1500, *range(100, 131))
        held = cpu.instance.connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
        assert held == (2000,)
        assert cpu.instance.loaded.loads == 1
    lab.run("DELETE FROM holed WHERE a = 4")
    assert answer(cpu, lab.request(COUNTED)) == _expected(3, 4, 1500, *range(100, 131))
    assert cpu.instance.loaded.loads == 1
    (name,) = _names(cpu)
    assert cpu.instance.connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (2000 - 34,)


def test_a_transactions_own_deletion_leaves_the_segment_to_others(cpu: CpuEngine, lab: Lab, holed: str) -> None:
    assert answer(cpu, lab.request(COUNTED)) == _expected()
    with lab.database.store.begin() as own:
        table = own.catalog.relation("public", "holed")
        assert isinstance(table, Table)
        own.replace(table.oid, (), [], deleted={table.files[0].path: DeletedRows.of([6])})
        for _ in range(2):
            assert answer(cpu, lab.request(COUNTED, transaction=own)) == _expected(7)
            assert answer(cpu, lab.request(COUNTED)) == _expected()
    assert answer(cpu, lab.request(COUNTED)) == _expected()
    assert cpu.instance.loaded.loads == 1


def test_an_older_snapshot_is_not_read_from_a_segment_with_fewer_rows(cpu: CpuEngine, lab: Lab, holed: str) -> None:
    with lab.database.store.begin() as before:
        assert answer(cpu, lab.request(COUNTED)) == _expected()
        lab.run("DELETE FROM holed WHERE a = 4")
        assert answer(cpu, lab.request(COUNTED)) == _expected(4)
        assert answer(cpu, lab.request(COUNTED, transaction=before)) == _expected()
        assert answer(cpu, lab.request(COUNTED)) == _expected(4)


def test_a_segment_whose_rows_have_other_ids_is_loaded_again(cpu: CpuEngine, lab: Lab, holed: str) -> None:
    assert answer(cpu, lab.request(COUNTED)) == _expected()
    lab.run("DELETE FROM holed WHERE a = 4")
    assert answer(cpu, lab.request(COUNTED)) == _expected(4)
    (name,) = _names(cpu)
    # As if a checkpoint had closed the gap, in the last row group
    cpu.instance.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM {name}")
    lab.run("DELETE FROM holed WHERE a = 1700")
    assert answer(cpu, lab.request(COUNTED)) == _expected(4, 1700)
    assert cpu.instance.loaded.loads == 2


def test_rows_deleted_before_a_loading_leave_the_others_in_order(
    cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "GROUP_ROWS", 20_000)
    lab.run("CREATE TABLE ordered AS SELECT i AS a FROM generate_series(0, 499999) i")
    lab.run("DELETE FROM ordered WHERE a BETWEEN 100 AND 100 + 2 * 16")
    for key in (300_000, 450_000):
        query = f"SELECT count(*), count(*) FILTER (WHERE a = {key}) FROM ordered"
        ((count, there),) = answer(cpu, lab.request(query))
        assert there == 1
        lab.run(f"DELETE FROM ordered WHERE a = {key}")
        assert answer(cpu, lab.request(query)) == [(count - 1, 0)]
    for name in _names(cpu):
        keys = cpu.instance.connection.execute(f"SELECT a FROM {name} ORDER BY rowid").fetchnumpy()["a"]
        assert (np.diff(keys) > 0).all()
    lab.run("DROP TABLE ordered")


def test_checkpoints_renumber_no_row_that_is_deleted_later(
    cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB merges row groups with gaps: these numbers of rows are below and above what makes it do so."""
    rows = 3 * loaded_tables.ROW_GROUP + 10
    monkeypatch.setattr(compaction, "REWRITTEN_SHARE", 1.0)
    monkeypatch.setattr(compaction, "REWRITTEN_ROWS", rows)
    monkeypatch.setattr(compaction, "DELETED_ROWS", rows)
    monkeypatch.setattr(compaction, "DELETED_SHARE", 1.0)
    lab.run(f"CREATE TABLE large AS SELECT i AS a FROM generate_series(0, {rows - 1}) i")
    query = "SELECT count(*), sum(a), bit_xor(a) FROM large"
    answer(cpu, lab.request(query))
    group = loaded_tables.ROW_GROUP
    kept = np.arange(rows)
    for first, last in (
        (0, 20),
        (2 * group, 2 * group + 50),
        (100, group // 2),
        (group, group + group // 3),
        (group + group // 2, 2 * group - 100),
        *((row, row) for row in (77, group - 1, 2 * group - 5, 2 * group + 5000, rows - 1)),
    ):
        lab.run(f"DELETE FROM large WHERE a BETWEEN {first} AND {last}")
        cpu.instance.connection.execute("CHECKPOINT")
        kept = kept[(kept < first) | (kept > last)]
        expected = [(len(kept), int(kept.sum()), int(np.bitwise_xor.reduce(kept)))]
        assert answer(cpu, lab.request(query)) == expected, (first, last)
    lab.run("DROP TABLE large")
