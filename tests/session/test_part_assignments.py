"""Assignments to parts of columns, with keys, checks, generated columns and restarts."""

from __future__ import annotations

import pytest

from gpudb.session.session import Session
from tests.support.sessions import fails, run, value


def test_the_rest_of_a_statement_sees_the_new_column(session: Session) -> None:
    run(
        session,
        "CREATE TABLE scored (k int UNIQUE, s int[] CHECK (s[1] < 10), t int GENERATED ALWAYS AS (s[1]) STORED)",
    )
    run(session, "INSERT INTO scored (k, s[1], s[2]) VALUES (1, 4, 5)")
    assert run(session, "UPDATE scored SET s[1] = s[1] + 1 RETURNING s, t") == [([5, 5], 5)]
    assert fails(session, "UPDATE scored SET s[1] = 10").sqlstate == "23514"
    assert fails(session, "UPDATE scored SET t[1] = 10").sqlstate == "428C9"


def test_values_are_computed_once(session: Session) -> None:
    run(session, "CREATE TABLE drawn (a bigint[])")
    run(session, "CREATE SEQUENCE draws; INSERT INTO drawn VALUES ('{0,0}')")
    run(session, "UPDATE drawn SET a[2] = nextval('draws')")
    assert value(session, "SELECT a FROM drawn") == [0, 1]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE parted SET m[1:2][1] = '{1}'",
        "UPDATE parted SET m[1:2] = '{{1}}'",
        "UPDATE parted SET a[0] = 1",
        "UPDATE parted SET e[3] = 1",
        "UPDATE parted SET d[1] = 1",
    ],
)
def test_what_is_refused(session: Session, sql: str) -> None:
    if not run(session, "SELECT 1 FROM pg_class WHERE relname = 'parted'"):
        run(session, "CREATE DOMAIN listed AS int[]")
        run(session, "CREATE TABLE parted (a int[], e int[], m int[][], d listed)")
        run(session, "INSERT INTO parted VALUES ('{1}', '{}', '{{1,2}}', '{1}')")
    assert fails(session, sql).sqlstate == "0A000"
