"""Every rewrite rule against its fixture: SQL before it and SQL after it.

A rule over parse trees is compared as text. A rule over bound trees is compared as bound trees: what it makes of the
SQL before it must equal the bound form of the SQL after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gpudb.catalog.model import Catalog, make_initial_catalog
from gpudb.catalog.routines import Argument, Routine
from gpudb.catalog.tables import Column, Table
from gpudb.sql import bound, rewrite
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import deparse, parse
from gpudb.sql.rewrite.rule import NameSource, Renames, Tree
from gpudb.types import INT4

FIXTURES = Path(__file__).parent / "rewrite"
PATH = ("public", "s")


def _catalog() -> Catalog:
    catalog = make_initial_catalog()
    relations = {
        (schema, name): Table(number, schema, name, (Column("a", INT4), Column(f"{name}_b", INT4)), "gpudb")
        for number, (schema, name) in enumerate((("public", "t"), ("public", "u"), ("s", "t"), ("s", "lone")), 20_000)
    }
    for table in relations.values():
        catalog = catalog.put(table)
    assert isinstance(catalog.relations, MappingProxyType)
    return catalog.put(Routine(20_100, "s", "plus", "gpudb", (Argument("n", INT4),), INT4, "SELECT n + 1"))


def _find_relation(expr: bound.Expr) -> int:
    """Returns the OID of the relation that a literal below casts names."""
    while isinstance(expr, bound.Cast):
        expr = expr.arg
    assert isinstance(expr, bound.Constant)
    found = _catalog().find(str(expr.value), PATH)
    assert found is not None
    return found.oid


def _names(node: Any) -> NameSource:
    binder = StatementBinder(_catalog(), search_path=PATH)
    binder.expansions = Expansions()
    binder.evaluate_integer = _find_relation
    bind_query(binder, node, None)
    return NameSource(binder.catalog, PATH, binder.expansions)


_RENAMES = Renames(
    {("s", "t"): ("public", "moved")},
    {"old": "new"},
    {("s", "f"): ("s", "g"), ("", "f"): ("", "g")},
    {("s", "kind"): ("u", "sort"), ("", "kind"): ("u", "sort")},
    {8: ("u", "h")},
)

_CONTEXTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "select_into": lambda node: (),
    "expand_queries": lambda node: (_names(node),),
    "expand_stars": lambda node: (_names(node),),
    "expand_composed": lambda node: (_names(node),),
    "expand_all": lambda node: (_names(node),),
    "pin_objects": lambda node: (_names(node),),
    "qualify_names": lambda node: (NameSource(_catalog(), PATH),),
    "rename_relations": lambda node: (_RENAMES,),
}
"""The arguments of each rule over parse trees, beside the tree."""

_BOUND_TREES: tuple[Tree, ...] = ("bound query", "checked query", "engine query")


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    parts = path.read_text(encoding="utf-8").split("-- before\n")[1:]
    for part in parts:
        before, after = part.split("-- after\n")
        yield before.strip(), after.strip()


_RULES = {rule.name: rule for rule in rewrite.RULES}
_CASES = [(path.stem, before, after) for path in sorted(FIXTURES.glob("*.sql")) for before, after in _pairs(path)]


def _node(sql: str) -> Any:
    (statement,) = parse(sql)
    return statement.node


def _text(sql: str) -> str:
    return deparse(_node(sql))


def _bound(sql: str) -> bound.Query:
    return bind_query(StatementBinder(_catalog(), search_path=PATH), _node(sql), None)


@pytest.mark.parametrize("name, before, after", _CASES)
def test_fixture(name: str, before: str, after: str) -> None:
    rule = _RULES[name]
    if rule.applies_to in _BOUND_TREES:
        assert rule.function(_bound(before)) == _bound(after)
    else:
        node = _node(before)
        assert deparse(rule.function(node, *_CONTEXTS[name](node))) == _text(after)


@pytest.mark.parametrize("name", [rule.name for rule in rewrite.RULES])
def test_fixture_shows_a_change(name: str) -> None:
    pairs = [(before, after) for stem, before, after in _CASES if stem == name]
    assert any(_text(before) != _text(after) for before, after in pairs)


def test_every_rule_has_its_module_and_fixture() -> None:
    folder = Path(rewrite.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "rule"}
    assert modules == {path.stem for path in FIXTURES.glob("*.sql")} == set(_RULES)
    assert len(_RULES) == len(rewrite.RULES)


def test_rewrite_statement() -> None:
    assert deparse(rewrite.rewrite_statement(_node("SELECT 1 AS a INTO made"))) == _text(
        "CREATE TABLE made AS SELECT 1 AS a"
    )


def test_rewrite_stored_copies() -> None:
    node = _node("SELECT * FROM lone")
    made = rewrite.rewrite_stored(node, _catalog(), PATH, _names(node).expansions)
    assert deparse(made) == _text("SELECT lone.a, lone.lone_b FROM s.lone")
    assert deparse(node) == _text("SELECT * FROM lone")


def test_rewrite_stored_keeps_unknown_stars() -> None:
    assert deparse(rewrite.rewrite_stored(_node("SELECT * FROM t"), _catalog(), PATH)) == _text(
        "SELECT * FROM public.t"
    )


def test_rewrite_renamed_joins_statements() -> None:
    text = rewrite.rewrite_renamed("SELECT a FROM s.t; SELECT old.f(1)", _RENAMES)
    assert text == f"{_text('SELECT a FROM public.moved t')};\n{_text('SELECT new.f(1)')}"


def test_rewrite_bound() -> None:
    before = "SELECT x.a FROM (SELECT a, (SELECT u.a FROM u) AS b FROM t) AS x"
    assert rewrite.rewrite_bound(_bound(before)) == rewrite.remove_unused_columns(_bound(before)) != _bound(before)


def test_rewrite_for_engine() -> None:
    assert rewrite.rewrite_for_engine(_bound("SELECT (SELECT a + 1) AS b FROM t")) == _bound("SELECT a + 1 AS b FROM t")


def test_rewrite_checked() -> None:
    made = rewrite.rewrite_checked(_bound("SELECT one + a AS b FROM (SELECT 1 AS one) AS x, t"))
    assert made == _bound("SELECT 1 + a AS b FROM (SELECT 1 AS one) AS x, t")
