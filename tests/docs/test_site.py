"""The guide's build: links, anchors, pages, generated tables and the API's docstrings are complete."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpudb.config.program import Settings
from gpudb.session.settings.catalog import SETTINGS
from tests.console.tools import find_chromium
from tests.support.guide_blocks import ROOT

PHONE = 390
"""Width of a phone's screen, in pixels."""
_MEASURE = """<pre></pre><script>
const pages = PAGES
async function measure() {
  for (const page of pages) {
    const frame = document.createElement("iframe")
    frame.style = "width: PHONEpx; height: 800px"
    frame.src = page
    await new Promise((resolve) => { frame.onload = resolve; document.body.appendChild(frame) })
    const width = frame.contentDocument.documentElement.scrollWidth
    document.querySelector("pre").textContent += `${width} ${page}\\n`
    frame.remove()
  }
}
measure()
</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Any warning of mkdocs fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_setting_is_listed(site: Path) -> None:
    page = (site / "configuration.html").read_text(encoding="utf-8")
    names = [f"GPUDB_{name.upper()}" for name in Settings.model_fields] + [each.name for each in SETTINGS.values()]
    assert not [name for name in names if f"<code>{name}</code>" not in page]


def test_the_api_is_documented(site: Path) -> None:
    page = (site / "python-api.html").read_text(encoding="utf-8")
    for name in ("gpudb.api.connect", "gpudb.api.Connection.sql", "gpudb.api.Relation.polars", "gpudb.errors.SqlError"):
        assert f'id="{name}"' in page


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "fonts.googleapis" not in text
        assert '<script src="http' not in text
        assert '<link rel="stylesheet" href="http' not in text


def browse(address: str, profile: Path, *options: str) -> str:
    """Returns a page as Chromium has it once its scripts have run."""
    command = [
        find_chromium(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        *options,
    ]
    done = subprocess.run(
        [*command, "--virtual-time-budget=200000", "--dump-dom", address], capture_output=True, text=True, timeout=300
    )
    return done.stdout


def test_search_works_in_pages_that_are_opened_from_the_disk(site: Path, tmp_path: Path) -> None:
    found = browse(f"{site.as_uri()}/developers/index.html?q=triggers", tmp_path)
    assert re.search(r"md-search-result__meta\">\d+ matching documents", found)
    assert "triggers.html" in found


def test_no_page_is_wider_than_a_phone(site: Path, tmp_path: Path) -> None:
    pages = sorted(page.as_uri() for page in site.rglob("*.html"))
    script = tmp_path / "measure.html"
    script.write_text(_MEASURE.replace("PAGES", json.dumps(pages)).replace("PHONE", str(PHONE)), encoding="utf-8")
    shown = browse(script.as_uri(), tmp_path / "profile", "--allow-file-access-from-files", "--disable-web-security")
    widths = re.findall(r"^(?:.*<pre>)?(\d+) (\S+)$", shown, re.MULTILINE)
    assert [page for _, page in widths] == pages
    assert not [page for width, page in widths if int(width) > PHONE]
