"""A developer of reports: pandas writes tables, roles read views, and drivers ask what tools ask."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from tests.support.connection_urls import to_url
from tests.support.server_program import running_server
from tests.users.public_files import write_retail


def test_a_report_over_a_shop(tmp_path: Path) -> None:
    lines = write_retail(tmp_path)
    with running_server(tmp_path / "data") as dsn:
        url = to_url(dsn).replace("postgresql://", "postgresql+psycopg://")
        engine = sa.create_engine(url)
        cents = _load(engine, lines)
        _make_views_and_roles(engine)
        _look_at_the_catalog(engine)
        _ask_as_a_report(dsn, lines, cents)
        engine.dispose()


def _load(engine: sa.Engine, lines: pd.DataFrame) -> pd.Series:
    """pandas writes the lines, dates and all; returns each line's total in cents."""
    read = pd.read_csv(
        pd.io.common.StringIO(lines.to_csv(index=False)),
        dtype={"CustomerID": "Int64"},
        parse_dates=["InvoiceDate"],
    )
    read.columns = ["invoice", "item", "description", "quantity", "sold", "price", "customer", "country"]
    read.to_sql("lines", engine, index=False)
    again = pd.read_sql("SELECT * FROM lines", engine, dtype={"customer": "Int64"}).sort_values(
        ["invoice", "item", "quantity", "price"], ignore_index=True
    )
    pd.testing.assert_frame_equal(
        again.sort_values([*again.columns], ignore_index=True),
        read.sort_values([*read.columns], ignore_index=True),
        check_dtype=False,
    )
    return (lines.Quantity * (lines.UnitPrice * 100).round()).astype(int)


def _make_views_and_roles(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for statement in (
            "CREATE SCHEMA report",
            "CREATE VIEW report.months AS SELECT date_trunc('month', sold)::date AS month, country,"
            " sum(quantity * price::numeric(8, 2)) AS revenue, count(DISTINCT customer) AS customers FROM lines"
            " GROUP BY 1, 2",
            "COMMENT ON VIEW report.months IS 'Revenue by month and country'",
            "CREATE ROLE viewer LOGIN PASSWORD 'seen'",
            "GRANT USAGE ON SCHEMA report TO viewer",
            "GRANT SELECT ON ALL TABLES IN SCHEMA report TO viewer",
            "ALTER ROLE viewer SET statement_timeout = '1min'",
        ):
            connection.execute(sa.text(statement))


def _look_at_the_catalog(engine: sa.Engine) -> None:
    """What a tool lists before anybody asks."""
    inspector = sa.inspect(engine)
    assert {"public", "report"} <= {*inspector.get_schema_names()}
    assert inspector.get_view_names("report") == ["months"]
    assert [column["name"] for column in inspector.get_columns("months", "report")] == [
        "month", "country", "revenue", "customers",
    ]  # fmt: skip
    assert inspector.get_table_comment("months", "report")["text"] == "Revenue by month and country"
    table = sa.Table("months", sa.MetaData(), schema="report", autoload_with=engine)
    assert isinstance(table.c.month.type, sa.Date)
    assert isinstance(table.c.revenue.type, sa.Numeric)


def _ask_as_a_report(dsn: str, lines: pd.DataFrame, cents: pd.Series) -> None:
    viewer = dsn.replace("user=gpudb", "user=viewer password=seen")
    month = pd.to_datetime(lines.InvoiceDate).dt.to_period("M").astype(str)
    expected = cents.groupby([month, lines.Country]).sum()
    with psycopg.connect(viewer, autocommit=True) as connection:
        # What the role may not see stays unseen
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table lines"):
            connection.execute("SELECT * FROM lines")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE report.mine (a int)")
        assert connection.execute("SHOW statement_timeout").fetchone() == ("1min",)
        # A filter of the page is a parameter; the query is prepared and runs again
        asked = sql.SQL(
            "SELECT to_char(month, 'YYYY-MM'), revenue FROM report.months WHERE country = %s AND month >= %s ORDER BY 1"
        )
        for country in ("France", "EIRE", "United Kingdom"):
            found = connection.execute(asked, [country, "2011-01-01"], prepare=True).fetchall()
            wanted = expected[expected.index.get_level_values("Country") == country].droplevel(1)
            assert [(at, round(revenue * 100)) for at, revenue in found] == [
                (at, int(total)) for at, total in wanted.items() if at >= "2011-01"
            ]
        # As tools ask: a query around the query, with quoted names and a limit
        wrapped = (
            'SELECT "t"."country" AS "c", SUM("t"."revenue") AS "s" FROM (SELECT * FROM "report"."months") AS "t"'
            ' GROUP BY "t"."country" HAVING (COUNT(1) > 0) ORDER BY 2 DESC NULLS LAST LIMIT 1000'
        )
        totals = cents.groupby(lines.Country).sum().sort_values(ascending=False)
        assert [(c, round(s * 100)) for c, s in connection.execute(wrapped)] == [(c, int(s)) for c, s in totals.items()]
        # A running total and the share of a month, as a chart of two axes has them
        window = (
            "SELECT month, sum(sum(revenue)) OVER (ORDER BY month), round(100 * sum(revenue) / sum(sum(revenue)) OVER (), 2)"
            " FROM report.months GROUP BY month ORDER BY month"
        )
        rows = connection.execute(window).fetchall()
        running = cents.groupby(month).sum().cumsum()
        assert [round(each[1] * 100) for each in rows] == [int(each) for each in running]
        assert float(sum(each[2] for each in rows)) == pytest.approx(100, abs=0.01 * len(rows))
        # An export of all rows by a cursor of the server
        with connection.transaction(), connection.cursor("export") as cursor:
            cursor.itersize = 7
            cursor.execute("SELECT month, country, revenue FROM report.months")
            assert sum(round(revenue * 100) for _, _, revenue in cursor) == int(cents.sum())
