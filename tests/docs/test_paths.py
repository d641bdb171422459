"""Paths that the guide, the READMEs and CONTRIBUTING.md name: all exist in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.guide_blocks import ROOT, pages

_PATH = re.compile(
    r"(?<![\w./-])(?:\.\./)*((?:gpudb|tests|benchmarks|kernels|docs|deploy|notebooks)(?:/[\w.<>*{}-]+)+/?)"
)
_PLACEHOLDER = re.compile(r"[<>*{}]|(?<![A-Za-z])[A-Z]{2,}(?![\w.]*\.md)|NNN|\.MACHINE\.")
_MADE = ("gpudb/kernels",)
"""Paths that a build creates."""
_OTHERS = {"docs", ".venv", "node_modules"}

_NAMING = [
    *pages(),
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in ROOT.glob("[a-z]*/**/*.md") if not _OTHERS & set(path.relative_to(ROOT).parts)),
]


def paths(text: str) -> set[str]:
    """The paths in a text, without patterns and placeholders."""
    found = {match[1].rstrip("/.") for match in _PATH.finditer(text)}
    return {path for path in found if not _PLACEHOLDER.search(path) and not path.startswith(_MADE)}


@pytest.mark.parametrize("page", _NAMING, ids=[str(page.relative_to(ROOT)) for page in _NAMING])
def test_named_files_exist(page: Path) -> None:
    named = paths(page.read_text(encoding="utf-8"))
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_paths_are_found() -> None:
    text = "See `gpudb/sql/bind/`, tests/nothing.py and [x](../gpudb/plan/NOT_ON_WORKERS.md); not tests/NAME.py, a/gpudb/b."
    assert paths(text) == {"gpudb/sql/bind", "tests/nothing.py", "gpudb/plan/NOT_ON_WORKERS.md"}
