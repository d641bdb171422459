"""JupySQL and marimo on a server, through SQLAlchemy and psycopg."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.connection_urls import to_url
from tests.support.notebook import Kernel, running_kernel
from tests.support.wire_server import running_database

MAKE = """
CREATE SCHEMA notebooks;
CREATE TABLE notebooks.rides AS
SELECT i AS id, 'cab ' || i % 3 AS cab, CAST(i / 10.0 AS numeric(6, 2)) AS miles FROM generate_series(1, 100) AS i;
CREATE VIEW notebooks.long_rides AS SELECT * FROM notebooks.rides WHERE miles > 5;
"""

MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo, sqlalchemy
    engine = sqlalchemy.create_engine({engine!r})
    return mo, engine

@app.cell
def _(mo, engine):
    found = mo.sql("SELECT cab, count(*) AS n FROM rides GROUP BY 1 ORDER BY 1", engine=engine)
    return found,

@app.cell
def _():
    import gpudb
    db = gpudb.connect({url!r})
    relation = db.sql("SELECT cab, count(*) AS n FROM rides GROUP BY 1 ORDER BY 1")
    return db, relation

@app.cell
def _(mo, relation):
    total = mo.sql("SELECT sum(n) AS n FROM relation")
    shown = mo.ui.table(relation.polars())
    shown
    return total, shown
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the tables of MAKE alone: marimo reads the columns of all that it finds."""
    with running_database(tmp_path_factory.mktemp("gpudb-data")) as dsn:
        plain = to_url(dsn)
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(MAKE)
        yield f"{plain}?options=-csearch_path%3Dnotebooks"


@pytest.fixture(scope="module")
def kernel(url: str) -> Iterator[Kernel]:
    with running_kernel() as running:
        running.run("%load_ext sql")
        running.run("%config SqlMagic.named_parameters='enabled'\n%config SqlMagic.displaycon=False\nlow = 5")
        running.run(f"%sql {url.replace('postgresql:', 'postgresql+psycopg:')}")
        yield running


def test_jupysql_runs_statements(kernel: Kernel) -> None:
    html = kernel.run("%%sql\nSELECT cab, count(*) FROM rides WHERE miles > :low GROUP BY 1 ORDER BY 1").data(
        "text/html"
    )
    assert "<td>cab 0</td>\n            <td>17</td>" in html
    kernel.run("%%sql found <<\nSELECT * FROM rides ORDER BY id LIMIT {{low}}")
    assert kernel.run("found.DataFrame().shape, found.PolarsDataFrame().shape").data("text/plain") == "((5, 3), (5, 3))"
    assert 'column "nothing" does not exist' in kernel.run("%sql SELECT nothing FROM rides", fails=True).printed


def test_jupysql_composes_saved_queries(kernel: Kernel) -> None:
    kernel.run("%%sql --save many --no-execute\nSELECT * FROM rides WHERE miles > 3")
    assert "<td>70</td>" in kernel.run("%sql --with many SELECT count(*) FROM many").data("text/html")


def test_jupysql_lists_tables_and_columns(kernel: Kernel) -> None:
    tables = kernel.run("%sqlcmd tables --schema notebooks").data("text/plain")
    assert "rides" in tables
    columns = kernel.run("%sqlcmd columns --table rides --schema notebooks").data("text/plain")
    assert "NUMERIC(6, 2)" in columns
    profile = kernel.run("%sqlcmd profile --table rides").data("text/plain")
    assert [line.split("|")[2].strip() for line in profile.splitlines() if "| count" in line] == ["100"]


def test_jupysql_plots_what_the_database_counts(kernel: Kernel) -> None:
    assert kernel.run("%sqlplot histogram --table rides --column miles").data("image/png")
    assert kernel.run("%sqlplot boxplot --table rides --column miles").data("image/png")


def test_marimo_runs_statements_and_reads_relations(url: str, tmp_path: Path) -> None:
    """`mo.sql` on an engine, a relation by its name in `mo.sql`, and a table that marimo shows."""
    path = tmp_path / "book.py"
    path.write_text(MARIMO.format(engine=url.replace("postgresql:", "postgresql+psycopg:"), url=url))
    spec = importlib.util.spec_from_file_location("book", path)
    assert spec is not None
    assert spec.loader is not None
    book = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(book)
    outputs, values = book.app.run()
    assert values["found"].rows() == [("cab 0", 33), ("cab 1", 34), ("cab 2", 33)]
    assert values["total"].item() == 100
    assert "marimo-table" in outputs[-1].text
    values["db"].close()
    values["engine"].dispose()


def test_marimo_lists_tables_of_an_engine(url: str) -> None:
    """Its panel of data sources: databases, schemas, tables and views with the types of their columns."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from marimo._sql.engines.sqlalchemy import SQLAlchemyEngine

    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        listed = SQLAlchemyEngine(engine).get_databases(
            include_schemas=True, include_tables=True, include_table_details=True
        )
    finally:
        engine.dispose()
    tables = {
        table.name: (table.type, {column.name: column.external_type for column in table.columns})
        for database in listed
        for schema in database.schemas
        if schema.name == "notebooks"
        for table in schema.tables
    }
    columns = {"id": "INTEGER", "cab": "TEXT", "miles": "NUMERIC(6, 2)"}
    assert tables == {"rides": ("table", columns), "long_rides": ("view", columns)}
