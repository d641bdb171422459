"""pgpool: clients of its pool in the modes raw and streaming replication, over TLS, and its SHOW commands."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
from scenario import ENDLESS, cancelling, check, refused, same, version

_USER = "nobody"

known = os.environ
said = subprocess.run(["pgpool", "--version"], capture_output=True, text=True)
version(re.search(r"[\d.]+\d", said.stdout + said.stderr)[0])
folder = Path(tempfile.mkdtemp(prefix="pgpool-", dir="/tmp"))  # a socket's path has to be short
as_user = {}
if os.geteuid() == 0:
    owner = pwd.getpwnam(_USER)
    as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def write(name: str, text: str) -> Path:
    """Writes a file that only the pool's user reads."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o600)
    return path


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def pool(mode: str) -> Iterator[int]:
    """Runs a pool of that mode; yields its port."""
    port = free_port()
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "pcp_listen_addresses": "",
        "pcp_port": free_port(),
        "socket_dir": folder,
        "pcp_socket_dir": folder,
        "wd_ipc_socket_dir": folder,
        "pid_file_name": folder / "pid",
        "logdir": folder,
        "backend_clustering_mode": mode,
        "backend_hostname0": known["PGHOST"],
        "backend_port0": known["PGPORT"],
        "backend_weight0": 1,
        "backend_flag0": "ALWAYS_PRIMARY",
        "num_init_children": 8,
        "max_pool": 2,
        "enable_pool_hba": "on",
        "pool_passwd": write("pool_passwd", f"{known['PGUSER']}:TEXT{known['PGPASSWORD']}\n"),
        "ssl": "on",
        "sr_check_user": known["PGUSER"],
        "sr_check_password": known["PGPASSWORD"],
        "sr_check_database": known["PGDATABASE"],
        "sr_check_period": 2,
        "health_check_user": known["PGUSER"],
        "health_check_password": known["PGPASSWORD"],
        "health_check_database": known["PGDATABASE"],
        "health_check_period": 2,
    }
    config = write("pgpool.conf", "".join(f"{name} = '{value}'\n" for name, value in settings.items()))
    hba = write("pool_hba.conf", "host all all 127.0.0.1/32 scram-sha-256\n")
    write("pcp.conf", "")
    for path in (folder, *folder.iterdir()):
        if as_user:
            os.chown(path, as_user["user"], as_user["group"])
    command = ["pgpool", "-n", "-f", str(config), "-a", str(hba), "-F", str(folder / "pcp.conf")]
    with Path("messages").open("w") as messages:
        running = subprocess.Popen(command, cwd=folder, stdout=messages, stderr=messages, **as_user)
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                connect(port).close()
                break
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield port
    finally:
        running.terminate()
        running.wait(20)


def connect(port: int, **options: object) -> psycopg.Connection[tuple[object, ...]]:
    """A client of the pool."""
    given = {"host": "127.0.0.1", "port": port, "sslmode": "disable", "autocommit": True, **options}
    return psycopg.connect(**given)


def use(mode: str, port: int) -> None:
    """The checks of one mode."""
    with check("queries", f"{mode}: more sessions than connections"), ThreadPoolExecutor(6) as threads:

        def ask(n: int) -> object:
            """What a client of its own is answered."""
            with connect(port) as client:
                return [client.execute("SELECT %s::int", [n]).fetchone() for _ in range(5)][-1]

        same(list(threads.map(ask, range(30))), [(n,) for n in range(30)])
    with check("queries", f"{mode}: a connection is reset between sessions"):
        with connect(port) as client:
            client.execute("SET search_path = nowhere")
            client.execute("CREATE TEMP TABLE passing (a int)")
        with connect(port) as client:
            same(client.execute("SHOW search_path").fetchone(), ('"$user", public',))
            refused(lambda: client.execute("SELECT * FROM passing"), "42P01")
    with check("queries", f"{mode}: errors"), connect(port) as client:
        refused(lambda: client.execute("SELECT * FROM missing"), "42P01")
        same(client.execute("SELECT 1").fetchone(), (1,))
    with (
        check("transactions", f"{mode}: of two clients, and rolled back"),
        connect(port) as one,
        connect(port) as two,
    ):
        one.execute("CREATE TABLE t (id int)")
        with one.transaction():
            one.execute("INSERT INTO t VALUES (1)")
            same(two.execute("SELECT count(*) FROM t").fetchone(), (0,))
        with one.transaction(force_rollback=True):
            one.execute("DELETE FROM t")
        same(two.execute("SELECT count(*) FROM t").fetchone(), (1,))
    with check("prepared", f"{mode}: in a session, and by SQL"), connect(port) as client:
        for n in range(10):
            same(client.execute("SELECT %s::int + id FROM t", [n], prepare=True).fetchone(), (n + 1,))
        client.execute("PREPARE own AS SELECT $1::int + id FROM t")
        same(client.execute("EXECUTE own(4)").fetchone(), (5,))
    with check("copy", f"{mode}: in and out"), connect(port) as client:
        with client.cursor().copy("COPY t FROM STDIN") as copy:
            for n in range(1000):
                copy.write_row((n,))
        with client.cursor().copy("COPY t TO STDOUT") as copy:
            same(len(list(copy.rows())), 1001)
    with check("cancel", mode), connect(port) as client, psycopg.connect(autocommit=True) as other:
        query = (
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT sum(a.n %% b.n)%%'"
        )
        with cancelling(lambda: other.execute(query.replace("%%", "%")).fetchone() == (True,), client.cancel):
            refused(lambda: client.execute(ENDLESS), "57014")
        same(client.execute("SELECT count(*) FROM t").fetchone(), (1001,))
        client.execute("DROP TABLE t")


try:
    with pool("raw") as port:
        with check("connect", "with a password"), connect(port) as client:
            same(client.execute("SELECT 1").fetchone(), (1,))
        with check("tls", "between the pool and the server"), connect(port) as client:
            found = client.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
            same(found, (True,))
        use("raw", port)
    with pool("streaming_replication") as port:
        with check("connect", "in the mode streaming replication"), connect(port) as client:
            same(client.execute("SELECT 1").fetchone(), (1,))
        use("streaming replication", port)
        with check("metadata", "SHOW POOL_NODES"), connect(port, cursor_factory=psycopg.ClientCursor) as client:
            rows = client.execute("SHOW POOL_NODES").fetchall()
            same([(row[3], row[6]) for row in rows], [("up", "primary")])
finally:
    shutil.rmtree(folder, ignore_errors=True)
