"""psql: backslash commands, scripts, variables, \\copy, \\gexec, \\bind."""

from __future__ import annotations

import re
import subprocess

from scenario import check, same, version


def psql(
    *commands: str, options: tuple[str, ...] = (), database: str = "", status: int = 0, tuples: bool = True
) -> str:
    """What psql prints for commands on its standard input."""
    call = ["psql", "-XAq", *(("-t",) if tuples else ()), *options, *([database] if database else [])]
    done = subprocess.run(call, input="\n".join(commands) + "\n", capture_output=True, text=True, timeout=60)
    if done.returncode != status:
        raise AssertionError((done.stderr or done.stdout).strip()[-200:])
    return done.stdout + done.stderr


version(re.search(r"[\d.]+", subprocess.check_output(["psql", "--version"], text=True))[0])
with check("connect", "with a password"):
    same(psql("SELECT 42"), "42\n")
with check("tls", "verify-full"):
    same(psql("SELECT 42;", "\\conninfo", database="sslmode=verify-full").startswith("42\n"), True)
psql(
    "CREATE TABLE t (id int PRIMARY KEY, name text DEFAULT 'x', t_id int REFERENCES t (id), CHECK (id > 0));",
    "CREATE VIEW v AS SELECT * FROM t; CREATE INDEX t_name ON t (name); COMMENT ON TABLE t IS 'said';",
    "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'; CREATE TYPE mood AS ENUM ('sad', 'ok');",
    "CREATE SEQUENCE s; CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; CREATE SCHEMA other; CREATE DOMAIN small AS int CHECK (VALUE < 9);",
)
with check("queries", "errors, ON_ERROR_STOP"):
    said = psql("SELECT * FROM missing;", "SELECT 1;", options=("-v", "ON_ERROR_STOP=1"), status=3)
    same('relation "missing" does not exist' in said, True)
with check("queries", "variables, \\gset, \\if, \\gexec"):
    same(psql("SELECT 5 AS n \\gset", "\\if :{?n}", "SELECT :n + 1;", "\\endif", "SELECT 'SELECT 7' \\gexec"), "6\n7\n")
with check("queries", "\\crosstabview, \\watch"):
    same(
        psql("SELECT * FROM (VALUES ('a', 'x', 1), ('a', 'y', 2)) c (r, h, v) \\crosstabview", tuples=False),
        "r|x|y\na|1|2\n(1 row)\n",
    )
with check("prepared", "PREPARE, EXECUTE, \\gdesc"):
    same(psql("PREPARE p AS SELECT $1::int * 2;", "EXECUTE p(4);"), "8\n")
    same(psql("SELECT 1 AS a, 'x'::text AS b \\gdesc"), "a|integer\nb|text\n")
with check("transactions", "ON_ERROR_ROLLBACK, --single-transaction"):
    said = psql(
        "\\set ON_ERROR_ROLLBACK on",
        "BEGIN;",
        "INSERT INTO t (id) VALUES (1);",
        "INSERT INTO t (id) VALUES (1);",
        "COMMIT;",
        "SELECT count(*) FROM t;",
    )
    same(said.splitlines()[0], "1")
    psql("DELETE FROM t; SELECT 1 / 0;", options=("-1", "-v", "ON_ERROR_STOP=1"), status=3)
    same(psql("SELECT count(*) FROM t"), "1\n")
with check("copy", "\\copy and COPY in a script"):
    psql("COPY t (id, name) FROM STDIN;", "2\ttwo", "3\t\\N", "\\.")
    psql("\\copy (SELECT id, name FROM t ORDER BY id) TO 'out.csv' CSV HEADER")
    psql("DELETE FROM t;", "\\copy t (id, name) FROM 'out.csv' CSV HEADER")
    same(psql("SELECT count(*) FROM t"), "3\n")
for command, expected in {
    "\\d t": "FOREIGN KEY (t_id)", "\\dt+ t": "said", "\\dt": "t|table", "\\dv+ v": "v|view", "\\di": "t_name", "\\ds": "s|sequence",
    "\\dm": "materialized view", "\\df+ f": "integer", "\\dT+ mood": "sad", "\\dD small": "VALUE < 9", "\\dn": "other",
    "\\du": "Superuser", "\\l": "postgres", "\\dp t": "table", "\\dd": "", "\\dx": "plpgsql", "\\sf f": "SELECT $1 + 1",
    "\\sv v": "SELECT", "\\da count": "bigint", "\\do ||": "", "\\dC": "", "\\dF": "", "\\drds": "", "\\db": "", "\\dconfig work_mem": "work_mem",
    "\\z t": "t", "\\dO": "", "\\dL": "plpgsql", "\\dy": "", "\\dRp": "", "\\dew": "", "\\det": "", "\\dg": "gpudb", "\\dA": "", "\\dX": "",
}.items():  # fmt: skip
    with check("metadata", command):
        if expected not in (said := psql(command, tuples=False)) or "ERROR" in said:
            raise AssertionError(f"no {expected!r} in {said.strip()[-200:]!r}")
