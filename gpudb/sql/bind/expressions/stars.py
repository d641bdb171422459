"""`t.*` and `(row).*`: expanded to columns in lists, a row as a single value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import records
from gpudb.sql.bind.expressions.indirection import bind_indirection
from gpudb.sql.bind.name_errors import missing_table
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import Expr
from gpudb.sql.parse.parser import inner, kind, strings


def bind_relation_row(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds `t.*` as a single value: the relation's row, like its bare name."""
    *schema, alias = strings(node.fields[:-1]) or ("",)
    if not alias:
        raise FeatureNotSupported('row expansion via "*" is not supported here')
    item = scope.resolve_relation(alias, schema[-1] if schema else None)
    if item is None:
        record = binder.arguments.whole(alias) if binder.arguments is not None else None
        if record is not None:
            return record
        raise missing_table(scope, alias)
    return records.bind_whole_row(binder, item)


def bind_list(binder: Binder, scope: Scope, nodes: Sequence[Any]) -> list[tuple[Any, Expr]]:
    """Binds the expressions of ROW (…) or a list of VALUES, each with its node; stars are expanded."""
    result: list[tuple[Any, Expr]] = []
    for each in nodes:
        spread = expand_star(binder, scope, each)
        result += [(each, binder.bind_expression(scope, each))] if spread is None else [(each, e) for _, e in spread]
    return result


def record_star(binder: Binder, columns: Sequence[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """Returns the columns of a star and records that they are read."""
    for _, expr in columns:
        binder.accesses.select(expr)
    return list(columns)


def expand_star(binder: Binder, scope: Scope, node: Any) -> list[tuple[str, Expr]] | None:
    """Returns the names and expressions that `t.*` or `(row).*` expands to; None for any other node."""
    if kind(node) == "column_ref" and kind(inner(node).fields[-1]) == "a_star":
        names = strings(inner(node).fields[:-1])
        if not names:
            return record_star(binder, scope.columns)
        item = scope.resolve_relation(names[-1], names[-2] if len(names) > 1 else None)
        if item is None:
            record = binder.arguments.whole(names[-1]) if binder.arguments is not None else None
            if record is not None:
                return _fields_of(record)
            raise binder.locate(missing_table(scope, names[-1]), inner(node).location)
        return record_star(binder, item.columns)
    if kind(node) != "a_indirection" or kind(inner(node).indirection[-1]) != "a_star":
        return None
    shorter = type(inner(node))()
    shorter.CopyFrom(inner(node))
    del shorter.indirection[-1]
    result = bind_indirection(binder, scope, shorter)
    if not is_row(result.type) or not result.type.fields:
        raise SqlError.of("wrong_object_type", f"type {result.type} is not composite")
    return _fields_of(result)


class StarColumn(NamedTuple):
    """A column of a star: its name, its expression, and the qualified name of its only relation, if it has one."""

    name: str
    expr: Expr
    owner: tuple[str, ...]


def bind_star(binder: Binder, scope: Scope, node: Any) -> list[tuple[str, Expr]]:
    """Binds the ColumnRef message of a star in a select list."""
    columns = list_star(binder, scope, node, node.location)
    record_columns(binder, node.location, columns)
    return record_star(binder, [(each.name, each.expr) for each in columns])


def list_star(binder: Binder, scope: Scope, node: Any | None, location: int) -> list[StarColumn]:
    """Returns the columns of the ColumnRef message of a star, or of one without qualifiers."""
    names = () if node is None else strings(node.fields[:-1])
    if not names:
        if not scope.items and not scope.columns:
            error = SqlError.of("syntax_error", "SELECT * with no tables specified is not valid")
            raise binder.locate(error, location)
        return [StarColumn(name, expr, _find_owner(scope, name, expr)) for name, expr in scope.columns]
    try:
        item = scope.resolve_relation(names[-1], names[-2] if len(names) > 1 else None)
        if item is None:
            raise missing_table(scope, names[-1])
    except GpudbError as error:
        raise binder.locate(error, location) from None
    return [StarColumn(name, expr, names) for name, expr in item.columns]


def _find_owner(scope: Scope, name: str, expr: Expr) -> tuple[str, ...]:
    """Returns the qualified name of a column's only relation; () for a column that a join merged."""
    owners = [item for item in scope.items if item.alias and (name, expr) in item.columns]
    if len(owners) != 1:
        return ()
    alone = sum(item.alias == owners[0].alias for item in scope.items) == 1
    return (owners[0].alias,) if alone or owners[0].schema is None else (owners[0].schema, owners[0].alias)


def record_columns(binder: Binder, location: int, columns: Sequence[StarColumn]) -> None:
    """Records the columns of a star; one whose columns cannot be told apart by name is not recorded."""
    names = tuple((*each.owner, each.name) for each in columns)
    if binder.expansions is not None and len(set(names)) == len(names):
        binder.expansions.stars[location] = names


def _fields_of(row: Expr) -> list[tuple[str, Expr]]:
    return [(name, records.get_field(row, index)) for index, (name, _) in enumerate(row.type.fields)]
