"""The guide's build: links, anchors, pages, generated tables and the API's docstrings are complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpudb.config.program import Settings
from gpudb.session.settings.catalog import SETTINGS
from tests.support.guide_blocks import ROOT


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
