"""A flipped byte in a table's metadata or in the catalog is found, names the damaged file, and moves no file away."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gpudb.errors import GpudbError
from gpudb.storage.iceberg import snapshots as snapshots_module
from gpudb.storage.iceberg.content_names import find_hash, hash_content
from gpudb.storage.iceberg.history import Retention
from gpudb.storage.recovery.check import check
from gpudb.storage.store import Store
from tests.support.data_directory import run_over
from tests.support.store_tables import table_of

ROWS = [(1, "one"), (3, "three"), (4, "four"), (5, "x")]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a table of several manifests, a delete file and earlier snapshots."""
    directory = tmp_path_factory.mktemp("original") / "data"
    run_over(
        directory,
        "CREATE TABLE t (a int PRIMARY KEY, b text)",
        "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
        "INSERT INTO t VALUES (4, 'four'), (5, 'x')",
        "DELETE FROM t WHERE a = 2",
        "INSERT INTO t SELECT g, 'many' FROM generate_series(100, 20000) g",
        "DELETE FROM t WHERE a = 1000",
    )
    assert check(directory, deep=True).problems == []
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(original, tmp_path / "data"))


@contextmanager
def flipped(path: Path, position: int, bits: int) -> Iterator[None]:
    """Changes one byte of a file during the block."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ bits]))
        file.flush()
        yield
        file.seek(position)
        file.write(bytes([byte]))


def _list_metadata(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("tables/*/metadata/*") if path.is_file())


def _list_files(directory: Path) -> list[Path]:
    return sorted(path for path in (directory / "tables").rglob("*") if path.is_file())


def _get_error(directory: Path) -> GpudbError | None:
    """Returns what the table's rows raise, None if they are as they were."""
    try:
        rows = run_over(directory, "SELECT * FROM t WHERE a < 100 ORDER BY a")
    except GpudbError as error:
        return error
    assert rows == ROWS
    return None


def _oid(directory: Path) -> int:
    return int(next((directory / "tables").iterdir()).name)


def test_every_file_has_the_hash_of_its_content(original: Path) -> None:
    kinds = set()
    for path in _list_metadata(original):
        assert find_hash(path.name) == hash_content(path.read_bytes()), path
        kinds.add("snap" if path.name.startswith("snap") else path.stem[-2:] + path.suffix)
    assert len(kinds) >= 4  # lists, manifests, delete files and the metadata itself
    assert all(find_hash(path.name) for path in original.glob("tables/*/data/*"))


def test_a_flipped_byte_of_metadata_is_a_problem(directory: Path, request: pytest.FixtureRequest) -> None:
    draws = random.Random(1)
    for path in _list_metadata(directory):
        places = range(path.stat().st_size)
        for place in places if request.config.getoption("--soak") else draws.sample(places, 3):
            with flipped(path, place, 1 << draws.randrange(8)):
                problems = check(directory).problems
            assert problems, (path, place)
            assert all(path.name in problem for _, problem in problems), (path, place, problems)
    assert check(directory, deep=True).problems == []


def test_a_flipped_byte_behind_the_pages_is_a_problem(directory: Path) -> None:
    draws = random.Random(2)
    for path in directory.glob("tables/*/data/*.parquet"):
        chunk = pq.read_metadata(path).row_group(0).column(1)
        first = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size
        for place in draws.sample(range(first, path.stat().st_size), 25):
            with flipped(path, place, 1 << draws.randrange(8)):
                problems = check(directory).problems
            assert [path.name in problem for _, problem in problems] == [True], (path, place)


def test_a_changed_letter_of_the_current_snapshot(directory: Path) -> None:
    """The statement names the damaged file, another table is served, and nothing is moved or removed."""
    run_over(directory, "CREATE TABLE other AS SELECT 1 AS a")
    before = _list_files(directory)
    oid = min(int(path.name) for path in (directory / "tables").iterdir())
    path = max((directory / "tables" / str(oid) / "metadata").glob("*.metadata.json"))
    place = path.read_bytes().index(b'"current-snapshot-id"') + 3
    with flipped(path, place, 1):
        for _ in range(2):
            with pytest.raises(GpudbError) as raised:
                run_over(directory, "SELECT * FROM t")
            assert raised.value.sqlstate == "XX001"
            assert path.name in str(raised.value)
        assert run_over(directory, "SELECT * FROM other") == [(1,)]
    assert _list_files(directory) == before
    assert not (directory / "lost+found").exists()
    assert run_over(directory, "SELECT * FROM t WHERE a < 100 ORDER BY a") == ROWS


