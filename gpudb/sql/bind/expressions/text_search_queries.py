"""Functions of full-text search over the rows of a query in a literal: ts_stat, and ts_rewrite of many targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.text_search import REWRITE_ALL
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import Call, Constant, Expr, Query, Select
from gpudb.sql.parse.parser import children, parse
from gpudb.types import SqlType

_TSQUERY = SqlType("tsquery")
_PAIRS = "SELECT ARRAY(SELECT ARRAY[t::pg_catalog.text, s::pg_catalog.text] FROM (SELECT 1) AS q(t, s))"
_STATISTICS = """
SELECT word, pg_catalog.count(*)::integer AS ndoc, pg_catalog.sum(n)::integer AS nentry
FROM (SELECT e.lexeme AS word, {entries} AS n FROM (SELECT 1) AS q(v), pg_catalog.unnest(q.v) AS e) AS entry
WHERE n > 0 GROUP BY word ORDER BY word
"""
_EVERY = "coalesce(pg_catalog.cardinality(e.positions), 1)"
_OF_WEIGHT = "coalesce(pg_catalog.cardinality(pg_catalog.array_positions(e.weights, '{weight}')), 0)"


def bind_rewrite(binder: Binder, args: Sequence[Expr]) -> Expr:
    """Binds ts_rewrite(query, 'SELECT target, substitute …'); 22023 for other columns, 0A000 for no literal."""
    text = _read_text(args[1], "ts_rewrite")
    columns = _bind(binder, text, lambda: _parse_query(text, "ts_rewrite")).columns
    if [each.type.name for each in columns] != ["tsquery", "tsquery"]:
        raise SqlError.of("invalid_parameter_value", "ts_rewrite query must return two tsquery columns")
    pairs = _bind(binder, text, lambda: _put_query(_PAIRS, text, "ts_rewrite"))
    assert isinstance(pairs, Select)
    return Call(REWRITE_ALL, (coerce(binder, args[0], _TSQUERY), pairs.targets[0]), _TSQUERY)


def bind_statistics(binder: Binder, args: Sequence[Expr]) -> Query:
    """Binds ts_stat('SELECT vector …', weights) in FROM: the words of the vectors; 22023, 0A000 for no literal."""
    text = _read_text(args[0], "ts_stat")
    columns = _bind(binder, text, lambda: _parse_query(text, "ts_stat")).columns
    if [each.type.name for each in columns] != ["tsvector"]:
        raise SqlError.of("invalid_parameter_value", "ts_stat query must return one tsvector column")
    entries = _EVERY
    if len(args) > 1:
        weights = sorted(set(_read_text(args[1], "ts_stat").upper()) & set("ABCD"))
        entries = " + ".join(_OF_WEIGHT.format(weight=each) for each in weights) or "0"
    template = _STATISTICS.format(entries=entries)
    return _bind(binder, text, lambda: _put_query(template, text, "ts_stat"))


def _bind(binder: Binder, text: str, make_tree: Callable[[], Any]) -> Query:
    with binder.bind_apart(text):
        return binder.bind_query(make_tree(), None)


def _read_text(arg: Expr, name: str) -> str:
    if not isinstance(arg, Constant) or arg.value is None:
        raise FeatureNotSupported(f"{name} of a query that is no literal is not supported")
    return str(arg.value)


def _parse_query(text: str, name: str) -> Any:
    statements = parse(text)
    if len(statements) != 1 or statements[0].kind != "SelectStmt":
        raise FeatureNotSupported(f"{name} of anything but one query is not supported")
    return statements[0].node


def _put_query(template: str, text: str, name: str) -> Any:
    """Returns the tree of a template with a query in the place of its `(SELECT 1) AS q`."""
    node: Any = parse(template)[0].node
    stack = [node]
    while stack:
        each: Any = stack.pop()
        if each.DESCRIPTOR.name == "RangeSubselect" and each.alias.aliasname == "q":
            each.subquery.select_stmt.CopyFrom(_parse_query(text, name))
            return node
        stack += children(each)
    raise AssertionError(template)
