"""Fenced code blocks of the guide's Markdown files, with the marks in comments before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

RUNNABLE = frozenset({"python", "sql", "console", "toml"})
"""Languages whose blocks run; a block that must not carries `<!-- not run: reason -->`."""
SHOWN = frozenset({"text", "json", "markdown", "make"})
"""Languages whose blocks are not run. A text block right after a python or sql block is its output."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
_NOT_RUN = re.compile(r"<!-- not run:(?P<reason>.*?)-->")
_SESSION = re.compile(r"<!-- session: (?P<engine>\w+) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `line` is the line of its first line of text, from 1; `output` is what it must print."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None
    output: str | None = None

    @property
    def place(self) -> str:
        """The block's file and line."""
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{page}:{self.line}"


def pages() -> list[Path]:
    """The Markdown files of the guide, and the README."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@cache
def engine(page: Path) -> str:
    """The engine on which a page's SQL runs: `<!-- session: twin -->`, else the embedded one."""
    found = _SESSION.search(page.read_text(encoding="utf-8"))
    return found["engine"] if found else "cpu"


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """A page's blocks in order, outputs joined to the blocks that print them."""
    found: list[Block] = []
    after = False  # only blank lines separate the last block from here
    for block, adjacent in _fences(page):
        after = adjacent and bool(found)
        last = found[-1] if found else None
        if (
            block.language == "text"
            and after
            and last is not None
            and last.language in {"python", "sql"}
            and last.output is None
        ):
            found[-1] = replace(last, output=block.text)
        else:
            found.append(block)
    return tuple(found)


def _fences(page: Path) -> Iterator[tuple[Block, bool]]:
    """Blocks, and whether only blank lines separate each from the block before it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    between: list[str] = []
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            between.append(lines[number])
            number += 1
            continue
        indent = len(opening["indent"])
        start = number + 1
        end = next(at for at in range(start, len(lines)) if lines[at].strip() == "```")
        text = "".join(f"{line[indent:]}\n" for line in lines[start:end])
        prose = [line.strip() for line in between if line.strip()]
        mark = _NOT_RUN.fullmatch(prose[-1]) if prose else None
        reason = mark["reason"].strip() if mark else None
        yield Block(page, start + 1, opening["language"], text, reason), not prose
        between = []
        number = end + 1