def test_statements_name_the_damaged_file(directory: Path) -> None:
    before = _list_files(directory)
    current = max(directory.glob("tables/*/metadata/*.metadata.json"))
    with Store(directory, compaction=False) as store:
        state = store._committed.states.states[_oid(directory)]
        used = sorted(state.snapshot_files[state.snapshots[-1].id] | {current})
    assert len(used) >= 5
    for path in used:
        with flipped(path, path.stat().st_size // 2, 4), pytest.raises(GpudbError) as raised:
            run_over(directory, "SELECT * FROM t")
        assert raised.value.sqlstate == "XX001", path
        assert path.name in str(raised.value)
    assert _list_files(directory) == before


def test_an_earlier_snapshot_that_is_damaged_keeps_its_files(directory: Path) -> None:
    with Store(directory, compaction=False) as store:
        store.retention = Retention(3600.0)
        first, *_, last = table_of(store, _oid(directory)), *store.catalog().snapshots[_oid(directory)]
        assert first.files == last.table.files
    run_over(directory, "DELETE FROM t WHERE a BETWEEN 4 AND 9")
    oid = _oid(directory)
    with Store(directory, compaction=False) as store:
        store.retention = Retention(3600.0)
        past, current = store.catalog().snapshots[oid][-2:]
        (path,) = (directory / "tables" / str(oid) / "metadata").glob(f"snap-{past.id}-*")
    before = _list_files(directory)
    with flipped(path, 99, 2):
        assert run_over(directory, "SELECT * FROM t WHERE a < 100 ORDER BY a") == ROWS[:2]
        ((name, problem),) = check(directory).problems
        assert name == f"public.t, snapshot {past.id}"
        assert path.name in problem
        with pytest.raises(GpudbError) as raised:
            run_over(directory, f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {past.id}")
        assert raised.value.sqlstate == "XX001"
        assert path.name in str(raised.value)
        run_over(directory, "INSERT INTO t VALUES (9, 'nine')")
        assert set(before) <= set(_list_files(directory)) | {max(directory.glob("tables/*/metadata/0*.json"))}
        assert not (directory / "lost+found").exists()
        listed = (
            f"SELECT rows FROM gpudb_snapshots WHERE snapshot_id IN ({past.id}, {current.id}) ORDER BY committed_at"
        )
        assert run_over(directory, listed) == [(None,), (19902,)]
    rows = run_over(directory, f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {past.id} WHERE a < 100 ORDER BY a")
    assert rows == ROWS


def test_metadata_of_an_earlier_gpudb_is_read_and_hashed_by_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "data"
    with monkeypatch.context() as patched:
        patched.setattr("gpudb.storage.iceberg.disk_files.hash_content", lambda content: "plain")
        patched.setattr(snapshots_module, "find_hash", lambda name: name)
        run_over(directory, "CREATE TABLE t AS SELECT 1 AS a", "INSERT INTO t VALUES (2)", "DELETE FROM t WHERE a = 1")
    assert not any(find_hash(path.name) for path in _list_metadata(directory))
    assert run_over(directory, "SELECT * FROM t") == [(2,)]
    current = max(directory.glob("tables/*/metadata/*.metadata.json"))
    text = current.read_text()
    with pytest.raises(GpudbError, match=current.name):
        current.write_text(text.replace('"current-snapshot-id"', '"current-snapshot-ix"'))
        run_over(directory, "SELECT * FROM t")
    current.write_text(text)
    run_over(directory, "COMMENT ON TABLE t IS 'any commit'")
    with Store(directory, compaction=False) as store:
        state = store._committed.states.states[_oid(directory)]
        used = state.snapshot_files[state.snapshots[-1].id] | {state.location}
        names = [path.name for path in used]
        assert len(names) == 3
        assert all(map(find_hash, names)), names
    assert run_over(directory, "SELECT * FROM t") == [(2,)]


def test_a_flipped_byte_of_the_catalog_is_found_or_harmless(directory: Path, request: pytest.FixtureRequest) -> None:
    path = directory / "catalog.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    found = content.index(b'"owner":"gpudb"') if b'"owner":"gpudb"' in content else content.rindex(b'"name":"b"')
    draws = random.Random(3)
    soak = request.config.getoption("--soak")
    places = [found + 9, *draws.sample(range(len(content)), 999 if soak else 9)]
    for number, place in enumerate(places):
        copy = directory.parent / f"copy{number}"
        shutil.copytree(directory, copy)
        (copy / "catalog.db").write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        before = _list_files(copy)
        error = _get_error(copy)
        assert error is not None or number or soak, "the first flip is one of a definition"
        if error is not None:
            assert error.sqlstate in {"XX001", "0A000"}, (place, error)
            if error.sqlstate == "XX001" and "catalog.db" in str(error):
                assert "gpudb repair --data-dir" in (error.hint or ""), (place, error)
            problems = check(copy).problems if error.sqlstate == "XX001" else [()]
            assert problems, (place, error)
        assert _list_files(copy) == before, place
        shutil.rmtree(copy)
