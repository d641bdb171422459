"""A data directory is for its owner alone, whatever the umask: its files too, and those of older versions."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudb
from gpudb.cli.backup import backup, restore
from gpudb.errors import GpudbError
from gpudb.storage.private_files import make_data_directory
from gpudb.storage.store import Store

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """A process that gives others access to its files, as an application may that embeds gpudb."""
    before = os.umask(0o000)
    yield
    os.umask(before)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that any user may enter, unlike those of pytest."""
    made = Path(tempfile.mkdtemp(dir="/tmp", prefix="gpudb-public-"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def list_modes(folder: Path) -> dict[str, int]:
    """The modes of a folder and of all that is in it."""
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in paths}


def write_tables(data_dir: Path) -> dict[str, int]:
    """Writes tables in every way; returns the modes while the database is open."""
    with gpudb.connect(data_dir) as db:
        db.execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
        db.execute("INSERT INTO t SELECT i, 'x' || i FROM generate_series(1, 1000) AS s(i)")
        db.execute("UPDATE t SET b = 'y' WHERE a < 10")
        db.execute("CREATE SEQUENCE s; SELECT nextval('s')")
        db.execute("CREATE TABLE u (a int)")
        return list_modes(data_dir)


def check(modes: dict[str, int], folder: Path) -> None:
    for name, mode in modes.items():
        assert mode in (0o600, 0o700), f"{folder / name} has mode {mode:04o}"


def test_all_files_are_private_although_the_umask_is_open(public: Path) -> None:
    data_dir = public / "data"
    modes = write_tables(data_dir)
    check(modes, data_dir)
    check(list_modes(data_dir), data_dir)
    assert {"catalog.db", "catalog.db-wal", "catalog.db-shm", "lock", "tables", "spill"} <= modes.keys()
    assert any(name.endswith(".parquet") for name in modes)
    assert any(name.endswith(".metadata.json") for name in modes)
    assert any(name.endswith(".avro") for name in modes)
    assert os.umask(0) == 0, "the umask of the application has changed"


def test_files_that_are_added_become_private_copies(public: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), public / "source.parquet")
    with gpudb.connect(public / "data") as db:
        db.execute("CREATE TABLE t (a int)")
        db.execute(f"SELECT add_files('t', '{public / 'source.parquet'}')")
        db.execute(f"SELECT load_data('t', '{public / 'source.parquet'}')")
        assert db.execute("SELECT count(*) FROM t").fetchall() == [(4,)]
        check(list_modes(public / "data"), public / "data")


def test_backups_are_private_and_so_is_what_is_restored(public: Path) -> None:
    data_dir, backups, restored = (public / name for name in ("data", "backups", "restored"))
    write_tables(data_dir)
    backup(data_dir, backups)
    restore(backups, restored, id=None, at=None)
    for folder in (backups, restored):
        modes = list_modes(folder)
        check(modes, folder)
        assert any(name.endswith(".parquet") for name in modes)
    with gpudb.connect(restored) as db:
        assert db.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]


def test_an_older_directory_is_tightened_and_that_is_logged(public: Path, caplog: pytest.LogCaptureFixture) -> None:
    data_dir = public / "data"
    write_tables(data_dir)
    (data_dir / "my notes").write_text("not gpudb's")
    for path in [data_dir, *data_dir.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with caplog.at_level(logging.WARNING), gpudb.connect(data_dir) as db:
        assert db.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]
        modes = list_modes(data_dir)
    assert "0755" in caplog.text
    assert str(data_dir) in caplog.text
    assert modes.pop("my notes") == 0o644
    check(modes, data_dir)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        gpudb.connect(data_dir).close()
    assert caplog.text == ""


def test_an_empty_directory_is_taken(public: Path, caplog: pytest.LogCaptureFixture) -> None:
    (public / "data").mkdir(mode=0o755)
    make_data_directory(public / "data")
    assert stat.S_IMODE((public / "data").stat().st_mode) == 0o700
    assert caplog.text == ""


def test_a_directory_of_other_files_is_left_alone(public: Path) -> None:
    folder = public / "home"
    folder.mkdir(mode=0o755)
    (folder / "program").touch(mode=0o755)
    with pytest.raises(GpudbError) as raised:
        Store(folder)
    assert raised.value.sqlstate == "55000"
    assert raised.value.message == f'data directory "{folder}" has invalid permissions'
    assert list_modes(folder) == {".": 0o755, "program": 0o755}


def test_links_are_not_followed(public: Path) -> None:
    data_dir, outside = public / "data", public / "outside"
    write_tables(data_dir)
    outside.touch(mode=0o644)
    (data_dir / "tables" / "link").symlink_to(outside)
    data_dir.chmod(0o755)
    make_data_directory(data_dir)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


@AS_ROOT
def test_another_user_reads_nothing(public: Path) -> None:
    data_dir = public / "data"
    write_tables(data_dir)
    for command in (["ls", str(data_dir)], ["cat", str(data_dir / "catalog.db")]):
        done = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, timeout=30)
        assert done.returncode != 0
        assert b"Permission denied" in done.stderr
    data_dir.chmod(0o755)  # even then the files are closed
    for path in (data_dir / "catalog.db", next(data_dir.rglob("*.parquet"))):
        done = subprocess.run(
            ["cat", str(path)], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, timeout=30
        )
        assert done.returncode != 0


@AS_ROOT
def test_a_directory_of_another_user_with_open_access_is_refused(public: Path) -> None:
    data_dir = public / "data"
    write_tables(data_dir)
    data_dir.chmod(0o777)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            make_data_directory(data_dir)
        except BaseException as error:
            os.write(writer, f"{getattr(error, 'sqlstate', '')} {error}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == f'55000 data directory "{data_dir}" has invalid permissions'
    assert os.waitpid(child, 0)[1] == 0
