"""Tables whose files lie in an object storage: what is there after commits, failures, crashes and the loss of copies."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.fs
import pytest
from pyiceberg.table import StaticTable

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.errors import FeatureNotSupported, GpudbError, SerializationFailure
from gpudb.storage.iceberg.checksums import forget_verified
from gpudb.storage.object_stores import table_files
from gpudb.storage.recovery.catalog_move import move_to_postgres
from gpudb.storage.recovery.check import check
from gpudb.storage.store import NO_PAST, Store
from tests.support.s3.proxy import Proxy, running_proxy
from tests.support.s3.server import running_s3_server
from tests.support.server_program import Program
from tests.support.sessions import wait_until
from tests.support.store_crasher import HOLED, RETENTION
from tests.support.store_tables import created, insert, rows

KEY, SECRET = "tests", "a-secret-of-tests"


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A storage with the bucket `lake`, behind a proxy that fails as it is told."""
    with running_s3_server(tmp_path_factory.mktemp("s3")) as server:
        server.create_bucket("lake")
        with running_proxy(server.endpoint) as proxy:
            yield proxy


@pytest.fixture
def environment(storage: Proxy, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The variables by which gpudb finds the storage; they are set in this process, too."""
    storage.reset()
    variables = {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": storage.endpoint,
        "AWS_REGION": "any",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


def _connect(storage: Proxy) -> pyarrow.fs.S3FileSystem:
    endpoint = storage.endpoint.removeprefix("http://")
    return pyarrow.fs.S3FileSystem(
        access_key=KEY, secret_key=SECRET, region="any", scheme="http", endpoint_override=endpoint
    )


def _list_objects(storage: Proxy, prefix: str) -> set[str]:
    found = _connect(storage).get_file_info(pyarrow.fs.FileSelector(prefix, recursive=True, allow_not_found=True))
    return {each.path.removeprefix(f"{prefix}/") for each in found if each.type == pyarrow.fs.FileType.File}


def _note_end(ended: list[bool]) -> Callable[..., None]:
    """Returns the search for objects of no table, which notes its end."""
    search = table_files.ObjectTableFiles._remove_orphans

    def noted(*arguments: Any) -> None:
        search(*arguments)
        ended.append(True)

    return noted


def _query(program: Program, *statements: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(program.dsn, autocommit=True) as connection:
        for each in statements:
            found = connection.execute(each.encode())
        return found.fetchall() if found.description else []


def _lose_copies(data: Path) -> None:
    shutil.rmtree(data / "tables")
    (data / "tables").mkdir(mode=0o700)


@pytest.mark.parametrize("engine", ["cpu", pytest.param("twin", marks=pytest.mark.soak)])
def test_tables_outlive_their_copies(
    engine: str, storage: Proxy, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """A server whose copies are lost has the same rows; it fetches the files of those tables that are read alone."""
    url, options = f"s3://lake/{engine}/tables", ["--engine", engine]
    data = tmp_path / "data"
    with Program(data, "--tables-url", url, *options, environment=environment) as program:
        _query(
            program,
            "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS b FROM generate_series(1, 2000) AS i",
            "INSERT INTO t VALUES (-1, NULL)",
            "DELETE FROM t WHERE a BETWEEN 100 AND 105",
            "CREATE TABLE other AS SELECT 1 AS a",
            "CREATE TABLE gone AS SELECT 1 AS a",
            "DROP TABLE gone",
        )
        expected = _query(program, "SELECT count(*), sum(a), max(b) FROM t")
        assert expected == [(1995, 2001000 - sum(range(100, 106)) - 1, "row 999")]
        assert program.stop() == 0
    local = {path.relative_to(data / "tables").as_posix() for path in (data / "tables").rglob("*") if path.is_file()}
    assert local <= _list_objects(storage, f"lake/{engine}/tables")
    _lose_copies(data)
    with Program(data, *options, environment=environment) as program:  # the directory remembers the address
        fetched = len(list((data / "tables").rglob("*/data/*.parquet")))
        assert fetched == 0
        assert _query(program, "SELECT count(*), sum(a), max(b) FROM t") == expected
        folders = {path.parents[1].name for path in (data / "tables").rglob("*/data/*.parquet")}
        assert len(folders) == 1
        assert _query(program, "UPDATE t SET b = 'new' WHERE a = 1", "SELECT b FROM t WHERE a = 1") == [("new",)]
        assert _query(program, "SELECT a FROM other") == [(1,)]
        assert program.stop() == 0
    with pytest.raises(FeatureNotSupported, match="lie in an object storage"):
        list(check(data))


def test_other_programs_read_the_objects(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Iceberg's metadata names the objects, so that pyiceberg reads a table without the data directory."""
    data = tmp_path / "data"
    with Store(data, replace(NO_PAST, tables_url="s3://lake/shared")) as store:
        oid = created(store, "t")
        insert(store, oid, *[(n, "row") for n in range(50)])
        with store.begin() as transaction:
            (file,) = transaction.table(oid).files
            transaction.replace(oid, (), [], deleted={file.path: DeletedRows.of([7])})
            transaction.commit()
    with sqlite3.connect(data / "catalog.db") as catalog:
        ((location,),) = catalog.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = 't'")
    catalog.close()
    assert location.startswith("s3://lake/shared/")
    shutil.rmtree(data / "tables")
    options = {
        "s3.endpoint": environment["AWS_ENDPOINT_URL"],
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "any",
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
    }
    found = StaticTable.from_metadata(location, options).scan().to_arrow()
    assert sorted(found["a"].to_pylist()) == [*range(7), *range(8, 50)]


def test_a_failed_upload_fails_the_commit(storage: Proxy, environment: Mapping[str, str], tmp_path: Path) -> None:
    """Errors that last fail the commit with nothing of it to be seen, then or later; a short one is tried again."""
    data = tmp_path / "data"
    with Store(data, replace(NO_PAST, tables_url="s3://lake/faults")) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "one"))
        before = _list_objects(storage, "lake/faults")
        storage.method, storage.failures = "PUT", 10_000
        with pytest.raises(GpudbError) as caught:
            insert(store, oid, (2, "two"))
        assert caught.value.sqlstate == "58030"
        storage.failures = 0
        assert rows(store, oid) == [(1, "one")]
        assert before <= _list_objects(storage, "lake/faults")
        storage.failures = 1
        insert(store, oid, (3, "three"))
        assert sorted(rows(store, oid)) == [(1, "one"), (3, "three")]
    _lose_copies(data)
    storage.method, storage.failures = "GET", 2
    with Store(data) as store:
        assert sorted(rows(store, oid)) == [(1, "one"), (3, "three")]
        _lose_copies(data)
        storage.failures = 10_000
        forget_verified()
        with pytest.raises(GpudbError) as caught:
            rows(store, oid)
        assert caught.value.sqlstate == "58030"
        storage.failures = 0
        assert sorted(rows(store, oid)) == [(1, "one"), (3, "three")]


