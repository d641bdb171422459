"""Every rewrite rule against its fixture: the text before, and the text after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gpudb.catalog.model import Argument, Catalog, Column, Routine, Table, initial
from gpudb.sql import rewrite
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.parse.parser import deparse, parse
from gpudb.sql.rewrite.expand_stars import expanded
from gpudb.sql.rewrite.qualify_names import qualified
from gpudb.sql.rewrite.rename_relations import moved_names
from gpudb.sql.rewrite.select_into import select_into
from gpudb.types import INT4

FIXTURES = Path(__file__).parent / "rewrite"


def _catalog() -> Catalog:
    catalog = initial()
    relations = {
        (schema, name): Table(number, schema, name, (Column("a", INT4), Column(f"{name}_b", INT4)), "gpudb")
        for number, (schema, name) in enumerate((("public", "t"), ("public", "u"), ("s", "t"), ("s", "lone")), 20_000)
    }
    for table in relations.values():
        catalog = catalog.with_relation(table)
    assert isinstance(catalog.relations, MappingProxyType)
    return catalog.with_routine(Routine(20_100, "s", "plus", "gpudb", (Argument("n", INT4),), INT4, "SELECT n + 1"))


_RULES: dict[str, Callable[[Any], Any]] = {
    "select_into": select_into,
    "moved_names": lambda node: (
        parse(moved_names(deparse(node), {("s", "t"): ("public", "moved")}, {"old": "new"}))[0].node
    ),
    "expand_stars": lambda node: expanded(node, _stars(node)),
    "qualify_names": lambda node: qualified(node, _catalog(), ("public", "s")),
}


def _stars(node: Any) -> dict[int, tuple[tuple[str, ...], ...]]:
    binder = Binder(_catalog(), search_path=("public", "s"))
    binder.stars = {}
    bind_query(binder, node, None)
    return binder.stars


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    parts = path.read_text(encoding="utf-8").split("-- before\n")[1:]
    for part in parts:
        before, after = part.split("-- after\n")
        yield before.strip(), after.strip()


_CASES = [(path.stem, before, after) for path in sorted(FIXTURES.glob("*.sql")) for before, after in _pairs(path)]


def _text(sql: str) -> str:
    (statement,) = parse(sql)
    return deparse(statement.node)


@pytest.mark.parametrize("rule, before, after", _CASES)
def test_fixture(rule: str, before: str, after: str) -> None:
    (statement,) = parse(before)
    assert deparse(_RULES[rule](statement.node)) == _text(after)


def test_every_rule_has_its_fixture() -> None:
    folder = Path(rewrite.__file__).parent
    rules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert rules == {path.stem for path in FIXTURES.glob("*.sql")} == set(_RULES)


def test_rules_run_together() -> None:
    (statement,) = parse("SELECT 1 AS a INTO made")
    assert deparse(rewrite.rewrite(statement.node)) == _text("CREATE TABLE made AS SELECT 1 AS a")


def test_qualifying_changes_a_copy() -> None:
    (statement,) = parse("SELECT * FROM t")
    qualified(statement.node, _catalog(), ("public",))
    assert deparse(statement.node) == "SELECT * FROM t"
