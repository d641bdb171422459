"""`gpudb repair --table`: a damaged table comes back from its kept snapshots, or is told to be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.session.database import Database
from gpudb.storage.recovery.check import check
from tests.support.command_line import run_in_process
from tests.support.sessions import run

STEPS = (
    "CREATE TABLE t (a int)",
    "INSERT INTO t VALUES (1)",
    "CHECKPOINT",  # it is in the table's metadata
    "INSERT INTO t VALUES (2)",
    "CHECKPOINT",
    "UPDATE t SET a = a + 10",
    "CREATE TABLE sound AS SELECT 1 AS a",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with a table that was empty, had one row, then two, and then two others; and a sound table."""
    directory = tmp_path / "data"
    database = Database(directory)
    session = database.session("gpudb")
    for text in STEPS:
        run(session, text)
    database.close()
    return directory


def _query(directory: Path, text: str) -> list[tuple[object, ...]]:
    database = Database(directory)
    try:
        return run(database.session("gpudb"), text)
    finally:
        database.close()


def _folder(directory: Path) -> Path:
    ((oid,),) = _query(directory, "SELECT 't'::regclass::oid")
    return directory / "tables" / str(oid)


def _newest(folder: Path) -> Path:
    return max((folder / "metadata").glob("*.metadata.json"))


def _repair(directory: Path, *options: str) -> tuple[int, str]:
    ended = run_in_process("repair", "--data-dir", directory, "--table", "t", *options)
    return ended.returncode, ended.stdout + ended.stderr


def test_a_sound_table_is_left_alone(data: Path) -> None:
    status, told = _repair(data)
    assert (status, told) == (0, "the table is sound: 2 rows\n")


@pytest.mark.parametrize("damage", [None, b"{", b'{"format-version": 2}'])
def test_damaged_metadata(data: Path, damage: bytes | None) -> None:
    path = _newest(_folder(data))
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert [name for name, _ in check(data).problems] == ["public.t"]
    status, told = _repair(data)
    assert status == 0, told
    assert "could not be read" in told
    assert told.endswith("the table is sound: 2 rows\n")
    # What the last commit did is lost with its metadata.
    assert _query(data, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    assert _query(data, "SELECT a FROM sound") == [(1,)]
    assert not check(data, deep=True).problems


@pytest.mark.parametrize("damage", ["missing", "short", "changed"])
def test_a_damaged_file(data: Path, damage: str) -> None:
    path = max(_folder(data).rglob("*.parquet"), key=lambda each: each.stat().st_mtime_ns)
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(content[:-10])
    else:
        path.write_bytes(content[:8] + bytes([content[8] ^ 255]) + content[9:])
    status, told = _repair(data)
    assert status == 0, told
    assert "the table is restored from snapshot" in told
    assert told.endswith(": 2 rows\n")
    assert _query(data, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_a_chosen_snapshot(data: Path) -> None:
    ((number,),) = _query(data, "SELECT snapshot_id FROM gpudb_snapshots('t') WHERE rows = 1")
    status, told = _repair(data, "--snapshot", str(number))
    assert (status, told) == (0, f"the table is restored from snapshot {number}: 1 rows\n")
    assert _query(data, "SELECT a FROM t") == [(1,)]
    status, told = _repair(data, "--snapshot", "12")
    assert status == 1
    assert 'snapshot 12 of table "t" does not exist' in told


def test_nothing_is_left(data: Path) -> None:
    _query(data, "ALTER SYSTEM SET gpudb.snapshot_retention = 0")
    _query(data, "VACUUM t")
    (path,) = _folder(data).rglob("*.parquet")
    path.unlink()
    status, told = _repair(data)
    assert (status, told) == (1, "no snapshot of the table is whole: restore a backup\n")


def test_what_is_wrong_is_told(data: Path, tmp_path: Path) -> None:
    for options, expected in (
        (("--data-dir", str(data), "--table", "nothing"), "is no table"),
        (("--data-dir", str(tmp_path / "none"), "--table", "t"), "is not a data directory"),
        (("--data-dir", str(data), "--snapshot", "1"), "--snapshot goes with --table"),
    ):
        ended = run_in_process("repair", *options)
        assert ended.returncode != 0
        assert expected in ended.stdout + ended.stderr
