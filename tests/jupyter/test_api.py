"""The Python API in a real kernel, without magics: what a relation shows, errors, frames, and the interrupt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.notebook import Kernel, running_kernel

SLOW = "SELECT count(*) FROM generate_series(1::bigint, 400000) a(x), generate_series(1::bigint, 400000) b(y) WHERE (x * y) % 7 = 3"


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as running:
        running.run(
            "import gpudb, pandas as pd\ndb = gpudb.connect()\nframe = pd.DataFrame({'n': range(30), 't': '<i>'})"
        )
        yield running


def test_a_relation_of_a_frame_shows_itself(kernel: Kernel) -> None:
    cell = kernel.run("db.sql('SELECT n, t FROM frame ORDER BY n')")
    html = cell.data("text/html")
    assert "30 rows, 2 columns; the first 10 rows are shown" in html
    assert "&lt;i&gt;" in html
    assert "<em>bigint</em>" in html
    assert cell.data("text/plain").endswith("(10 rows; there are more)")
    assert "<em>" in kernel.run("db.execute('SELECT 1 AS one')").data("text/html")


def test_a_chart_is_a_result(kernel: Kernel) -> None:
    cell = kernel.run("db.sql('SELECT n, n * 2 AS twice FROM frame').plot.line(x='n', y='twice')")
    assert "twice" in str(cell.outputs[0]["data"])


def test_a_chart_carries_a_picture(kernel: Kernel) -> None:
    """So do charts of Altair's own, and charts beside each other."""
    pytest.importorskip("vl_convert")
    chart = "db.sql('SELECT n, n * 2 AS twice FROM frame').plot.line(x='n', y='twice')"
    for source in (chart, f"{chart} | {chart}"):
        shown = kernel.run(source)
        assert shown.data("image/svg+xml").startswith("<svg")
        assert shown.data("image/png")
    kernel.run("import altair\naltair.renderers.enable('png')")
    assert "image/svg+xml" not in kernel.run(chart).outputs[0]["data"]
    kernel.run("altair.renderers.enable('default')")


def test_a_typo_is_a_short_error(kernel: Kernel) -> None:
    error = kernel.run("db.sql('SELECT m FROM frame').show()", fails=True).error
    assert error.ename == "UndefinedColumn"
    assert error.evalue.startswith('column "m" does not exist\nLINE 1: SELECT m FROM frame\n               ^')
    lines = "\n".join(error.traceback).splitlines()
    assert len(lines) < 30, lines
    assert not any("/session/" in line for line in lines)


def test_an_interrupt_ends_the_statement_and_not_the_connection(kernel: Kernel) -> None:
    cell = kernel.interrupt(f"db.execute('{SLOW}')")
    assert cell.error.ename == "KeyboardInterrupt"
    assert kernel.run("db.sql('SELECT count(*) FROM frame').fetchone()").data("text/plain") == "(30,)"
