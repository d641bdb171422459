"""The server program with what orchestrators mount: passwords in files, a renewed certificate, a disk for spilling."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from gpudb.certificates import create_self_signed
from tests.support.server_program import Program
from tests.support.sessions import wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("secrets")
    (made / "passwords" / "..data").mkdir(parents=True)  # as Kubernetes mounts a secret
    (made / "passwords" / "..data" / "gpudb").write_text("it's \\ secret\n")
    (made / "passwords" / "gpudb").symlink_to("..data/gpudb")
    (made / "passwords" / "Ann's").write_text("first")
    create_self_signed(made / "tls.crt", made / "tls.key", "127.0.0.1")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Program]:
    environment = {
        "GPUDB_ROLE_PASSWORDS": str(folder / "passwords"),
        "GPUDB_SPILL_DIR": str(folder / "nvme"),
        "GPUDB_MEMORY_LIMIT": "200MB",
    }
    tls = ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")]
    # An address off loopback would be refused without a password.
    with Program(folder / "data", "--engine", "cpu", *tls, environment=environment) as program:
        yield program


def connect(server: Program, user: str, password: str, **options: str) -> psycopg.Connection:
    target = {"host": server.host, "port": str(server.port), "user": user, "dbname": "gpudb", "connect_timeout": "60"}
    return psycopg.connect(**target, password=password, autocommit=True, **options)  # type: ignore[arg-type]


def test_roles_have_the_passwords_of_their_files(server: Program, folder: Path) -> None:
    with connect(server, "gpudb", "it's \\ secret") as connection:
        assert connection.execute("SELECT usesuper FROM pg_user WHERE usename = 'gpudb'").fetchone() == (True,)
    with connect(server, "Ann's", "first") as connection:
        found = connection.execute("SELECT rolsuper, rolcanlogin FROM pg_roles WHERE rolname = 'Ann''s'").fetchone()
    assert found == (False, True)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(server, "gpudb", "wrong")


def test_sighup_applies_changed_passwords_and_bad_ones_are_logged(server: Program, folder: Path) -> None:
    (folder / "passwords" / "Ann's").write_text("second")
    server.process.send_signal(signal.SIGHUP)

    def works() -> bool:
        try:
            connect(server, "Ann's", "second").close()
        except psycopg.OperationalError:
            return False
        return True

    wait_until(works, "the new password")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(server, "Ann's", "first")
    (folder / "passwords" / "empty").write_text("")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: 'the password of role "empty"' in server.read_log(), "a message in the log")
    (folder / "passwords" / "empty").unlink()
    connect(server, "Ann's", "second").close()


def test_sighup_loads_a_renewed_certificate_and_keeps_the_former_one_if_it_is_unusable(
    server: Program, folder: Path
) -> None:
    def get() -> str:
        # The server speaks TLS after PostgreSQL's request for it alone, so libpq compares.
        try:
            connect(server, "gpudb", "it's \\ secret", sslmode="verify-ca", sslrootcert=str(folder / "ca.crt")).close()
        except psycopg.OperationalError as error:
            return str(error)
        return ""

    (folder / "ca.crt").write_text((folder / "tls.crt").read_text())
    assert get() == ""
    create_self_signed(folder / "new.crt", folder / "new.key", "127.0.0.1")
    (folder / "ca.crt").write_text((folder / "new.crt").read_text())
    assert "certificate verify failed" in get()
    (folder / "new.crt").replace(folder / "tls.crt")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the certificate is not loaded again" in server.read_log(), "a message in the log")
    assert "certificate verify failed" in get()
    (folder / "new.key").replace(folder / "tls.key")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: get() == "", "the new certificate")


def bytes_in(folder: Path) -> int:
    """The size in bytes of the files in a folder that a server fills and empties meanwhile."""
    total = 0
    for path in folder.glob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def test_operations_spill_to_their_directory(server: Program, folder: Path) -> None:
    most = 0
    with connect(server, "gpudb", "it's \\ secret") as connection, ThreadPoolExecutor(1) as pool:
        sort = "SELECT count(*) FROM (SELECT t, row_number() OVER (ORDER BY t) AS n FROM ({}) x) y WHERE n % 7 = 0"
        rows = "SELECT repeat(md5(i::text), 8) AS t FROM generate_series(1, 1000000) i"
        running = pool.submit(lambda: connection.execute(sort.format(rows)).fetchone())
        while not running.done():
            most = max(most, bytes_in(folder / "nvme" / "spill"))
            time.sleep(0.005)  # the interval of looks at the folder
        assert running.result() == (1000000 // 7,)
    assert most > 2**20
    assert not (folder / "data" / "spill").exists()


def test_an_unreadable_folder_of_passwords_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r'role_passwords ".*none" cannot be read'):
        Program(tmp_path / "data", "--engine", "cpu", environment={"GPUDB_ROLE_PASSWORDS": str(tmp_path / "none")})
