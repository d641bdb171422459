"""The magics in a real kernel: results, errors, interrupts, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gpudb.api.rows import SHOWN_ROWS
from tests.support.connection_urls import to_url
from tests.support.notebook import Kernel, running_kernel

BAR = r"<progress( value=\S+)?></progress> <small>(\d+%, )?\d s</small>"
"""A bar with the engine's estimate, if it has one."""
SLOW = "SELECT count(*) FROM generate_series(1, 100000) AS a, generate_series(1, 1000000) AS b WHERE a.a * b.b % 7 = 3"


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as running:
        running.run("import gpudb\n%load_ext gpudb")
        running.run("%sql CREATE TABLE rides (cab text, miles numeric(5, 2))")
        running.run("%sql INSERT INTO rides VALUES ('green', 1.50), ('<yellow>', 4.25), (NULL, NULL)")
        yield running


def test_rows_are_a_table_of_html(kernel: Kernel) -> None:
    cell = kernel.run("%%sql\nSELECT cab, miles\nFROM rides ORDER BY miles;")
    html = cell.data("text/html")
    assert "&lt;yellow&gt;" in html
    assert "<yellow>" not in html
    assert re.findall(r"<th[^>]*>(\w+)</th>", html) == ["cab", "miles"]
    assert "<em>text</em>" in html
    assert "<em>numeric(5,2)</em>" in html
    assert html.count("<em>NULL</em>") == 2
    assert re.search(r'<td style="text-align: right">1\.50</td>', html)
    assert "3 rows, 2 columns" in html
    assert cell.data("text/plain").startswith("   cab    | miles \n")


def test_more_rows_than_are_shown(kernel: Kernel) -> None:
    html = kernel.run("%sql SELECT * FROM generate_series(1, 1234)").data("text/html")
    assert html.count("<tr>") == 2 + SHOWN_ROWS
    assert f"1,234 rows, 1 column; the first {SHOWN_ROWS} rows are shown" in html


def test_a_statement_without_rows_shows_its_tag(kernel: Kernel) -> None:
    assert kernel.run("%sql CREATE TABLE made AS SELECT 1 AS a").data("text/plain") == "SELECT 1"
    cell = kernel.run("%sql DROP TABLE IF EXISTS nowhere")
    assert 'NOTICE:  table "nowhere" does not exist, skipping' in cell.printed
    assert cell.data("text/plain") == "DROP TABLE"


def test_a_result_has_a_name(kernel: Kernel) -> None:
    assert kernel.run("%%sql named <<\nSELECT 41 + 1 AS answer").outputs == []
    assert kernel.run("named.fetchall(), named.columns").data("text/plain") == "([(42,)], ('answer',))"
    kernel.run("%%sql --to other\nSELECT 43")
    kernel.run("%sql third << SELECT 44")
    kernel.run("fourth = %sql SELECT 45")
    assert kernel.run("other.fetchone() + third.fetchone() + fourth.fetchone()").data("text/plain") == "(43, 44, 45)"
    assert "is no name" in kernel.run("%%sql class <<\nSELECT 1", fails=True).error.evalue
    assert '"--nonsense" is no option' in kernel.run("%%sql --nonsense\nSELECT 1", fails=True).error.evalue


def test_a_result_is_a_relation(kernel: Kernel) -> None:
    kernel.run("%%sql named <<\nSELECT i, i % 3 AS k FROM generate_series(1, 7000) AS g(i)")
    kernel.run("chart = named.plot.bar(x='k:N', y='sum(i)').to_dict()\n(rows,) = chart['datasets'].values()")
    assert kernel.run("len(rows), len(named), named.filter('k = 0').fetchone()").data("text/plain") == (
        "(3, 7000, (3, 0))"
    )


def test_variables_are_parameters(kernel: Kernel) -> None:
    kernel.run("""cab = "'; DROP TABLE rides; --"\nlow = 1\nids = [1, 2]\nn = 3""")
    cell = kernel.run("text = %sql SELECT :cab AS a, :cab || $$:low$$ || ':low' AS b, :low::text AS c -- :nothing")
    assert kernel.run("text.fetchall()").data("text/plain") == (
        """[("'; DROP TABLE rides; --", "'; DROP TABLE rides; --:low:low", '1')]"""
    )
    assert cell.outputs == []
    kernel.run("%%sql found <<\nSELECT miles FROM rides WHERE miles > :low ORDER BY 1 LIMIT :n;")
    assert kernel.run("found.fetchall()").data("text/plain") == "[(Decimal('1.50'),), (Decimal('4.25'),)]"
    kernel.run("%sql sliced << SELECT (ARRAY[7, 8, 9])[1:2], 8 = ANY(:ids), 2 = ANY(:ids)")
    assert kernel.run("sliced.fetchall()").data("text/plain") == "[([7, 8], False, True)]"
    kernel.run("def ask(low):\n    found = %sql SELECT :low + 1\n    return found.fetchone()")
    assert kernel.run("ask(100)").data("text/plain") == "(101,)"
    # IPython pastes {…} and $… into the lines of most magics.
    kernel.run("%sql pasted << SELECT '{low}', '$low'")
    assert kernel.run("pasted.fetchone()").data("text/plain") == "('{low}', '$low')"


