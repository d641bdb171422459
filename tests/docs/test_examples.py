"""Code blocks of the guide and the README: they run and print what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.errors import GpudbError
from tests.support.guide_blocks import ROOT, RUNNABLE, SHOWN, blocks, engine, pages
from tests.support.guide_runner import Page
from tests.support.server_program import running_server

NOT_RUN = 34
"""Limit of blocks marked as not run: on Kubernetes they need a cluster, on coordinators a PostgreSQL, to install an index."""

_TO_RUN = [page for page in pages() if any(each.language in RUNNABLE and each.not_run is None for each in blocks(page))]


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two CPU workers."""
    options = ("--engine", "twin", "--workers", "2")
    with running_server(tmp_path_factory.mktemp("twin") / "data", *options) as dsn:
        parts = dict(part.split("=") for part in dsn.split())
        yield f"postgresql://gpudb@{parts['host']}:{parts['port']}/gpudb"


@pytest.mark.parametrize("page", _TO_RUN, ids=[str(page.relative_to(ROOT)) for page in _TO_RUN])
def test_a_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("twin") if engine(page) == "twin" else None
    Page(page, tmp_path, url).run()


def test_every_block_names_its_language() -> None:
    unknown = [block.place for page in pages() for block in blocks(page) if block.language not in RUNNABLE | SHOWN]
    assert not unknown


def test_what_does_not_run_says_why() -> None:
    marked = [block for page in pages() for block in blocks(page) if block.not_run is not None]
    assert not [block.place for block in marked if not block.not_run or block.language not in RUNNABLE]
    assert len(marked) <= NOT_RUN, [block.place for block in marked]


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\n1 / 0\n```\n",
        "```sql\nSELECT 1 AS one;\n```\n\n```text\n one\n-----\n   2\n(1 row)\n```\n",
        "```sql\nSELECT 1 / 0;\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ echo a\nb\n```\n",
        '```toml\nnothing = "such"\n```\n',
    ],
)
def test_what_fails_is_noticed(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises((AssertionError, GpudbError)):
        Page(page, tmp_path, None).run()
