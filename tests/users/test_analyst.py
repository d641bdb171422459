"""An analyst at the shell of a server: files looked at, loaded, joined, explained and written again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.support.connection_urls import to_url
from tests.support.server_program import running_server
from tests.support.terminal import Terminal
from tests.users.public_files import write_flights, write_retail


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Terminal]:
    """The shell on a server of its own, without a pager."""
    with running_server(tmp_path / "data") as dsn:
        terminal = Terminal(tmp_path, to_url(dsn))
        terminal.run("\\pset pager off")
        yield terminal
        terminal.end()


def cells(shown: str) -> list[list[str]]:
    """The rows of a table that the shell has drawn."""
    return [[each.strip() for each in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]


def test_flights_from_files_to_an_answer(shell: Terminal, tmp_path: Path) -> None:
    flights = write_flights(tmp_path)
    # A look at the file where it lies
    assert cells(shell.run(f"SELECT count(*) FROM '{tmp_path}/airports.csv';")) == [["8"]]
    named = cells(shell.run(f"FROM '{tmp_path}/airlines.csv' ORDER BY carrier LIMIT 2;"))
    assert named == [["AA", "American Airlines Inc."], ["B6", "JetBlue Airways"]]
    # Tables of its own; NA is no number until COPY is told
    shell.run("CREATE TABLE airlines (carrier text PRIMARY KEY, name text NOT NULL);")
    assert "COPY 5" in shell.run(f"\\copy airlines FROM '{tmp_path}/airlines.csv' WITH (FORMAT csv, HEADER)")
    shell.run(
        "CREATE TABLE flights (year int, month int, day int, dep_time int, dep_delay int, arr_delay int, carrier text"
        " REFERENCES airlines, flight int, tailnum text, origin char(3), dest char(3), air_time int, distance int,"
        " time_hour timestamp);"
    )
    copy = f"\\copy flights FROM '{tmp_path}/flights.csv' WITH (FORMAT csv, HEADER"
    failed = shell.run(f"{copy})")
    assert 'invalid input syntax for type integer: "NA"' in failed
    assert "dep_time" in failed
    assert cells(shell.run("SELECT count(*) FROM flights;")) == [["0"]]
    assert f"COPY {len(flights)}" in shell.run(f"{copy}, NULL 'NA')")
    # Questions
    flown = flights[flights.arr_delay.notna()]
    late = flown.groupby("carrier").arr_delay.agg(["size", "mean"]).sort_values("mean", ascending=False)
    shown = cells(
        shell.run(
            "SELECT a.name, count(*), round(avg(arr_delay), 2) AS late FROM flights JOIN airlines a USING (carrier)"
            " WHERE arr_delay IS NOT NULL GROUP BY a.name ORDER BY avg(arr_delay) DESC;"
        )
    )
    assert [int(row[1]) for row in shown] == late["size"].tolist()
    assert [float(row[2]) for row in shown] == [round(float(each), 2) for each in late["mean"]]
    assert cells(shell.run("SELECT count(*) FILTER (WHERE dep_time IS NULL) FROM flights;")) == [
        [str(int(flights.dep_time.isna().sum()))]
    ]
    worst = flown.groupby("dest").dep_delay.max()
    ranked = cells(
        shell.run(
            "SELECT dest, dep_delay FROM flights WHERE dep_delay IS NOT NULL"
            " QUALIFY row_number() OVER (PARTITION BY dest ORDER BY dep_delay DESC) = 1 ORDER BY dest;"
        )
    )
    assert {dest: int(delay) for dest, delay in ranked} == worst.to_dict()
    # Mistakes are told with what was meant
    assert 'Perhaps you meant to reference the column "flights.arr_delay"' in shell.run("SELECT ar_delay FROM flights;")
    # The plan names the tables that it reads
    plan = shell.run("EXPLAIN ANALYZE SELECT name FROM flights JOIN airlines USING (carrier) WHERE distance > 4000;")
    assert re.search(r"Scan on flights", plan)
    assert re.search(r"Scan on airlines", plan)
    assert "Execution Time" in plan
    # Results leave as files of several forms
    shell.run(
        f"SELECT origin, count(*) AS flights FROM flights GROUP BY ALL ORDER BY origin \\g {tmp_path}/by_origin.txt"
    )
    assert (tmp_path / "by_origin.txt").read_text().startswith(" origin | flights \n")
    kept = f"\\copy (SELECT origin, count(*) AS flights FROM flights GROUP BY ALL) TO '{tmp_path}/by_origin.parquet'"
    assert "COPY 3" in shell.run(kept)
    assert dict(zip(*pq.read_table(tmp_path / "by_origin.parquet").to_pydict().values(), strict=True)) == (
        flights.origin.value_counts().to_dict()
    )


def test_a_shop_from_a_script(shell: Terminal, tmp_path: Path) -> None:
    lines = write_retail(tmp_path)
    script = tmp_path / "load.sql"
    script.write_text(
        f"""
CREATE TABLE lines (
    invoice text, item text, description text, quantity int, sold timestamp, price numeric(8, 2), customer int,
    country text
);
\\copy lines FROM '{tmp_path}/online_retail.csv' WITH (FORMAT csv, HEADER)
-- A cancelled invoice begins with C.
CREATE VIEW sales AS SELECT *, quantity * price AS total FROM lines WHERE invoice NOT LIKE 'C%';
""",
        encoding="utf-8",
    )
    assert f"COPY {len(lines)}" in shell.run(f"\\i {script}")
    kept = lines[~lines.InvoiceNo.str.startswith("C")].assign(
        cents=lambda each: (each.Quantity * (each.UnitPrice * 100).round()).astype(int),
        month=lambda each: pd.to_datetime(each.InvoiceDate).dt.strftime("%Y-%m"),
    )
    monthly = cells(
        shell.run(
            "SELECT to_char(date_trunc('month', sold), 'YYYY-MM') AS m, sum(total) FROM sales GROUP BY 1 ORDER BY 1;"
        )
    )
    assert [(month, round(float(total) * 100)) for month, total in monthly] == list(
        kept.groupby("month").cents.sum().items()
    )
    assert cells(shell.run("SELECT count(*) FROM lines WHERE description LIKE '\"RED\"%';")) == [
        [str(int(lines.Description.str.startswith('"RED"').sum()))]
    ]
    shell.run("\\set land France")
    assert cells(shell.run("SELECT sum(total) FROM sales WHERE country = :'land';")) == [
        [f"{kept[kept.Country == 'France'].cents.sum() / 100:.2f}"]
    ]
    best = kept.groupby("CustomerID").cents.sum().sort_values(ascending=False)
    shell.run("\\pset format csv")
    top = shell.run("SELECT customer, sum(total) FROM sales WHERE customer > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 1;")
    assert f"{best.index[0]},{best.iloc[0] / 100:.2f}" in top
    shell.run("\\pset format aligned")
    # A day's mistake is taken back
    shell.run("BEGIN;", r"gpudb=\*>")
    assert f"DELETE {len(lines)}" in shell.run("DELETE FROM lines;", r"gpudb=\*>")
    shell.run("ROLLBACK;")
    assert cells(shell.run("SELECT count(*) FROM lines;")) == [[str(len(lines))]]
    assert re.search(r"sales.*view", shell.run("\\d"))
