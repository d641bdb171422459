"""pgbouncer: clients of its pools by transaction and by session, their prepared statements, its console."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
from scenario import ENDLESS, cancelling, check, refused, same, version

_USER = "nobody"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


version(re.search(r"[\d.]+", subprocess.check_output(["pgbouncer", "--version"], text=True))[0])
port, known = free_port(), os.environ
Path("users.txt").write_text(f'"{known["PGUSER"]}" "{known["PGPASSWORD"]}"\n')
server = f"host={known['PGHOST']} port={known['PGPORT']} dbname={known['PGDATABASE']} user={known['PGUSER']} password='{known['PGPASSWORD']}'"
Path("bouncer.ini").write_text(
    f"[databases]\nby_transaction = {server} pool_mode=transaction\nby_session = {server} pool_mode=session\n"
    f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = scram-sha-256\nauth_file = users.txt\n"
    f"admin_users = {known['PGUSER']}\ndefault_pool_size = 3\nunix_socket_dir =\nserver_tls_sslmode = require\n"
    "ignore_startup_parameters = extra_float_digits,options\n"
)
command = ["pgbouncer", "bouncer.ini"]
if os.geteuid() == 0:  # it refuses to run as root
    folder = Path("/tmp") / f"pgbouncer-{os.getpid()}"
    shutil.copytree(".", folder)
    owner = pwd.getpwnam(_USER)
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    command, work = ["pgbouncer", "-u", _USER, "bouncer.ini"], folder
else:
    work = Path.cwd()
bouncer = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect(database: str, **options: object) -> psycopg.Connection[tuple[object, ...]]:
    """A client of a pool."""
    return psycopg.connect(host="127.0.0.1", port=port, dbname=database, autocommit=True, **options)


def ready() -> bool:
    """Whether it listens."""
    try:
        connect("by_session").close()
    except psycopg.OperationalError:
        return False
    return True


try:
    with check("connect", "a client of the pool"):
        deadline = time.monotonic() + 20
        while not ready() and time.monotonic() < deadline:
            time.sleep(0.1)
        same(connect("by_session").execute("SELECT 1").fetchone(), (1,))
    with check("tls", "between the pool and the server"), connect("pgbouncer") as console:
        console.prepare_threshold = None
        with psycopg.ClientCursor(console) as cursor:
            servers = cursor.execute("SHOW SERVERS").fetchall()
        same(any("TLS" in str(value) for row in servers for value in row), True)
    with check("queries", "more clients than connections"), ThreadPoolExecutor(20) as threads:

        def ask(n: int) -> object:
            """What a client of its own is answered."""
            with connect("by_transaction", prepare_threshold=None) as client:
                return [client.execute("SELECT %s::int", [n]).fetchone() for _ in range(5)][-1]

        same(list(threads.map(ask, range(20))), [(n,) for n in range(20)])
    with (
        check("transactions", "of two clients that share connections"),
        connect("by_transaction") as one,
        connect("by_transaction") as two,
    ):
        one.execute("CREATE TABLE t (id int)")
        with one.transaction():
            one.execute("INSERT INTO t VALUES (1)")
            same(two.execute("SELECT count(*) FROM t").fetchone(), (0,))
        same(two.execute("SELECT count(*) FROM t").fetchone(), (1,))
    with check("prepared", "in a session"), connect("by_session") as client:
        for n in range(10):
            same(client.execute("SELECT %s::int", [n], prepare=True).fetchone(), (n,))
    with check("queries", "settings are reset between sessions"):
        with connect("by_session") as client:
            client.execute("SET search_path = nowhere")
        with connect("by_session") as client:
            same(client.execute("SHOW search_path").fetchone(), ('"$user", public',))
    with check("copy", "through the pool"), connect("by_transaction") as client:
        with client.cursor().copy("COPY t FROM STDIN") as copy:
            for n in range(1000):
                copy.write_row((n,))
        same(client.execute("SELECT count(*) FROM t").fetchone(), (1001,))
    with (
        check("cancel", "through the pool"),
        connect("by_session") as client,
        psycopg.connect(autocommit=True) as other,
    ):
        query = (
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT sum(a.n %% b.n)%%'"
        )
        with cancelling(lambda: other.execute(query.replace("%%", "%")).fetchone() == (True,), client.cancel_safe):
            refused(lambda: client.execute(ENDLESS), "57014")
finally:
    bouncer.terminate()
    bouncer.wait(20)
    if work != Path.cwd():
        shutil.rmtree(work)
