"""postgres_fdw: a PostgreSQL whose foreign tables are gpudb's: imported, joined, pushed down, changed."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
from scenario import check, refused, same, version

_USER = "nobody"
_SETTINGS = "listen_addresses='' fsync=off max_connections=20 shared_buffers=16MB timezone=UTC"

known, programs = os.environ, Path(os.environ["PG_BIN"])
version(re.search(r"[\d.]+", subprocess.check_output([programs / "postgres", "--version"], text=True))[0])
folder = Path(tempfile.mkdtemp(prefix="fdw-", dir="/tmp"))  # a socket's path has to be short
data, certificate = folder / "data", folder / "server.crt"
shutil.copy(known["PGSSLROOTCERT"], certificate)
as_user = {}
if os.geteuid() == 0:  # it refuses to run as root
    owner = pwd.getpwnam(_USER)
    for path in (folder, certificate):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def start(*command: object) -> None:
    """Runs a program of PostgreSQL; raises its last message if it fails."""
    environment = {name: value for name, value in known.items() if not name.startswith("PG")}
    environment["HOME"] = str(folder)  # where libpq looks for a client's certificate
    with (folder / "messages").open("w+") as messages:
        done = subprocess.run(
            [str(each) for each in command], cwd=folder, stdout=messages, stderr=messages, env=environment, **as_user
        )
        messages.seek(0)
        if done.returncode:
            raise RuntimeError(messages.read().strip().splitlines()[-1])


start(programs / "initdb", "-D", data, "-U", "local", "-A", "trust", "-E", "UTF8", "--no-sync")
(data / "postgresql.auto.conf").open("a").write("".join(f"{each}\n" for each in _SETTINGS.split()))
control = (programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log")
start(*control, "-o", f"-k {folder}", "start")
try:
    own = psycopg.connect(autocommit=True)
    own.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE SCHEMA shop;"
        "CREATE TABLE shop.author (id integer PRIMARY KEY, name varchar(40) NOT NULL, born date);"
        "CREATE TABLE shop.book (id bigint PRIMARY KEY, author integer, title text, price numeric(10, 2), printed timestamptz,"
        " tags text[], notes jsonb, code uuid, raw bytea, rating float8, kept boolean, spent interval);"
        "INSERT INTO shop.author VALUES (1, 'Ann', '1960-01-31'), (2, 'Bob', NULL);"
        "INSERT INTO shop.book SELECT n, n % 2 + 1, 'T' || n, n / 4.0, timestamptz '2024-02-29 12:00+00' + n * interval '1 day',"
        " ARRAY['a', 'né \"x'], jsonb_build_object('n', n), '00000000-0000-0000-0000-00000000000a', '\\x00ff', n / 3.0, n % 3 = 0,"
        " interval '1 day 2 hours' FROM generate_series(1, 1000) n;"
        "CREATE VIEW shop.cheap AS SELECT id, title FROM shop.book WHERE price < 2"
    )
    here = psycopg.connect(
        host=str(folder), port=5432, user="local", password="", dbname="postgres", autocommit=True, sslmode="disable"
    )

    def ask(query: str) -> list[tuple[object, ...]]:
        """The rows of a query in PostgreSQL."""
        return here.execute(query).fetchall()

    def remote(query: str) -> str:
        """The SQL that a query sends to gpudb."""
        plan = "\n".join(str(row[0]) for row in ask(f"EXPLAIN (VERBOSE, COSTS off) {query}"))
        return " ".join(re.findall(r"Remote SQL: (.*)", plan))

    def connect(name: str, options: str) -> None:
        """Creates a foreign server and its user mapping."""
        here.execute(
            f"CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{known['PGHOST']}',"
            f" port '{known['PGPORT']}', dbname '{known['PGDATABASE']}'{options});"
            f"CREATE USER MAPPING FOR CURRENT_USER SERVER {name} OPTIONS"
            f" (user '{known['PGUSER']}', password '{known['PGPASSWORD']}')"
        )

    here.execute("CREATE EXTENSION postgres_fdw")
    with check("connect", "with a password"):
        connect("plain", "")
        here.execute(
            "CREATE FOREIGN TABLE one (id integer, name text) SERVER plain OPTIONS (schema_name 'shop', table_name 'author')"
        )
        same(ask("SELECT count(*) FROM one"), [(2,)])
    with check("tls", "verify-full"):
        connect("secure", f", sslmode 'verify-full', sslrootcert '{certificate}'")
        here.execute(
            "CREATE FOREIGN TABLE two (id integer) SERVER secure OPTIONS (schema_name 'shop', table_name 'author')"
        )
        same(ask("SELECT count(*) FROM two"), [(2,)])
    with check("metadata", "IMPORT FOREIGN SCHEMA"):
        here.execute("IMPORT FOREIGN SCHEMA shop FROM SERVER plain INTO public OPTIONS (import_default 'true')")
        columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'book' ORDER BY ordinal_position"
        found = dict(ask(columns))
        same(
            (found["price"], found["tags"], found["printed"], len(found)),
            ("numeric", "ARRAY", "timestamp with time zone", 12),
        )
        same(ask("SELECT count(*) FROM cheap"), [(7,)])
    with check("metadata", "ANALYZE"):
        here.execute("ANALYZE book")
        same(ask("SELECT reltuples::int FROM pg_class WHERE relname = 'book'"), [(1000,)])
    try:
        with check("metadata", "remote estimates"):
            here.execute("ALTER SERVER plain OPTIONS (ADD use_remote_estimate 'true')")
            same(ask("SELECT count(*) FROM book b JOIN author a ON a.id = b.author WHERE a.name = 'Ann'"), [(500,)])
    finally:
        here.execute("ALTER SERVER plain OPTIONS (SET use_remote_estimate 'false')")
    # small tables are cheaper to read whole: here everything goes to gpudb that can
    here.execute("".join(f"SET enable_{each} = off;" for each in "hashjoin mergejoin nestloop sort hashagg".split()))
    with check("types", "there"):
        wanted = own.execute("SELECT * FROM shop.book ORDER BY id LIMIT 20").fetchall()
        same(ask("SELECT * FROM book ORDER BY id LIMIT 20"), wanted)
        same(ask("SELECT * FROM author ORDER BY id"), own.execute("SELECT * FROM shop.author ORDER BY id").fetchall())
    with check("queries", "conditions and order pushed down"):
        query = "SELECT title FROM book WHERE price > 249 AND title LIKE 'T99%' ORDER BY id DESC LIMIT 2"
        same(ask(query), [("T999",), ("T998",)])
        same("~~ 'T99%'" in remote(query) and "ORDER BY id DESC" in remote(query), True)
    with check("queries", "joins pushed down"):
        query = "SELECT a.name, count(*), sum(b.price) FROM author a JOIN book b ON b.author = a.id GROUP BY a.name ORDER BY 1"
        same(
            [(name, n, str(total)) for name, n, total in ask(query)],
            [("Ann", 500, "62625.00"), ("Bob", 500, "62500.00")],
        )
        same("INNER JOIN" in remote(query) and "GROUP BY" in remote(query), True)
    with check("queries", "joins with tables of PostgreSQL"):
        here.execute("CREATE TABLE local AS SELECT n AS id, 'L' || n AS label FROM generate_series(1, 50) n")
        same(ask("SELECT count(*) FROM local JOIN book USING (id) WHERE kept"), [(16,)])
        same(
            ask(
                "SELECT b.title FROM local l, LATERAL (SELECT title FROM book WHERE id = l.id) b ORDER BY l.id LIMIT 1"
            ),
            [("T1",)],
        )
    with check("queries", "many rows by a cursor"):
        here.execute("ALTER FOREIGN TABLE book OPTIONS (ADD fetch_size '7')")
        same(ask("SELECT count(DISTINCT id), sum(length(title || random()::text) * 0) FROM book"), [(1000, 0)])
    with check("queries", "errors"):
        here.execute("CREATE FOREIGN TABLE gone (id integer) SERVER plain OPTIONS (schema_name 'shop')")
        refused(lambda: ask("SELECT * FROM gone"), "42P01")
    with check("prepared", "parameters are sent on"):
        for n in range(8):
            row = here.execute("SELECT title FROM book WHERE id = %s", [n + 1], prepare=True).fetchone()
            same(row, (f"T{n + 1}",))
    with check("copy", "inserts in batches, COPY"):
        here.execute("ALTER SERVER plain OPTIONS (ADD batch_size '100')")
        here.execute("INSERT INTO author SELECT n, 'N' || n FROM generate_series(10, 259) n")
        with here.cursor().copy("COPY author (id, name) FROM STDIN") as copy:
            for n in range(300, 310):
                copy.write_row((n, "C"))
        same(own.execute("SELECT count(*) FROM shop.author").fetchone(), (262,))
    with check("transactions", "insert, update, delete, returning"):
        with here.transaction():
            same(ask("INSERT INTO author VALUES (5, 'Eve', '1999-12-31') RETURNING name"), [("Eve",)])
            same(own.execute("SELECT count(*) FROM shop.author WHERE id = 5").fetchone(), (0,))
        same(own.execute("SELECT born::text FROM shop.author WHERE id = 5").fetchone(), ("1999-12-31",))
    with check("transactions", "updates and deletes pushed down"):
        same(ask("UPDATE author SET name = 'Eva' WHERE id = 5 RETURNING id, name"), [(5, "Eva")])
        same("UPDATE shop.author" in remote("UPDATE author SET name = 'Eva' WHERE id = 5"), True)
        same(here.execute("DELETE FROM author WHERE id >= 10").rowcount, 260)
    with check("transactions", "ON CONFLICT"):
        same(here.execute("INSERT INTO author VALUES (1, 'Ann') ON CONFLICT DO NOTHING").rowcount, 0)
    with check("transactions", "updates from tables of PostgreSQL"):
        same(here.execute("UPDATE book SET title = label FROM local WHERE local.id = book.id").rowcount, 50)
        same(own.execute("SELECT title FROM shop.book WHERE id = 7").fetchone(), ("L7",))
    with check("transactions", "roll back, savepoints"):
        with here.transaction(force_rollback=True):
            here.execute("DELETE FROM author")
        with here.transaction():
            with here.transaction(force_rollback=True):
                here.execute("INSERT INTO author VALUES (6, 'no')")
            here.execute("INSERT INTO author VALUES (7, 'yes')")
        same(own.execute("SELECT array_agg(id ORDER BY id) FROM shop.author").fetchone(), ([1, 2, 5, 7],))
    with check("transactions", "locks, constraints"):
        with here.transaction():
            same(ask("SELECT name FROM author WHERE id = 1 FOR UPDATE"), [("Ann",)])
        refused(lambda: here.execute("INSERT INTO author VALUES (1, 'again')"), "23505")
    with check("transactions", "truncate"):
        here.execute("TRUNCATE author")
        same(own.execute("SELECT count(*) FROM shop.author").fetchone(), (0,))
    here.close()
finally:
    start(*control, "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)