def test_variables_that_hold_frames_are_tables(kernel: Kernel) -> None:
    kernel.run("import polars as pl\nzones = pl.DataFrame({'zone': [1, 2, 3]})\nleast = 2")
    kernel.run("%sql summed << SELECT sum(zone) AS total FROM zones WHERE zone >= :least")
    assert kernel.run("int(summed.fetchone()[0])").data("text/plain") == "5"
    kernel.run("def count(zones):\n    found = %sql SELECT count(*) FROM zones\n    return found.fetchone()")
    assert kernel.run("count(zones.head(1))").data("text/plain") == "(1,)"
    assert "CpuAggregate" in kernel.run("%explain SELECT sum(zone) FROM zones").data("image/svg+xml")


def test_a_variable_that_is_missing(kernel: Kernel) -> None:
    error = kernel.run("%%sql\nSELECT 1,\n  :missing", fails=True).error
    assert "\n".join(error.traceback) == (
        'ERROR:  42P02: there is no Python variable "missing"\nLINE 2:   :missing\n          ^'
    )
    assert "numbered" in kernel.run("%sql SELECT $1, :low", fails=True).error.evalue
    assert "cannot be a parameter" in kernel.run("%sql SELECT :gpudb", fails=True).error.evalue


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            "%%sql\nSELECT 1;\nSELECT cab,\n  mils FROM rides;",
            'ERROR:  42703: column "mils" does not exist\nLINE 3:   mils FROM rides;\n          ^\n'
            'HINT:  Perhaps you meant to reference the column "rides.miles".',
        ),
        ("%sql SELEC 1", 'ERROR:  42601: syntax error at or near "SELEC"\nLINE 1: SELEC 1\n        ^'),
        ("%sql SELECT 1 / 0", "ERROR:  22012: division by zero"),
        (
            "%%sql\nSELECT :low, 'é', nothing",
            "ERROR:  42703: column \"nothing\" does not exist\nLINE 1: SELECT :low, 'é', nothing\n"
            "                          ^",
        ),
        (
            "%explain SELECT nothing",
            'ERROR:  42703: column "nothing" does not exist\nLINE 1: SELECT nothing\n               ^',
        ),
    ],
)
def test_an_error_is_one_short_message(kernel: Kernel, source: str, shown: str) -> None:
    kernel.run("low = 1")
    assert "\n".join(kernel.run(source, fails=True).error.traceback) == shown


def test_an_interrupt_ends_the_statement_and_not_the_connection(kernel: Kernel) -> None:
    cell = kernel.interrupt(f"%sql {SLOW}")
    assert cell.error.ename == "KeyboardInterrupt"
    assert kernel.run("%sql SELECT count(*) FROM rides").data("text/plain").splitlines()[2].strip() == "3"


def test_a_long_statement_shows_its_progress(kernel: Kernel) -> None:
    with kernel.watching_displays() as seen:
        cell = kernel.interrupt(f"%sql {SLOW}", lambda: any(re.fullmatch(BAR, each) for each in seen))
    assert [each for each in seen if re.fullmatch(BAR, each)], seen
    assert seen[-1] == ""
    shown = [each["data"]["text/html"] for each in cell.outputs if each["output_type"] == "display_data"]
    assert shown == [""]
    shown = [each for each in kernel.run("%sql SELECT 1").outputs if each["output_type"] == "display_data"]
    assert shown == []


def test_a_long_statement_of_the_api_shows_its_progress(kernel: Kernel) -> None:
    with kernel.watching_displays() as seen:
        cell = kernel.interrupt(
            f"gpudb.connect().execute({SLOW!r})", lambda: any(re.fullmatch(BAR, each) for each in seen)
        )
    assert cell.error.ename == "KeyboardInterrupt"
    assert [each for each in seen if re.fullmatch(BAR, each)], seen
    assert seen[-1] == ""
    with kernel.watching_displays() as seen:
        kernel.interrupt(f"quiet = gpudb.connect()\nquiet.progress_bar = False\nquiet.execute({SLOW!r})")
    assert seen == []


