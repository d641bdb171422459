"""Functions in PL/CUDA on the host: types, NULLs, errors of compilers with their place, privileges, crashes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, value


@pytest.fixture(scope="module")
def cuda(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    run(made, "CREATE EXTENSION plcuda")
    yield made
    made.close()


def define(session: Session, head: str, body: str) -> None:
    run(session, f"CREATE OR REPLACE FUNCTION {head} LANGUAGE plcuda AS $${body}$$")


def test_columns(cuda: Session) -> None:
    define(cuda, "curve(x float8, y float8) RETURNS float8 STRICT", "return sqrt(x * y) + exp(-x / 1000.0);")
    found = [each for (each,) in run(cuda, "SELECT curve(n, n + 1) FROM generate_series(1, 70000) n ORDER BY n")]
    numbers = np.arange(1, 70001, dtype=float)
    assert np.allclose(found, np.sqrt(numbers * (numbers + 1)) + np.exp(-numbers / 1000))
    assert run(cuda, "SELECT curve(n, n) FROM generate_series(1, 0) n") == []
    assert value(cuda, "SELECT curve(NULL, 1)") is None
    assert value(cuda, "SELECT count(*) FROM generate_series(1, 100) n WHERE curve(n, n) < 50.5") == 49


def test_nulls(cuda: Session) -> None:
    define(
        cuda,
        "larger(a int, b int) RETURNS int",
        """
if (a_isnull && b_isnull) RETURN_NULL();
if (a_isnull) return b;
return b_isnull ? a : max(a, b);
""",
    )
    rows = "(VALUES (1, 2), (NULL, 3), (4, NULL), (NULL, NULL)) t (a, b)"
    assert run(cuda, f"SELECT larger(a, b), greatest(a, b) FROM {rows}") == [(2, 2), (3, 3), (4, 4), (None, None)]


@pytest.mark.parametrize(
    ("item", "literal", "body", "expected"),
    [
        ("bool", "true", "return !a;", "false"),
        ("int2", "7", "return a * 2;", "14"),
        ("int8", "5000000000", "return a + 1;", "5000000001"),
        ("float4", "1.5", "return a / 2;", "0.75"),
        ("date", "'2024-02-28'", "return a + 2;", "2024-03-01"),
        ("timestamp", "'2024-02-28 12:00'", "return a + 60 * 1000000LL;", "2024-02-28 12:01:00"),
    ],
)
def test_types(cuda: Session, item: str, literal: str, body: str, expected: str) -> None:
    define(cuda, f"changed(a {item}) RETURNS {item}", body)
    assert value(cuda, f"SELECT changed({literal}::{item})::text") == expected
    assert value(cuda, f"SELECT changed(v)::text FROM (VALUES ({literal}::{item})) t (v)") == expected
    run(cuda, f"DROP FUNCTION changed({item})")


def test_errors_of_the_compiler_have_their_place(cuda: Session) -> None:
    sql = "CREATE FUNCTION wrong(x float8) RETURNS float8 LANGUAGE plcuda AS $$\n  double y = 1;\n  return x * zz;\n$$"
    error = fails(cuda, sql)
    assert (error.sqlstate, error.message) == ("42601", 'identifier "zz" is undefined')
    assert error.position == sql.index("zz") + 1
    error = fails(cuda, "CREATE FUNCTION wrong(x float8) RETURNS float8 LANGUAGE plcuda AS $$ return x + ; $$")
    assert (error.sqlstate, error.message) == ("42601", "expected an expression")


@pytest.mark.parametrize(
    "head",
    ["w(x text) RETURNS int", "w(x int) RETURNS numeric", "w(x int) RETURNS SETOF text", "w(OUT a int, OUT b int)"],
)
def test_what_is_not_supported(cuda: Session, head: str) -> None:
    assert fails(cuda, f"CREATE FUNCTION {head} LANGUAGE plcuda AS 'return 1;'").sqlstate == "0A000"


def test_do_is_not_supported(cuda: Session) -> None:
    assert fails(cuda, "DO 'return 1;' LANGUAGE plcuda").sqlstate == "0A000"


def test_privileges(cuda: Session, database: Database) -> None:
    run(cuda, "CREATE ROLE coder LOGIN; GRANT CREATE ON SCHEMA public TO coder")
    sql = "CREATE FUNCTION coded(x int) RETURNS int LANGUAGE plcuda AS 'return x + 1;'"
    coder = database.session("coder")
    error = fails(coder, sql)
    assert (error.sqlstate, error.message) == ("42501", "permission denied for language plcuda")
    run(cuda, "GRANT USAGE ON LANGUAGE plcuda TO coder")
    assert run(cuda, "SELECT lanacl FROM pg_language WHERE lanname = 'plcuda'") == [
        (["gpudb=U/gpudb", "coder=U/gpudb"],)
    ]
    run(coder, sql)
    assert value(coder, "SELECT coded(1)") == 2
    assert value(cuda, "SELECT has_language_privilege('coder', 'plcuda', 'USAGE')") is True
    run(cuda, "REVOKE USAGE ON LANGUAGE plcuda FROM coder")
    assert value(cuda, "SELECT has_language_privilege('coder', 'plcuda', 'USAGE')") is False
    coder.close()


def test_extension_and_catalog(cuda: Session) -> None:
    define(cuda, "kept(x int) RETURNS int", "return x;")
    found = run(cuda, "SELECT l.lanname, l.lanpltrusted FROM pg_proc p JOIN pg_language l ON l.oid = prolang"
                " WHERE proname = 'kept'")  # fmt: skip
    assert found == [("plcuda", True)]
    error = fails(cuda, "DROP EXTENSION plcuda")
    assert error.sqlstate == "2BP01"
    assert "function kept(integer) depends on language plcuda" in (error.detail or "")


def test_crashes_and_loops_end_alone(cuda: Session) -> None:
    define(cuda, "crashes(x int) RETURNS int", "int *p = (int *) 8; *p = x; return x;")
    define(cuda, "loops(x int) RETURNS int", "volatile int go = 1; while (go) { } return x;")
    define(cuda, "right(x int) RETURNS int", "return x;")
    error = fails(cuda, "SELECT public.crashes(1)")
    assert (error.sqlstate, error.where) == ("58000", 'PL/CUDA function "crashes"')
    run(cuda, "SET statement_timeout = '200ms'")
    assert fails(cuda, "SELECT loops(1)").sqlstate == "57014"
    run(cuda, "RESET statement_timeout")
    assert value(cuda, "SELECT public.right(7)") == 7
