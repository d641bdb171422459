"""Functions that a process computes are refused when a CHECK constraint is created, not when rows come."""

from __future__ import annotations

import pytest

from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, value


@pytest.mark.parametrize("language", ["plpython3u", "plcuda", "model"])
def test_functions_of_processes(session: Session, language: str) -> None:
    run(session, f"CREATE SCHEMA of_{language}; SET search_path = of_{language}")
    run(session, "CREATE TABLE rows AS SELECT i::float8 AS x, i AS y FROM generate_series(1, 20) i")
    if language == "model":
        run(session, "CREATE MODEL m FROM rows TARGET y FUNCTION f USING xgboost WITH (trees = 1)")
        run(session, "CREATE MODEL n FROM rows TARGET y FUNCTION by_sql USING linear")
    else:
        run(session, f"CREATE EXTENSION {language}")
        run(session, f"CREATE FUNCTION f(a float8) RETURNS float8 LANGUAGE {language} IMMUTABLE AS 'return a;'")
        run(session, "CREATE FUNCTION by_sql(a float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT a'")
    error = fails(session, "CREATE TABLE k (a float8, CHECK (a IS NULL OR f(a) > 0))")
    assert error.sqlstate == "0A000"
    assert "f(double precision) in language " in error.message
    assert error.message.endswith("is not supported in CHECK constraints")
    assert state(session, "CREATE TABLE k (a float8 CHECK (abs(f(a)) > 0))") == "0A000"
    run(session, "CREATE TABLE k (a float8)")
    assert state(session, "ALTER TABLE k ADD CHECK (f(a) > 0)") == "0A000"
    assert state(session, "ALTER TABLE k ADD COLUMN b float8 CHECK (f(b) > 0)") == "0A000"
    run(session, "CREATE FUNCTION inside(a float8) RETURNS float8 LANGUAGE sql AS 'SELECT f(a)'")
    assert state(session, "ALTER TABLE k ADD CHECK (inside(a) > 0)") == "0A000"
    run(session, "ALTER TABLE k ADD CHECK (by_sql(a) > 0); INSERT INTO k VALUES (2)")
    assert state(session, "INSERT INTO k VALUES (-200)") == "23514"
    assert value(session, "SELECT count(*) FROM k") == 1
