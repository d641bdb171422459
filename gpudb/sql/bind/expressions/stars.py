"""`t.*` and `(row).*`: expanded to columns in lists, a row as a single value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
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


def _fields_of(row: Expr) -> list[tuple[str, Expr]]:
    return [(name, records.get_field(row, index)) for index, (name, _) in enumerate(row.type.fields)]
