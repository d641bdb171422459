"""Stars with changes: `* EXCLUDE (a)`, `t.* REPLACE (a + 1 AS a)`, `* RENAME (a AS b)` and their combinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpudb.errors import GpudbError, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.stars import StarColumn, list_star, record_columns
from gpudb.sql.bind.name_errors import missing_table
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Expr
from gpudb.sql.parse.parser import strings
from gpudb.sql.parse.star_changes import StarChanges, read_changed_star


class ChangedColumn(NamedTuple):
    """A column of a changed star: its name, and the column or the parse node that takes its place."""

    name: str
    column: StarColumn
    replacement: Any = None


def list_changed_star(binder: Binder, scope: Scope, call: Any) -> list[ChangedColumn]:
    """Returns the columns of a call that stands for a changed star; 42703 for a name that it does not have."""
    changes = read_changed_star(call)
    columns = list_star(binder, scope, changes.star, call.location)
    for node in changes.excluded:
        columns = _exclude(binder, scope, columns, node)
    named = {each.name for each in columns}
    for name, node in changes.named:
        if name not in named:
            raise binder.locate(UndefinedColumn(f'column "{name}" does not exist'), node.location)
    _check_once(binder, changes)
    record_columns(binder, call.location, columns)
    return [
        ChangedColumn(changes.renamed.get(each.name, each.name), each, changes.replaced.get(each.name))
        for each in columns
    ]


def bind_changed_star(binder: Binder, scope: Scope, call: Any) -> list[tuple[str, Expr]]:
    """Binds a call that stands for a changed star: the names and expressions of its columns."""
    targets = []
    for each in list_changed_star(binder, scope, call):
        if each.replacement is not None:
            expr = binder.bind_expression(scope, each.replacement)
        else:
            expr = each.column.expr
            binder.accesses.select(expr)
        targets.append((each.name, expr))
    return targets


def _exclude(binder: Binder, scope: Scope, columns: Sequence[StarColumn], node: Any) -> list[StarColumn]:
    *owner, name = strings(node.fields)
    of_owner = None
    if owner:
        item = scope.resolve_relation(owner[-1], owner[-2] if len(owner) > 1 else None)
        if item is None:
            raise binder.locate(missing_table(scope, owner[-1]), node.location)
        of_owner = [expr for each, expr in item.columns if each == name]
    left = [each for each in columns if each.name != name or (of_owner is not None and each.expr not in of_owner)]
    if len(left) == len(columns):
        shown = ".".join((*owner, name))
        quoted = shown if owner else f'"{shown}"'
        raise binder.locate(UndefinedColumn(f"column {quoted} does not exist"), node.location)
    return left


def _check_once(binder: Binder, changes: StarChanges) -> None:
    seen: set[str] = set()
    for name, node in changes.named:
        if name in seen:
            error: GpudbError = SqlError.of("duplicate_column", f'column "{name}" specified more than once')
            raise binder.locate(error, node.location)
        seen.add(name)
