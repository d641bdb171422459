"""WHEN conditions of triggers: boolean expressions over the rows OLD and NEW."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Columns, NamespaceItem, Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import NEW_ROWS, Column, Expr, FrameScan, OutputColumn, Select
from gpudb.sql.parse.parser import children
from gpudb.types import BOOL
from gpudb.values.datetime_style import use_style

_CLAUSE = "trigger WHEN conditions"


def bind_trigger_condition(binder: Binder, relation: Table, node: Any, rel: int) -> Expr:
    """Binds a WHEN condition (a Node) over relation `rel`: the columns of NEW, then those of OLD."""
    if (subquery := _find_subquery(node)) is not None:
        error = FeatureNotSupported("cannot use subquery in trigger WHEN condition")
        raise binder.locate(error, subquery.location)
    scope = Scope(clause=_CLAUSE)
    width = len(relation.columns)
    row = get_row_type(relation)
    for alias, first in (("old", width), ("new", 0)):
        columns: Columns = tuple(
            (column.name, Column(rel, first + place, column.type, column.name))
            for place, column in enumerate(relation.columns)
        )
        scope.add((NamespaceItem(alias, columns, row_type=row),), columns)
    scope.rels.add(rel)
    return coerce_condition(binder, bind_expression(binder, scope, node), "WHEN")


def list_frame_columns(relation: Table) -> tuple[OutputColumn, ...]:
    """Returns the columns of the frame over which a condition is computed: those of NEW, then those of OLD."""
    return tuple(
        OutputColumn(f"{side}{place}", column.type)
        for side in ("new", "old")
        for place, column in enumerate(relation.columns)
    )


@use_style()
def build_condition_query(binder: Binder, relation: Table, condition: str, *, for_each_row: bool) -> Select:
    """Returns the query for whether the condition holds, for each row of the frame NEW_ROWS in order."""
    rel = binder.new_rel()
    with binder.bind_stored():
        test = bind_trigger_condition(binder, relation, parse_expression(condition), rel)
    source = FrameScan(rel, NEW_ROWS, list_frame_columns(relation)) if for_each_row else None
    return Select((OutputColumn("holds", BOOL),), (test,), source)


def _find_subquery(message: Any) -> Any:
    if message.DESCRIPTOR.name == "SubLink":
        return message
    for each in children(message):
        if (found := _find_subquery(each)) is not None:
            return found
    return None
