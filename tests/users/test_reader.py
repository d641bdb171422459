"""A reader who follows the guide's first pages from the top, one after the other, in one folder."""

from __future__ import annotations

from pathlib import Path

from tests.support.guide_blocks import DOCS, ROOT, RUNNABLE, blocks
from tests.support.guide_runner import Page

FIRST_PAGES = (
    ROOT / "README.md",
    DOCS / "index.md",
    DOCS / "installation.md",
    DOCS / "getting-started.md",
    DOCS / "first-chart.md",
    DOCS / "coming-from.md",
    DOCS / "connecting.md",
    DOCS / "loading.md",
)
NEEDS = frozenset(
    {"builds an environment and runs every test", "builds an environment", "needs a GPU", "needs root and systemd"}
)
"""Why a block of these pages may be left out."""


def test_the_first_pages_run_one_after_the_other(tmp_path: Path) -> None:
    """What one page leaves behind, tables and files, is in the next one's way only if it is in the reader's."""
    for page in FIRST_PAGES:
        Page(page, tmp_path, None).run()


def test_nearly_everything_of_the_first_pages_runs() -> None:
    found = [block for page in FIRST_PAGES for block in blocks(page) if block.language in RUNNABLE]
    left_out = [block for block in found if block.not_run is not None]
    assert {block.not_run for block in left_out} <= NEEDS
    assert len(left_out) * 5 <= len(found)