def test_the_plan_is_a_picture(kernel: Kernel) -> None:
    kernel.run("low = 1")
    svg = kernel.run("%%explain\nSELECT cab, count(*) FROM rides WHERE miles > :low GROUP BY cab").data("image/svg+xml")
    assert "CpuAggregate" in svg
    assert "CpuScan" in svg
    assert " ms</text>" not in svg
    svg = kernel.run("%explain --analyze SELECT count(*) FROM rides WHERE cab LIKE '%<&>_%'").data("image/svg+xml")
    assert " ms</text>" in svg
    assert "&lt;&amp;&gt;" in svg
    assert ElementTree.fromstring(svg).tag.endswith("}svg")
    kernel.run("%%explain plan <<\nSELECT 1")
    assert kernel.run("plan.tree['Engine']").data("text/plain") == "'cpu'"


def test_a_transaction_of_several_cells(kernel: Kernel) -> None:
    kernel.run("%sql BEGIN")
    kernel.run("%sql DELETE FROM rides")
    kernel.run("%sql SELECT 1 / 0", fails=True)
    assert "25P02" in "\n".join(kernel.run("%sql SELECT 1", fails=True).error.traceback)
    kernel.run("%sql ROLLBACK")
    assert "(3 rows)" in kernel.run("%sql TABLE rides").data("text/plain")


def test_connecting(kernel: Kernel, gpudb_server: str, tmp_path: Path) -> None:
    assert kernel.run("%gpudb").printed == "Connected to a temporary database in this process.\n"
    kernel.run("%gpudb --close")
    assert kernel.run("%gpudb").printed == "Not connected.\n"
    url = to_url(gpudb_server).replace("gpudb@", "gpudb:secret@")
    assert "Connected to postgresql://gpudb:…@127.0.0.1" in kernel.run(f"%gpudb {url}").printed
    assert "16.4" in kernel.run("%sql SHOW server_version").data("text/html")
    cell = kernel.interrupt("%sql SELECT pg_sleep(600)")
    assert cell.error.ename == "KeyboardInterrupt"
    assert "postgresql" in kernel.run("%sql SELECT 1\n%gpudb").printed
    path = tmp_path / "data"
    kernel.run(f"path = {str(path)!r}\n%gpudb {{path}}\n%sql CREATE TABLE kept AS SELECT 1 AS a")
    kernel.run("db = gpudb.connect(path)\n%gpudb db\n%sql INSERT INTO kept VALUES (2)")
    kernel.run("%gpudb --close")
    assert kernel.run("db.table('kept').fetchall()").data("text/plain") == "[(1,), (2,)]"
    assert "is no address" in kernel.run("%gpudb mysql://x", fails=True).error.evalue


@pytest.mark.parametrize("where", ["embedded", "server"])
def test_of_a_large_result_the_first_rows_are_read(kernel: Kernel, gpudb_server: str, where: str) -> None:
    url = to_url(gpudb_server) if where == "server" else ":memory:"
    kernel.run(f"other = gpudb.connect({url!r})\n%gpudb other")
    try:
        kernel.run("%sql CREATE TEMPORARY TABLE many AS SELECT i FROM generate_series(1, 30000) AS g(i)")
        kernel.run("%sql CREATE TEMPORARY SEQUENCE counted")
        html = kernel.run("many = %sql SELECT i FROM many ORDER BY i\nmany").data("text/html")
        assert "30,000 rows, 1 column; the first 10 rows are shown" in html
        kernel.run("%sql small << SELECT i FROM many WHERE i < 4")
        kernel.run("%sql drawn << SELECT nextval('counted') AS n FROM many")
        kernel.run("%sql DELETE FROM many WHERE i <= 10")
        assert kernel.run("len(many._here), many.head(1).fetchone(), len(many.fetchall())").data("text/plain") == (
            "(10001, (1,), 29990)"
        )
        assert kernel.run("small.fetchall()").data("text/plain") == "[(1,), (2,), (3,)]"
        assert kernel.run("len(drawn), drawn.polars()['n'].sum() == 30000 * 30001 // 2").data("text/plain") == (
            "(30000, True)"
        )
        assert kernel.run("%sql SELECT nextval('counted') AS n").data("text/plain").splitlines()[2].strip() == "30001"
        kernel.run("%sql returned << DELETE FROM many WHERE i < 20 RETURNING i")
        assert kernel.run("len(returned), len(returned.fetchall())").data("text/plain") == "(9, 9)"
    finally:
        kernel.run("%gpudb --close\nother.close()")
