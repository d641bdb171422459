"""User-defined aggregates: after a restart, with replaced functions, and the error of each unsupported clause."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, value

_PRODUCT = "CREATE AGGREGATE product(numeric) (sfunc = times, stype = numeric, initcond = '1')"
_TIMES = "CREATE FUNCTION times(numeric, numeric) RETURNS numeric LANGUAGE sql STRICT AS 'SELECT $1 * $2'"


def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, f"{_TIMES}; {_PRODUCT}")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    assert value(session, "SELECT product(n)::int FROM generate_series(1, 5) AS g(n)") == 120
    assert value(session, "SELECT aggtranstype::text FROM pg_aggregate WHERE aggfnoid = 'product'::regproc") == "1700"
    session.close()
    database.close()


def test_they_follow_their_functions(session: Session) -> None:
    run(session, "CREATE FUNCTION step(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 + $2'")
    run(session, "CREATE AGGREGATE steps(int) (sfunc = step, stype = int, initcond = '0')")
    query = "SELECT steps(n) FROM generate_series(1, 4) AS g(n)"
    assert value(session, query) == 10
    run(session, "CREATE OR REPLACE FUNCTION step(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 - $2'")
    assert value(session, query) == -10
    run(session, "DROP FUNCTION step CASCADE")
    assert fails(session, query).sqlstate == "42883"


def test_many_groups_and_many_rows(session: Session) -> None:
    run(session, "CREATE AGGREGATE adds(bigint) (sfunc = int8pl, stype = bigint, initcond = '0')")
    query = "SELECT n % 100 AS k, adds(n) AS own, sum(n) AS theirs FROM generate_series(1, 20000) AS g(n) GROUP BY 1"
    assert run(session, f"SELECT count(*), bool_and(own = theirs) FROM ({query}) AS q") == [(100, True)]
    assert value(session, "SELECT adds(n) FROM generate_series(1, 20000) AS g(n)") == 200010000


@pytest.mark.parametrize(
    ("create", "what"),
    [
        ("CREATE AGGREGATE r1(ORDER BY int) (sfunc = int4pl, stype = int)", "ordered-set aggregates of users"),
        ("CREATE AGGREGATE r2(VARIADIC int[]) (sfunc = int4pl, stype = int)", "VARIADIC aggregates"),
        (
            "CREATE AGGREGATE r3(int) (sfunc = int4pl, stype = int, msfunc = int4pl, minvfunc = int4mi, mstype = int)",
            "MSFUNC",
        ),
        ("CREATE OPERATOR === (leftarg = int, rightarg = int, function = int4eq)", "CREATE OPERATOR"),
    ],
)
def test_what_is_refused(session: Session, create: str, what: str) -> None:
    error = fails(session, create)
    assert (error.sqlstate, what in error.message) == ("0A000", True)


def test_a_state_function_that_is_a_query_is_refused(session: Session) -> None:
    run(session, "CREATE TABLE weights (w int)")
    run(session, "CREATE FUNCTION weigh(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 + max(w) FROM weights'")
    run(session, "CREATE AGGREGATE weighed(int) (sfunc = weigh, stype = int, initcond = '0')")
    error = fails(session, "SELECT weighed(n) FROM generate_series(1, 4) AS g(n)")
    assert (error.sqlstate, "state function" in error.message) == ("0A000", True)
