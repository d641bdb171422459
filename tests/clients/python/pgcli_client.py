"""pgcli: what it asks for its completion, backslash commands, queries."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["pgcli==4.7.1"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import psycopg
from scenario import check, same, url, version

version(importlib.metadata.version("pgcli"))
program = str(Path(sys.executable).with_name("pgcli"))
with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, name text DEFAULT 'x', t_id int REFERENCES t (id))")
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.execute("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")


def pgcli(*commands: str, target: str = url("postgresql")) -> str:
    """What pgcli prints for commands on its standard input."""
    done = subprocess.run(
        [program, "--no-password", "--pgclirc", "config", target],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        raise AssertionError((done.stderr or done.stdout).strip()[-200:])
    return done.stdout


Path("config").write_text("[main]\nless_chatty = True\nmulti_line = False\ntable_format = csv\n")
with check("connect", "with a password"):
    same('"42"' in pgcli("SELECT 42 AS a;"), True)
with check("tls", "verify-full"):
    same('"42"' in pgcli("SELECT 42 AS a;", target=url("postgresql") + "?sslmode=verify-full"), True)
with check("queries", "several, with an error between"):
    said = pgcli("SELECT 1 AS a;", "SELECT * FROM missing;", "SELECT 2 AS b;")
    same(('relation "missing" does not exist' in said, '"2"' in said), (True, True))
for command, expected in {
    "\\dt": '"t"',
    "\\d t": "FOREIGN KEY (t_id)",
    "\\dv": '"v"',
    "\\df": '"f"',
    "\\dn": '"public"',
    "\\dT": '"mood"',
    "\\du": '"gpudb"',
    "\\l": '"postgres"',
    "\\d+ v": "SELECT",
    "\\sf f": "SELECT $1 + 1",
}.items():
    with check("metadata", command):
        said = pgcli(command)
        if expected not in said:
            raise AssertionError(said.strip()[-200:])

from pgcli.pgexecute import PGExecute  # noqa: E402

with check("metadata", "completion"):
    executor = PGExecute(dsn=url("postgresql"))
    same([each for each in executor.tables() if each[0] == "public"], [("public", "t")])
    same([each for each in executor.views() if each[0] == "public"], [("public", "v")])
    same([each[2] for each in executor.table_columns() if each[0] == "public"], ["id", "name", "t_id"])
    same([tuple(each) for each in executor.foreignkeys()], [("public", "t", "id", "public", "t", "t_id")])
    same([each.func_name for each in executor.functions() if each.schema_name == "public"], ["f"])
    same([each[1] for each in executor.datatypes() if each[0] == "public"], ["mood"])
    same("public" in executor.schemata() and "public" in executor.search_path(), True)
    same(len(executor.databases()) > 1, True)
