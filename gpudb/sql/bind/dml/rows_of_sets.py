"""INSERT … VALUES of one row with set-returning functions, which PostgreSQL computes as a select list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.functions.library import functions_by_name
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.routines import find_routines
from gpudb.sql.parse.parser import children, inner, kind, strings


def select_sets(binder: Binder, source: Any) -> Any | None:
    """Returns the SELECT of a row of VALUES (a SelectStmt message) that may call set-returning functions.

    None for several rows, where none are allowed, for a row with DEFAULT, and for one without such calls.
    """
    if len(source.values_lists) != 1:
        return None
    items = inner(source.values_lists[0]).items
    if any(kind(each) == "set_to_default" for each in items):
        return None
    if not any(_may_return_set(binder, strings(call.funcname)) for each in items for call in _find_calls(each)):
        return None
    result = pg.SelectStmt(op=pg.SETOP_NONE, limit_option=pg.LIMIT_OPTION_DEFAULT)
    for each in items:
        result.target_list.add().res_target.val.CopyFrom(each)
    return result


def _may_return_set(binder: Binder, names: tuple[str, ...]) -> bool:
    if any(function.returns_set for function in functions_by_name().get(names[-1], ())):
        return True
    return any(routine.returns_set for routine in find_routines(binder, names))


def _find_calls(node: Any) -> Iterator[Any]:
    """Yields the FuncCall messages of an expression, without those of its subqueries."""
    if node.DESCRIPTOR.name == "SubLink":
        return
    if node.DESCRIPTOR.name == "FuncCall":
        yield node
    for each in children(node):
        yield from _find_calls(each)
