"""Draws the guide's pictures into docs/assets: `python -m tests.docs.pictures`.

Each is made by the code that it shows: the shell's screen, the picture of a plan, a chart of a page's own example, and a
notebook of the repository as Chromium shows it.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image
from rich.console import Console
from rich.syntax import Syntax
from rich.terminal_theme import MONOKAI
from rich.text import Text

import gpudb
from gpudb.cli.screen import Screen
from gpudb.cli.script import Runner, report_errors
from gpudb.jupyter.plan_picture import PlanPicture
from tests.console.tools import find_chromium
from tests.support.guide_blocks import DOCS, blocks

ASSETS = DOCS / "assets"
WIDTH = 84
MAKE = """
CREATE TABLE rides (id bigint, cab text, miles numeric(6, 2), started timestamp);
INSERT INTO rides SELECT i, CASE WHEN i % 3 = 0 THEN 'green' ELSE 'yellow' END, i * 7919 % 1500 / 100.0,
    timestamp '2026-01-01' + i * interval '1 minute' FROM generate_series(1, 200000) AS i;
CREATE TABLE rates (cab text, rate numeric(4, 2));
INSERT INTO rates VALUES ('green', 2.25), ('yellow', 2.5)
"""
SHELL = (
    "SELECT cab, count(*) AS rides, round(avg(miles), 2) AS miles\nFROM rides GROUP BY ALL ORDER BY ALL;",
    "SELECT cab, avg(mile) FROM rides GROUP BY cab;",
    "\\copy (SELECT * FROM rides WHERE miles > 14) TO 'long.parquet'",
)
PLAN = """
SELECT rides.cab, count(*), sum(miles * rate) AS fares FROM rides JOIN rates USING (cab)
WHERE miles > 5 GROUP BY rides.cab ORDER BY fares DESC
"""
_FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style><defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
"""Rich's form of a picture without its font, which it loads from elsewhere."""


def draw_shell() -> str:
    """Returns statements at the shell's prompt, with what its screen shows."""
    record = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=True, color_system="truecolor")
    with gpudb.connect() as db:
        db.execute(MAKE)
        screen = Screen(Console(force_terminal=True, width=WIDTH, file=io.StringIO()))
        screen.has_pager = False
        runner = Runner(db, screen)
        for text in SHELL:
            prompted = "\n".join(f"gpudb{'-' if n else '='}> {line}" for n, line in enumerate(text.split("\n")))
            record.print(Syntax(prompted, "postgresql-console", theme="monokai", background_color="default"))
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                report_errors(lambda text=text: runner.run(text), text)  # type: ignore[misc]
            record.print(Text.from_ansi(shown.getvalue()))
    return record.export_svg(title="gpudb sql", theme=MONOKAI, code_format=_FRAME, unique_id="shell")


def draw_plan() -> str:
    """Returns the picture of a plan, as `%%explain --analyze` draws it."""
    with gpudb.connect() as db:
        db.execute(MAKE)
        db.execute(PLAN)  # loads the tables, so that the plan has their rows
        ((tree,),) = db.execute(f"EXPLAIN (ANALYZE, FORMAT json) {PLAN}").fetchall()
    return PlanPicture(tree[0])._repr_svg_()


def draw_first_chart() -> str:
    """Returns the chart that the page of the first chart makes."""
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(DOCS / "first-chart.md"):
            if block.language == "python":
                exec(block.text.replace(".html", ".svg").replace(", inline=True", ""), names)
    return Path("fares.svg").read_text(encoding="utf-8")


PICTURES = {"shell.svg": draw_shell, "plan.svg": draw_plan, "first-chart.svg": draw_first_chart}


def photograph_notebook(target: Path) -> None:
    """Writes the first cells of a notebook of charts, executed, as a picture."""
    cells = [
        nbformat.v4.new_code_cell(source)
        for source in (
            "%load_ext gpudb",
            f"%%sql\n{MAKE.split(';')[0].strip()};\n{MAKE.split(';')[1].strip()}",
            "%%sql hourly <<\nSELECT extract(hour FROM started)::int AS hour, cab, count(*) AS rides, avg(miles) AS miles\n"
            "FROM rides\nGROUP BY ALL\nORDER BY ALL",
            "hourly",
            "hourly.plot.line(x='hour:O', y='rides', color='cab').properties(width=520, height=180)",
        )
    ]
    made = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    html, _ = HTMLExporter(require_js_url="", mathjax_url="").from_notebook_node(made)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.html").write_text(html, encoding="utf-8")
        command = [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder / 'profile'}", "--window-size=860,1040", "--virtual-time-budget=20000"]
        command += [f"--screenshot={folder / 'page.png'}", (folder / "page.html").as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        Image.open(folder / "page.png").save(target, quality=86, method=6)


def draw(name: str) -> str:
    """Returns a picture; what its statements write is in a folder that goes."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return PICTURES[name]()


def main() -> None:
    """Writes the pictures."""
    for name in PICTURES:
        (ASSETS / name).write_text(draw(name), encoding="utf-8")
    photograph_notebook(ASSETS / "notebook.webp")


if __name__ == "__main__":
    main()
