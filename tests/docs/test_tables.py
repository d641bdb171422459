"""The guide's generated tables: pages and code agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.hooks import tables

PACKAGE = tables.ROOT / "gpudb"
ARCHITECTURE = tables.DOCS / "developers" / "architecture.md"


def table(page: Path, name: str) -> list[list[str]]:
    """The rows of a page's generated table as cells."""
    text = page.read_text(encoding="utf-8")
    section = text[text.index(f"<!-- generated: {name} -->") : text.index(f"<!-- /generated: {name} -->")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def members(package: Path) -> set[str]:
    """The modules and packages in a package."""
    packages = {path.name for path in package.iterdir() if (path / "__init__.py").is_file()}
    return packages | {path.stem for path in package.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("page", list(tables.pages()), ids=lambda page: page.name)
def test_a_page_has_what_the_code_has(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == tables.fill_tables(text), "make docs-tables writes the tables again"


def test_every_table_is_on_a_page_and_closed() -> None:
    begun, ended = (
        [name for page in tables.pages() for name in re.findall(mark, page.read_text(encoding="utf-8"))]
        for mark in (r"<!-- generated: ([\w-]+) -->", r"<!-- /generated: ([\w-]+) -->")
    )
    assert sorted(begun) == sorted(ended) == sorted(tables.TABLES)


def test_the_rooms_are_those_of_the_package() -> None:
    named = [row[1].strip("`") for row in table(ARCHITECTURE, "rooms")]
    assert sorted(named) == sorted(members(PACKAGE))


def test_inner_layers_name_every_module() -> None:
    for package, layers in table(ARCHITECTURE, "inner-layers"):
        inside = PACKAGE.joinpath(*package.strip("`").split(".")[1:])
        assert sorted(re.findall(r"`(\w+)`", layers)) == sorted(members(inside)), package


def test_a_changed_table_is_noticed() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    changed = re.sub(r"\n\| 1 \| `pgdata`[^\n]*", "\n| 1 | `nothing` | Not there. |", text)
    assert changed != text
    assert tables.fill_tables(changed) == text
