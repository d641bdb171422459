"""The server program: rules of connections with psql, SIGHUP, file modes, and what its logs hold."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.command_line import run_in_process
from tests.support.server_program import Program
from tests.support.sessions import wait_until

RULES = "host all gpudb 127.0.0.1/32 trust\nhost all ann 127.0.0.1/32 scram-sha-256\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Program, Path]]:
    folder = tmp_path_factory.mktemp("access")
    (folder / "pg_hba.conf").write_text(RULES)
    options = ["--hba-file", str(folder / "pg_hba.conf"), "--audit-log", str(folder / "audit.jsonl")]
    before = os.umask(0o000)
    try:
        running = Program(folder / "data", *options, "--log", str(folder / "statements.jsonl"))
    finally:
        os.umask(before)
    with running:
        yield running, folder
        assert running.stop() == 0


def psql(program: Program, user: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    target = f"host={program.host} port={program.port} user={user} dbname=gpudb connect_timeout=60"
    return subprocess.run(
        ["psql", "-X", "-A", "-t", "-d", target, *arguments],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
    )  # fmt: skip


def test_psql_is_let_in_or_refused_by_rules(program: tuple[Program, Path]) -> None:
    server, _ = program
    done = psql(server, "gpudb", "-c", "CREATE ROLE ann LOGIN PASSWORD 'secret'", "-c", "SELECT 1")
    assert done.stdout == "CREATE ROLE\n1\n", done.stderr
    assert psql(server, "ann", "-c", "SELECT 2", PGPASSWORD="secret").stdout == "2\n"
    done = psql(server, "ann", "-c", "SELECT 2", PGPASSWORD="wrong")
    assert 'FATAL:  password authentication failed for user "ann"' in done.stderr
    done = psql(server, "eve", "-c", "SELECT 2")
    assert 'FATAL:  no pg_hba.conf entry for host "127.0.0.1", user "eve", database "gpudb"' in done.stderr
    assert "SSL encryption" in done.stderr  # psql encrypts where the server does
    assert "no encryption" in done.stderr


def test_rules_are_loaded_again_by_sighup_and_by_a_function(program: tuple[Program, Path]) -> None:
    server, folder = program
    rules = folder / "pg_hba.conf"
    try:
        rules.write_text(RULES + "host all eve all reject\n")
        assert psql(server, "gpudb", "-c", "SELECT pg_reload_conf()").stdout == "t\n"
        assert "pg_hba.conf rejects connection" in psql(server, "eve", "-c", "SELECT 1").stderr
        rules.write_text(RULES)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "no pg_hba.conf entry" in psql(server, "eve", "-c", "SELECT 1").stderr, "rules are loaded")
        rules.write_text("host all all all trust\nhost all all all magic\n")
        assert psql(server, "gpudb", "-c", "SELECT pg_reload_conf()").stdout == "t\n"
        assert "no pg_hba.conf entry" in psql(server, "eve", "-c", "SELECT 1").stderr
        log = server.read_log()
        assert f'line 2 of configuration file "{rules}": invalid authentication method "magic"' in log
        shown = psql(
            server, "gpudb", "-c", "SELECT rule_number, line_number, auth_method, error FROM pg_hba_file_rules"
        )
        assert shown.stdout == '1|1|trust|\n|2||invalid authentication method "magic"\n'
    finally:
        rules.write_text(RULES)
        psql(server, "gpudb", "-c", "SELECT pg_reload_conf()")


def test_only_superusers_see_and_load_rules(program: tuple[Program, Path]) -> None:
    server, _ = program
    psql(server, "gpudb", "-c", "CREATE ROLE ann LOGIN PASSWORD 'secret'")
    for statement, message in (
        ("SELECT pg_reload_conf()", "permission denied for function pg_reload_conf"),
        ("SELECT * FROM pg_hba_file_rules", "permission denied for view pg_hba_file_rules"),
    ):
        assert message in psql(server, "ann", "-c", statement, PGPASSWORD="secret").stderr


def test_settings_of_the_server_are_shown(program: tuple[Program, Path]) -> None:
    server, folder = program
    with psycopg.connect(server.dsn) as connection:
        assert connection.execute("SHOW hba_file").fetchone() == (str(folder / "pg_hba.conf"),)
        assert connection.execute("SHOW superuser_reserved_connections").fetchone() == ("3",)
        assert connection.execute("SHOW authentication_timeout").fetchone() == ("1min",)
        before = connection.execute("SELECT pg_conf_load_time()").fetchone()
        connection.execute("SELECT pg_reload_conf()")
        after = connection.execute("SELECT pg_conf_load_time()").fetchone()
    assert before is not None
    assert after is not None
    assert before < after


def test_everything_the_server_writes_is_for_its_owner(program: tuple[Program, Path]) -> None:
    """The umask of the shell that started it was open."""
    server, folder = program
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE modes AS SELECT generate_series(1, 1000) AS a")
        connection.execute("UPDATE modes SET a = a + 1")
        paths = [folder / "data", *(folder / "data").rglob("*"), folder / "audit.jsonl", folder / "statements.jsonl"]
        modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in paths}
        connection.execute("DROP TABLE modes")
    assert len(modes) > 10
    assert {path: f"{mode:o}" for path, mode in modes.items() if mode not in (0o600, 0o700)} == {}


def test_everything_that_workers_write_is_for_its_owner(tmp_path: Path) -> None:
    local = Path(tempfile.mkdtemp(dir="/tmp"))  # a short path: sockets are in it
    before = os.umask(0o000)
    try:
        server = Program(tmp_path / "data", "--engine", "twin", "--workers", "2", environment={"TMPDIR": str(local)})
    finally:
        os.umask(before)
    with server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT g AS a, g % 7 AS b FROM generate_series(1, 200000) AS g")
            assert connection.execute("SELECT count(*) FROM (SELECT b FROM t GROUP BY b) AS s").fetchone() == (7,)
            paths = [*(tmp_path / "data").rglob("*"), *local.rglob("*")]
            modes = {str(path): stat.S_IMODE(path.lstat().st_mode) for path in paths if not path.is_symlink()}
        assert server.stop() == 0
    shutil.rmtree(local, ignore_errors=True)
    assert any(str(local) in path for path in modes)
    assert {path: f"{mode:o}" for path, mode in modes.items() if mode & 0o077} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_connection_of_another_user_meets_the_same_rules(program: tuple[Program, Path]) -> None:
    server, _ = program
    target = f"host={server.host} port={server.port} user=eve dbname=gpudb"
    done = subprocess.run(
        ["psql", "-X", "-d", target, "-c", "SELECT 1"],
        user=65534, group=65534, extra_groups=[], capture_output=True, text=True, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )  # fmt: skip
    assert "no pg_hba.conf entry" in done.stderr


def test_passwords_are_in_no_log(program: tuple[Program, Path]) -> None:
    server, folder = program
    secrets = []
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE logged LOGIN")
        for number, form in enumerate(
            ("'{}'", "E'{}'", "U&'{}'", "$${}$$", "$x${}$x$", "/* {} */ '{}'", "'{}' VALID UNTIL 'infinity'")
        ):
            secrets.append(f"hunter{number}")
            connection.execute("ALTER ROLE logged PASSWORD " + form.replace("{}", secrets[-1]))
        secrets.append("hunterx")
        with pytest.raises(psycopg.Error):
            connection.execute("ALTER ROLE logged PASWORD 'hunterx'")
        secrets.append("huntery")
        with pytest.raises(psycopg.Error):
            connection.execute("ALTER ROLE missing PASSWORD 'huntery'")
        encrypted = connection.pgconn.encrypt_password(b"hunterz", b"logged", b"scram-sha-256").decode()
        connection.execute(f"ALTER USER logged PASSWORD '{encrypted}'")
        secrets += ["hunterz", encrypted, encrypted.rpartition(":")[2], "hunterw"]
        target = f"host={server.host} port={server.port} user=gpudb dbname=gpudb"
        done = subprocess.run(
            ["psql", "-X", "-d", target, "-c", r"\password logged"],
            input="hunterw\nhunterw\n", start_new_session=True, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert psql(server, "gpudb", "-c", "SELECT rolpassword FROM pg_authid WHERE rolname = 'logged'").stdout > ""
        connection.execute("DROP ROLE logged")
    for name in ("audit.jsonl", "statements.jsonl", "data.log"):
        text = (folder / name).read_text()
        assert [secret for secret in secrets if secret in text] == []
    statements = [json.loads(line)["statement"] for line in (folder / "statements.jsonl").read_text().splitlines()]
    assert statements.count("ALTER ROLE logged PASSWORD '…'") == 5
    audited = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert sum(line.get("statement") == "ALTER ROLE logged PASSWORD '…'" for line in audited) == 5


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            "host all all all trust\nhost all all all md5\n",
            ('line 2 of configuration file "', '"md5" is not supported'),
        ),
        ("", ("contains no entries",)),
        (None, ("could not open file", "No such file")),
    ],
)
def test_a_broken_rules_file_ends_the_start(tmp_path: Path, rules: str | None, expected: tuple[str, ...]) -> None:
    file = tmp_path / "pg_hba.conf"
    if rules is not None:
        file.write_text(rules)
    done = run_in_process("serve", "--port", "0", "--data-dir", tmp_path / "data", "--hba-file", file)
    assert done.returncode == 1
    assert "F0000" in done.stderr
    assert all(each in done.stderr for each in expected)
    assert "Traceback" not in done.stderr


def test_reserved_connections_have_to_be_fewer_than_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDB_SUPERUSER_RESERVED_CONNECTIONS", "5")
    done = run_in_process("serve", "--max-connections", "5", "--data-dir", tmp_path / "data")
    assert done.returncode == 1
    assert "superuser_reserved_connections must be less than max_connections" in done.stderr
