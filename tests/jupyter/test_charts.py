"""Charts in notebooks without a network: executed, exported as a page, and drawn by Chromium where it is there."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from gpudb.api.png import read_size
from tests.console.tools import find_chromium
from tests.support.notebook import LIMIT_S, Kernel, running_kernel

pytest.importorskip("vl_convert")

QUERY = "SELECT i, i * i AS y, i % 3 AS k FROM generate_series(1, 100) AS g(i)"
CELLS = (
    f"import gpudb\ndb = gpudb.connect()\nrows = db.sql('{QUERY}')",
    "rows.plot.hist('y').properties(title='</script><b>&')",
    "rows.plot.line(x='i', y='y')",
    "rows.plot.scatter(x='i', y='y') | rows.plot.bar(x='k:N', y='sum(i)')",
)
CHARTS = 3
LOADS = "DecompressionStream"


@pytest.fixture(scope="module")
def notebook() -> Any:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(made, timeout=LIMIT_S, kernel_name="python3").execute()
    return made


@pytest.fixture(scope="module")
def page(notebook: Any) -> str:
    """The notebook as nbconvert exports it, without the page's own addresses (RequireJS, MathJax)."""
    html: str
    html, _ = HTMLExporter(require_js_url="", mathjax_url="").from_notebook_node(notebook)
    return html


def test_each_chart_carries_its_pictures_and_one_the_library(notebook: Any) -> None:
    shown = [cell.outputs[-1]["data"] for cell in notebook.cells[1:]]
    for data in shown:
        png = base64.b64decode(data["image/png"])
        assert min(read_size(png)) > 100
        assert data["image/svg+xml"].startswith("<svg")
        assert base64.b64encode(png).decode() in data["text/html"]
    assert [LOADS in data["text/html"] for data in shown] == [True, False, False]


def test_an_exported_page_asks_no_other_host(page: str) -> None:
    assert page.count('class="gpudb-chart"') == CHARTS
    assert page.count(LOADS) == 2, "asked for, and used, by one chart"
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "</script><b>" not in page


def test_a_browser_without_network_draws_the_charts(page: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page)
    command = [find_chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=20000", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )  # fmt: skip
    assert done.stdout.count("graphics-document") >= CHARTS
    assert len(re.findall(r'class="gpudb-chart"><div class="vega-embed', done.stdout)) == CHARTS
    assert "Error loading script" not in done.stdout


def test_a_cell_that_runs_again_carries_the_library_again() -> None:
    with running_kernel() as kernel:
        kernel.run(CELLS[0])
        first, other = CELLS[1], CELLS[2]
        assert [_carries(kernel, source) for source in (first, other, first, other)] == [True, False, True, False]
        both = f"from IPython.display import display\ndisplay({first})\ndisplay({other})"
        kernel.run("gpudb.api.chart_pictures._carrier.__init__()")
        shown = [each["data"]["text/html"] for each in kernel.run(both).outputs if "image/png" in each["data"]]
        assert [LOADS in each for each in shown] == [True, False]


def test_large_charts_have_one_picture_of_fewer_pixels() -> None:
    with running_kernel() as kernel:
        kernel.run(
            "import gpudb\nmany = gpudb.connect().sql('SELECT random() AS a, random() AS b FROM generate_series(1, 4000)')"
        )
        output = kernel.run("many.plot.scatter(x='a', y='b')").outputs[-1]
    assert "image/svg+xml" not in output["data"]
    across, _ = read_size(base64.b64decode(output["data"]["image/png"]))
    assert across == output["metadata"]["image/png"]["width"]


def _carries(kernel: Kernel, source: str) -> bool:
    return LOADS in kernel.run(source).data("text/html")
