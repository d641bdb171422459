"""Names of output columns without AS: PostgreSQL's, for every kind of expression."""

from __future__ import annotations

from tests.support.oracle.server import Oracle
from tests.support.session_fixtures import Database, database
from tests.support.sessions import Session

__all__ = ["database"]

EXPRESSIONS = (
    "1", "'x'", "NULL", "true", "-1", "1 + 1", "a", "t.a", "(a)", "a + 1", "a::text", "a::int::text", "1::bigint", "'1'::int",
    "CAST(a AS numeric(5, 1))", "upper('x')", "pg_catalog.upper('x')", "count(*)", "count(*) FILTER (WHERE true)",
    "sum(a) OVER ()", "coalesce(a, 1)", "nullif(a, 1)", "greatest(1, 2)", "least(1, 2)", "CASE WHEN true THEN 1 END",
    "CASE WHEN true THEN 1 ELSE a END", "CASE WHEN true THEN 1 ELSE abs(a) END", "(SELECT 1)", "(SELECT g FROM generate_series(1, 1) g)",
    "(SELECT 1 AS named)", "EXISTS (SELECT 1)", "1 IN (1)", "a IN (SELECT 1)", "1 = ANY (ARRAY[1])", "ARRAY[1]", "ARRAY(SELECT 1)",
    "(ARRAY[1])[1]", "ROW(1, 2)", "current_date", "current_timestamp", "current_user", "localtime", "now()", "date '2024-01-01'",
    "interval '1 day'", "extract(year FROM date '2024-01-01')", "substring('abc' FROM 2)", "trim('x')", "position('a' IN 'b')",
    "overlay('abc' PLACING 'x' FROM 1)", "a AT TIME ZONE 'UTC'", "a IS NULL", "NOT true", "a = 1 AND true", "a BETWEEN 1 AND 2",
    "'x' LIKE 'y'", "'x' COLLATE \"C\"", "a IS DISTINCT FROM 1", "GROUPING(a)", "t", "t.*", "generate_series(1, 2)", "'a' || 'b'",
    "a AS \"Ä b\"", "a::char(3)", "'2024-01-01'::timestamp with time zone", "1.5::double precision", "ARRAY[1]::bigint[]", "to_char(1, '9')",
)  # fmt: skip


def test_names_are_postgresqls(oracle: Oracle, database: Database) -> None:
    session: Session = database.session("gpudb")
    client = oracle.connect()
    wrong = []
    compared = 0
    source = "FROM (SELECT 1 AS a) AS t"
    for expression in EXPRESSIONS:
        group = " GROUP BY a" if expression.startswith("GROUPING") else ""
        sql = f"SELECT {expression} {source}{group}"
        theirs = client.execute(sql)
        if theirs.failed:
            # a timestamp where the expression needs one
            sql = f"SELECT {expression} FROM (SELECT timestamp '2024-01-01' AS a) AS t"
            theirs = client.execute(sql)
        if theirs.failed:
            sql = f"SELECT {expression}"
            theirs = client.execute(sql)
        assert not theirs.failed, (expression, theirs.message)
        try:
            ours = tuple(column.name for column in session.prepare(sql).columns or ())
        except Exception as error:
            if getattr(error, "sqlstate", "") != "0A000":
                wrong.append(f"{sql}: {error}")
            session.sync()
            continue
        session.sync()
        compared += 1
        if ours != theirs.columns:
            wrong.append(f"{sql}: PostgreSQL {theirs.columns}, gpudb {ours}")
    client.close()
    session.close()
    assert not wrong, "\n".join(wrong)
    assert compared > len(EXPRESSIONS) - 5
