"""The pages on how to add something: what the code has for examples, each place of it is on the page."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_paths import paths
from tests.support.guide_blocks import DOCS, ROOT

PAGES = DOCS / "developers"
EXAMPLES = {
    "add-a-function.md": "random_normal erf dsqrt numeric_add date_trunc int4eq lastval ntile starts_with".split(),
    "add-an-aggregate.md": "any_value bool_and regr_slope approx_percentile".split(),
    "add-a-type.md": "money timetz inet".split(),
    "add-a-statement.md": "CheckPointStmt MergeStmt RefreshMatViewStmt ForeignServer FOREIGN_SERVER".split(),
    "add-a-metric.md": "gpudb_scheduler_connected gpudb_loads_total".split(),
    "add-a-message.md": "CopiedRequest DeviceInfo AliveRequest".split(),
    "add-a-kernel.md": ["SquareRoot"],
}
"""For each page what was added once, by the names that the code has for it."""

CALLERS = {
    "gpudb/catalog/postgres/macros.sql": "calls starts_with",
    "gpudb/pgdata/make.py": "asks PostgreSQL by bool_and",
    "gpudb/server/http/console/dialect/functions.tsv": "calls what DuckDB's functions are here",
    "gpudb/server/http/console/frames.py": "aligns money to the right",
    "gpudb/session/execution/system/system_tables.py": "shows clients' addresses as inet",
    "gpudb/storage/constraints/keys.py": "asks DuckDB by any_value",
}
"""Files that use an example as anybody may, and would not change if one were added."""

_TEXTS = {".sql", ".tsv", ".cu", ".cuh", ".json", ".yaml"}


@cache
def sources() -> dict[Path, str]:
    """The files of the package, of its kernels and of what is deployed beside it, with their texts."""
    folders = (ROOT / folder for folder in ("gpudb", "kernels", "deploy"))
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in {".py", *_TEXTS})
    return {path: path.read_text(encoding="utf-8") for path in files}


@cache
def words(path: Path) -> frozenset[str]:
    """The words of a file's code and data; those of comments and docstrings are left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return frozenset(re.findall(r"\w+", text))
    tree = ast.parse(text)
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if id(node) not in prose:
                found.update(re.findall(r"\w+", value))
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                found.update(name.split("."))
            case ast.ImportFrom(module=str(name)):
                found.update(name.split("."))
    return frozenset(found)


def places(example: str) -> list[str]:
    """The files whose code or data has an example's name."""
    found = (path for path, text in sources().items() if example in text and example in words(path))
    return sorted(str(path.relative_to(ROOT)) for path in found)


def named_places(page: str) -> re.Pattern[str]:
    """Matches the files that a page names, `TOPIC` standing for any file of a folder."""
    named = re.findall(r"`((?:gpudb|kernels|deploy)/[\w./-]+\.\w+)`", (PAGES / page).read_text(encoding="utf-8"))
    return re.compile("|".join(re.escape(path).replace("TOPIC", r"\w+") for path in named))


@pytest.mark.parametrize(("page", "example"), [(page, each) for page, names in EXAMPLES.items() for each in names])
def test_each_place_of_an_example_is_on_the_page(page: str, example: str) -> None:
    found = [place for place in places(example) if place not in CALLERS]
    assert len(found) > 1
    named = named_places(page)
    assert [place for place in found if not named.fullmatch(place)] == []


def test_every_page_has_examples_and_names_files() -> None:
    pages = {path.name for path in PAGES.glob("add-*.md")}
    assert pages - EXAMPLES.keys() == {"add-a-rewrite-rule.md", "add-an-optimizer-rule.md"}
    for page in pages:
        named = paths((PAGES / page).read_text(encoding="utf-8"))
        assert named
        assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_callers_are_there() -> None:
    assert [path for path in CALLERS if not (ROOT / path).is_file()] == []


def test_words_leave_prose_out(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""A prose."""\nfrom a.b import c  # remark\nKEY = {"one two": None}\n', encoding="utf-8")
    assert words(module) == {"a", "b", "c", "KEY", "one", "two"}