def test_objects_of_dropped_tables_are_removed(storage: Proxy, environment: Mapping[str, str], tmp_path: Path) -> None:
    """What no table names any more leaves the storage, with a time for other readers."""
    with Store(tmp_path / "data", replace(NO_PAST, tables_url="s3://lake/removed"), keep_seconds=0) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "one"))
        assert any("/data/" in name for name in _list_objects(storage, "lake/removed"))
        with store.begin() as transaction:
            transaction.set_catalog(transaction.catalog.drop(transaction.catalog.relations["public", "t"]))
            transaction.commit()
        store.garbage.collect(at_once=True)
        wait_until(lambda: _list_objects(storage, "lake/removed") == {"gpudb-tables"}, "only the note of the owner")


def test_objects_that_a_crash_left_are_removed_after_a_time(
    storage: Proxy, environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects of no table stay for days, then an opening removes them; those of a live table stay."""
    data, left = tmp_path / "data", "lake/left/16384/data/left.parquet"
    with Store(data, replace(NO_PAST, tables_url="s3://lake/left")) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "one"))
        assert oid == 16384
    with _connect(storage).open_output_stream(left) as stream:
        stream.write(b"half")
    before = _list_objects(storage, "lake/left")
    with Store(data):
        pass
    assert _list_objects(storage, "lake/left") == before
    monkeypatch.setattr(table_files, "KEEP_ORPHANS_SECONDS", -60.0)
    with Store(data) as store:
        gone = {"16384/data/left.parquet"}
        wait_until(lambda: before - gone == _list_objects(storage, "lake/left"), "only what is no table's is removed")
        assert rows(store, oid) == [(1, "one")]


def test_a_lost_or_older_catalog_removes_no_objects(
    storage: Proxy, environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its catalog a directory is refused; with one of before, later objects stay."""
    data, copy = tmp_path / "data", tmp_path / "catalog.db"
    with Store(data, replace(NO_PAST, tables_url="s3://lake/older")) as store:
        oid = created(store, "t")
    shutil.copy(data / "catalog.db", copy)
    with Store(data, keep_seconds=3600) as store:
        for number in range(3):
            insert(store, oid, (number, "later"))
        created(store, "u")
    _lose_copies(data)
    (data / "catalog.db").unlink()
    before = _list_objects(storage, "lake/older")
    with pytest.raises(GpudbError) as caught:
        Store(data)
    assert caught.value.sqlstate == "XX001"
    monkeypatch.setattr(table_files, "KEEP_ORPHANS_SECONDS", -60.0)
    shutil.copy(copy, data / "catalog.db")
    looked: list[bool] = []
    monkeypatch.setattr(table_files.ObjectTableFiles, "_remove_orphans", _note_end(looked))
    with Store(data):
        wait_until(lambda: looked, "the opening has looked for objects of no table")
    assert _list_objects(storage, "lake/older") == before


def test_an_address_is_of_one_directory(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Neither two directories at one address, nor a directory with two addresses, nor one with tables of its own."""
    first, second, own = (tmp_path / name for name in ("first", "second", "own"))
    Store(first, replace(NO_PAST, tables_url="s3://lake/one")).close()
    cases: list[tuple[Path, str | None]] = [(second, "s3://lake/one"), (first, "s3://lake/two")]
    with Store(own) as store:
        created(store, "t")
    cases.append((own, "s3://lake/own"))
    for directory, url in cases:
        with pytest.raises(GpudbError) as caught:
            Store(directory, replace(NO_PAST, tables_url=url))
        assert caught.value.sqlstate == "55000"
    Store(first).close()
    with pytest.raises(FeatureNotSupported):
        Store(None, replace(NO_PAST, tables_url="s3://lake/none"))
    with pytest.raises(GpudbError, match="bucket"):
        Store(tmp_path / "fourth", replace(NO_PAST, tables_url="s3://no-such-bucket/x"))


def test_a_catalog_of_tables_in_an_object_storage_is_not_moved(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Coordinators could not open the directory, so that its catalog stays where it is."""
    Store(tmp_path / "data", replace(NO_PAST, tables_url="s3://lake/unmoved")).close()
    with pytest.raises(FeatureNotSupported, match="several coordinators"):
        move_to_postgres(tmp_path / "data", "postgresql://127.0.0.1:1/none")
    Store(tmp_path / "data").close()


def test_a_failed_return_to_a_snapshot_keeps_its_objects(
    storage: Proxy, environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Files of a snapshot that a transaction gives its table again are not the transaction's to take back."""
    data = tmp_path / "data"
    with Store(data, replace(RETENTION, tables_url="s3://lake/returned"), compaction=False) as store:
        oid, contended = created(store, "t"), created(store, "contended")
        insert(store, oid, (1, "first"))
        insert(store, contended, (1, "first"))
        with store.begin() as transaction:
            files = transaction.table(oid).files
            transaction.truncate(oid)
            transaction.commit()
        with store.begin() as late, store.begin() as other:
            for each in (other, late):
                each.truncate(contended)
            late.restore(oid, tuple(files))
            other.commit()
            with pytest.raises(SerializationFailure):
                late.commit()
        assert [each.table.files for each in store.catalog().snapshots[oid]][-2] == files
    expected = {Path(each.path).relative_to(data / "tables").as_posix() for each in files}
    assert expected <= _list_objects(storage, "lake/returned")
    _lose_copies(data)
    with Store(data, RETENTION, compaction=False) as store:
        with store.begin() as transaction:
            transaction.restore(oid, tuple(files))
            transaction.commit()
        assert rows(store, oid) == [(1, "first")]


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_acknowledged_commits_survive_kills_and_lost_copies(
    environment: Mapping[str, str], tmp_path: Path, rounds: int
) -> None:
    """Killed at random moments, with the copies lost each time: every acknowledged commit is there, and no half one."""
    data, acknowledged = tmp_path / "data", set[int]()
    Store(data, replace(NO_PAST, tables_url=f"s3://lake/kills-{rounds}")).close()
    for seed in range(rounds):
        said = _run_until_killed(data, seed, lines=8 + 7 * seed)
        for line in said:
            if line.startswith("log "):
                _, first, count = line.split()
                acknowledged.update(range(int(first), int(first) + int(count)))
        _lose_copies(data)
        with Store(data, RETENTION) as store:
            names = store.catalog().relations
            held = {name: rows(store, names["public", name].oid) for name in ("log", "left", "right", "holed", "moved")}
        logged = [row[0] for row in held["log"]]
        assert len(logged) == len(set(logged))
        assert acknowledged <= set(logged)
        assert sorted(held["left"]) == sorted(held["right"])
        assert sorted(row[0] for name in ("holed", "moved") for row in held[name]) == list(range(HOLED))
    assert acknowledged


def _run_until_killed(data: Path, seed: int, lines: int) -> list[str]:
    """Returns what the program of the crash tests said before it was killed amid its work."""
    command = [sys.executable, "-m", "tests.support.store_crasher", str(data), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        said = [program.stdout.readline() for _ in range(lines)]
        program.kill()
        said += program.stdout.readlines()
    return [line.strip() for line in said if line.endswith("\n")]
