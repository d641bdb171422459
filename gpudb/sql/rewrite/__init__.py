"""Rewrite rules. Each is one module with one function of the same name, from tree to tree.

A rule never changes the meaning of a statement. `tests/sql/rewrite/NAME.sql` shows SQL before and after each rule.
Callers apply rules through the functions of this module. Imports sql.parse, sql.bound and the rooms below sql.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.sql.bound import Query
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import deparse, parse
from gpudb.sql.rewrite.ask_current_role import ask_current_role
from gpudb.sql.rewrite.compare_names_as_texts import compare_names_as_texts
from gpudb.sql.rewrite.expand_all import expand_all
from gpudb.sql.rewrite.expand_composed import expand_composed
from gpudb.sql.rewrite.expand_queries import expand_queries
from gpudb.sql.rewrite.expand_stars import expand_stars
from gpudb.sql.rewrite.inline_subqueries import inline_subqueries
from gpudb.sql.rewrite.move_on_to_where import move_on_to_where
from gpudb.sql.rewrite.pin_objects import pin_objects
from gpudb.sql.rewrite.pull_up_constants import pull_up_constants
from gpudb.sql.rewrite.qualify_names import qualify_names
from gpudb.sql.rewrite.remove_unused_columns import remove_unused_columns
from gpudb.sql.rewrite.rename_relations import rename_relations
from gpudb.sql.rewrite.rule import NameSource, Renames, Rule, Tree
from gpudb.sql.rewrite.select_into import select_into

RULES: tuple[Rule, ...] = (
    Rule("statement", select_into),
    Rule("stored query", expand_queries),
    Rule("stored query", expand_composed),
    Rule("stored query", expand_stars),
    Rule("stored query", expand_all),
    Rule("stored query", qualify_names),
    Rule("stored query", pin_objects),
    Rule("renamed query", rename_relations),
    Rule("bound query", remove_unused_columns),
    Rule("checked query", pull_up_constants),
    Rule("engine query", inline_subqueries),
    Rule("engine query", move_on_to_where),
    Rule("engine query", ask_current_role),
    Rule("engine query", compare_names_as_texts),
)
"""All rewrite rules, in the order in which they apply."""


def _functions(tree: Tree) -> tuple[Callable[..., Any], ...]:
    return tuple(rule.function for rule in RULES if rule.applies_to == tree)


_STATEMENT = _functions("statement")
_STORED = _functions("stored query")
_RENAMED = _functions("renamed query")
_BOUND = _functions("bound query")
_CHECKED = _functions("checked query")
_ENGINE = _functions("engine query")


def rewrite_statement(node: Any) -> Any:
    """Rewrites the parse tree of a statement before it is bound."""
    for rule in _STATEMENT:
        node = rule(node)
    return node


def rewrite_stored(
    node: Any, catalog: Catalog, search_path: tuple[str, ...], expansions: Expansions | None = None
) -> Any:
    """Returns a copy of a parse tree that means the same under any search path, for the catalog to store.

    `expansions` are what its constructs stand for; any other `*` stays.
    """
    names = NameSource(catalog, search_path, expansions or Expansions())
    for rule in _STORED:
        node = rule(node, names)
    return node


def rewrite_renamed(text: str, renames: Renames) -> str:
    """Returns the SQL text of a stored query with the objects that it names under their new names."""
    statements = []
    for statement in parse(text):
        node = statement.node
        for rule in _RENAMED:
            node = rule(node, renames)
        statements.append(deparse(node))
    return ";\n".join(statements)


def rewrite_bound(query: Query) -> Query:
    """Rewrites a bound query before it is planned or cached."""
    for rule in _BOUND:
        query = rule(query)
    return query


def rewrite_checked(query: Query) -> Query:
    """Rewrites a bound query whose constant expressions are about to be evaluated."""
    for rule in _CHECKED:
        query = rule(query)
    return query


def rewrite_for_engine(query: Query) -> Query:
    """Rewrites a bound query before an engine plans or renders it."""
    for rule in _ENGINE:
        query = rule(query)
    return query
