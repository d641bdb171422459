"""Scripts of psql are read into their statements, and compared statement by statement."""

from __future__ import annotations

from tests.support import psql_script
from tests.support.oracle.server import Oracle
from tests.support.psql_script import Entry
from tests.support.script_comparison import compare, describe

_SCRIPT = """-- a comment; with a semicolon
SELECT 1; SELECT ';' -- two in a line
  AS a;
COPY t FROM stdin; -- fails: no rows follow
\\c -
/* another
   comment */ CREATE FUNCTION f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql;
COPY t (a) FROM stdin;
1
\\N
\\.
SELECT 2"""


def test_reads_statements_commands_and_rows() -> None:
    assert psql_script.read(_SCRIPT) == [
        Entry(2, "SELECT 1"),
        Entry(2, "SELECT ';' -- two in a line\n  AS a"),
        Entry(4, "COPY t FROM stdin"),
        Entry(5, "\\c -"),
        Entry(7, "CREATE FUNCTION f() RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql"),
        Entry(8, "COPY t (a) FROM stdin", "1\n\\N\n"),
        Entry(12, "SELECT 2"),
    ]


def test_differences_are_told(oracle: Oracle) -> None:
    script = """
        SELECT 1 AS same;
        SELECT pg_backend_pid() AS other;
        SET client_min_messages = notice;
        DROP TABLE IF EXISTS nowhere_at_all;
        SELECT pg_backend_pid() / 0;
    """
    compared, skipped = compare(psql_script.read(script + "\n\\dt\n"), oracle.dsn, oracle.dsn)
    assert [bool(each.differences) for each in compared] == [False, True, False, False, False]
    assert "only" not in describe(compared[0])
    assert "row 0 oracle" in describe(compared[1])
    assert skipped == {"\\dt": 1}


def test_notices_and_texts_of_errors_count(oracle: Oracle) -> None:
    with oracle.database("other_texts") as dsn:
        setup = psql_script.read("CREATE TABLE only_here (a int CHECK (a > 0));")
        compare(setup, dsn, dsn)
        compared, _ = compare(
            psql_script.read("DROP TABLE IF EXISTS only_here CASCADE; SELECT * FROM nothing;"), dsn, oracle.dsn
        )
    assert "notices" in describe(compared[0])
    assert not compared[1].differences
