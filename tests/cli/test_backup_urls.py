"""Backups at URLs: an S3 server's bucket and file://, as a user and a server's schedule write and restore them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow.fs
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.storage.backup.manifest import FILES, list_manifests
from gpudb.storage.recovery.check import check
from tests.support.command_line import run_in_process
from tests.support.data_directory import run_over
from tests.support.s3.server import S3Server, running_s3_server
from tests.support.server_program import Program
from tests.support.wire_server import serving

BUCKET = "safe"
DESTINATION = f"s3://{BUCKET}/nightly/shop"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3_server(tmp_path_factory.mktemp("s3")) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        server.create_bucket(BUCKET)
        yield server


def _gpudb(*arguments: str | Path, status: int = 0) -> str:
    done = run_in_process(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def _files(s3: S3Server) -> pyarrow.fs.S3FileSystem:
    return pyarrow.fs.S3FileSystem(endpoint_override=s3.endpoint.removeprefix("http://"), scheme="http", region="any")


@pytest.mark.timeout(600)
def test_a_bucket_holds_backups_of_a_server(tmp_path: Path, s3: S3Server) -> None:
    with serving(Database(tmp_path / "data")) as server:
        host, port = server.address
        url = f"postgresql://gpudb@{host}:{port}/gpudb"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT g AS a, md5(g::text) AS b FROM generate_series(1, 200000) g")
            connection.execute("ALTER SYSTEM SET gpudb.max_statement_timeout = '1h'")
            assert DESTINATION in _gpudb("backup", DESTINATION, "--url", url)
            connection.execute("INSERT INTO t VALUES (0, 'new')")
            backup = f"SELECT gpudb_backup('{DESTINATION}')"
            ((copied,),) = connection.execute(backup).fetchall()  # type: ignore[arg-type]
            ((again,),) = connection.execute(backup).fetchall()  # type: ignore[arg-type]
    first, second, third = list_manifests(DESTINATION)
    assert again == 0
    assert 0 < copied < first.bytes / 10
    assert set(first.files) & set(second.files)
    assert second.files == third.files
    assert _gpudb("verify-backup", DESTINATION).count("sound") == 3
    _gpudb("restore", DESTINATION, tmp_path / "first", "--backup", first.id)
    _gpudb("restore", DESTINATION, tmp_path / "last")
    for name, rows in (("first", 200_000), ("last", 200_001)):
        assert not check(tmp_path / name, deep=True).problems
        assert run_over(tmp_path / name, "SELECT count(*) FROM t") == [(rows,)]
        assert run_over(tmp_path / name, "SHOW gpudb.max_statement_timeout") == [("1h",)]


def test_a_damaged_object_is_found(tmp_path: Path, s3: S3Server) -> None:
    destination = f"s3://{BUCKET}/damaged"
    run_over(tmp_path / "data", "CREATE TABLE t AS SELECT 1 AS a")
    assert "backup " in _gpudb("backup", destination, "--data-dir", tmp_path / "data")
    (manifest,) = list_manifests(destination)
    (name,) = (name for name in manifest.files if name.endswith(".parquet"))
    path = f"{BUCKET}/damaged/{FILES}/{name}"
    with _files(s3).open_input_stream(path) as stream:
        whole = stream.read()
    with _files(s3).open_output_stream(path) as stream:
        stream.write(whole[:-1] + b"x")
    assert "differs from its checksum" in _gpudb("verify-backup", destination, status=1)
    assert Path(name).name in _gpudb("restore", destination, tmp_path / "restored", status=1)
    assert not list((tmp_path / "restored").iterdir())
    _files(s3).delete_file(path)
    assert "is missing" in _gpudb("verify-backup", destination, status=1)
    assert "is missing" in _gpudb("restore", destination, tmp_path / "restored", status=1)
    assert "1 files" not in _gpudb("backup", destination, "--data-dir", tmp_path / "data")
    assert "is missing" not in _gpudb("verify-backup", destination)


def test_a_server_writes_backups_to_a_bucket_by_itself(tmp_path: Path, s3: S3Server) -> None:
    destination = f"s3://{BUCKET}/scheduled"
    environment = {"GPUDB_BACKUP_DIR": destination, "GPUDB_BACKUP_INTERVAL": "1", "GPUDB_BACKUP_KEEP": "2"}
    seen: set[str] = set()
    selector = pyarrow.fs.FileSelector(f"{BUCKET}/scheduled/backups", allow_not_found=True)
    with Program(tmp_path / "data", environment=environment) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            deadline = time.monotonic() + 90
            while len(seen) < 4 and time.monotonic() < deadline:
                connection.execute("CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a")
                connection.execute("UPDATE t SET a = a + 1")
                time.sleep(0.2)  # the interval of looks at the bucket
                names = [info.base_name for info in _files(s3).get_file_info(selector)]
                seen |= {name for name in names if name.endswith(".json")}
        server.stop()
        assert "failed" not in server.read_log()
    assert len(seen) >= 4
    assert len(list_manifests(destination)) <= 3
    assert _gpudb("verify-backup", destination).count("sound") <= 3


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    run_over(tmp_path / "data", "CREATE TABLE t AS SELECT 1 AS a")
    _gpudb("backup", folder.as_uri(), "--data-dir", tmp_path / "data")
    assert (folder / "backups").is_dir()
    assert "sound" in _gpudb("verify-backup", folder.as_uri())
    _gpudb("restore", folder.as_uri(), tmp_path / "restored")
    assert check(tmp_path / "restored", deep=True).rows == 1


@pytest.mark.parametrize(
    ("where", "sqlstate", "text"),
    [
        ("gs://bucket/a", "0A000", 'scheme "gs"'),
        ("ftp://host/a", "0A000", 'scheme "ftp"'),
        ("s3://key:secret@bucket/a", "22023", "environment"),
        ("s3://", "22023", "s3://bucket/prefix"),
        ("s3://bucket/a?region=x", "22023", "query"),
        ("file://elsewhere/a", "22023", "file:///folder"),
    ],
)
def test_urls_that_are_refused(gpudb_server: str, where: str, sqlstate: str, text: str) -> None:
    with psycopg.connect(gpudb_server, autocommit=True) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(f"SELECT gpudb_backup('{where}')")  # type: ignore[arg-type]
    assert raised.value.sqlstate == sqlstate
    assert text in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_bucket_that_does_not_exist(tmp_path: Path, s3: S3Server) -> None:
    with pytest.raises(GpudbError) as raised:
        run_over(tmp_path / "data", "SELECT gpudb_backup('s3://missing/a')")
    assert raised.value.sqlstate == "58030"
    assert "s3://missing/a" in str(raised.value)
