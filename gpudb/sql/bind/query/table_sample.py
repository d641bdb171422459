"""TABLESAMPLE: a condition over random numbers, or with REPEATABLE over a hash of a row's file position.

BERNOULLI samples single rows, SYSTEM blocks of consecutive rows of a file.
"""

from __future__ import annotations

import random
from typing import Any

from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import call_function
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.query.parameter_values import read_parameter
from gpudb.sql.bind.query.sources import Source, build_source, find_relation, names_no_rows, table_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import Column, Constant, Derived, Expr, Scan, Select
from gpudb.sql.parse.parser import inner, kind, present, strings
from gpudb.types import BOOL, FLOAT4, FLOAT8, INT4, INT8, TEXT

BLOCK = 256
"""Rows of a block of SYSTEM."""


def bind_sample(binder: Binder, scope: Scope, node: Any) -> Source:
    """Binds a RangeTableSample message.

    42704 for an unknown method, 0A000 for a view, 2202H and 2202G for invalid numbers.
    """
    relation = inner(node.relation)
    table = find_relation(binder, relation.schemaname, relation.relname)
    hidden = not relation.schemaname and (
        scope.resolve_cte(relation.relname) is not None or relation.relname in binder.frames
    )
    if hidden or not isinstance(table, Table) or table.kind == "f":
        message = "TABLESAMPLE clause can only be applied to tables and materialized views"
        raise binder.locate(FeatureNotSupported(message), relation.location)
    method = strings(node.method)[-1]
    if method not in {"bernoulli", "system"}:
        raise binder.locate(UndefinedObject(f"tablesample method {method} does not exist"), node.location)
    if len(node.args) != 1:
        message = f"tablesample method {method} requires 1 argument, not {len(node.args)}"
        raise binder.locate(SqlError.of("invalid_tablesample_argument", message), node.location)
    percent = _bind_number(binder, scope, node.args[0], "invalid_tablesample_argument", "TABLESAMPLE parameter")
    if not 0 <= percent <= 100:
        message = "sample percentage must be between 0 and 100"
        raise SqlError.of("invalid_tablesample_argument", message, position=0)
    seed: float | None = None
    if present(node.repeatable):
        seed = _bind_number(
            binder, scope, node.repeatable, "invalid_tablesample_repeat", "TABLESAMPLE REPEATABLE parameter"
        )
    elif method == "system":
        seed, binder.cacheable = random.random(), False
    inside, rel = binder.new_rel(), binder.new_rel()
    scan = Scan(inside, table, row_ids=seed is not None, only_reads=True)
    columns = table_columns(table)
    names = [column.name for column in columns]
    binder.accesses.add_columns(inside, binder.accesses.add_relation(table, "r", rel, names), names)
    rows = tuple(Column(inside, index, column.type, column.name) for index, column in enumerate(columns))
    block = BLOCK if method == "system" else 1
    condition = (
        is_drawn(binder, percent)
        if seed is None
        else _sample_by_hash(binder, inside, len(columns), percent, seed, block)
    )
    if names_no_rows(table, relation):
        condition = Constant(False, BOOL)
    query = Select(columns, rows, scan, condition)
    alias = relation.alias if relation.HasField("alias") else None
    return build_source(binder, rel, Derived(rel, query), columns, relation.relname, alias, table.schema)


def _bind_number(binder: Binder, scope: Scope, node: Any, condition: str, what: str) -> float:
    kind_of_share = FLOAT8 if condition == "invalid_tablesample_repeat" else FLOAT4
    place, given = (inner(node).arg, inner(node).type_name) if kind(node) == "type_cast" else (node, None)
    if kind(place) == "param_ref" and binder.arguments is None:
        type_ = kind_of_share if given is None else resolve_value_type(given, binder)
        value = read_parameter(binder, inner(place).number, type_, f"{what} has")
        if value is None:
            raise SqlError.of(condition, f"{what} cannot be null", position=0)
        return float(value)
    level = Scope(parent=scope.parent, ctes=scope.ctes, clause="FROM")
    expr = coerce(binder, bind_expression(binder, level, node), FLOAT8)
    if not isinstance(expr, Constant):
        raise FeatureNotSupported(f"{what} that is not constant is not supported")
    if expr.value is None:
        raise SqlError.of(condition, f"{what} cannot be null", position=0)
    assert isinstance(expr.value, float)
    return expr.value


def is_drawn(binder: Binder, percent: float) -> Expr:
    """Returns a condition that is true for a share of the rows, by chance."""
    return apply_operator(binder, "<", call_function(binder, "random", ()), Constant(percent / 100, FLOAT8))


def _sample_by_hash(binder: Binder, rel: int, width: int, percent: float, seed: float, block: int) -> Expr:
    """Returns whether the first 32 bits of a digest of file, row and seed are below the sampled share."""
    row = apply_operator(binder, "/", Column(rel, width + 1, INT8, "row"), Constant(block, INT8))
    place = apply_operator(binder, "||", Column(rel, width, TEXT, "file"), Constant(f" {seed} ", TEXT))
    digest = call_function(binder, "md5", (apply_operator(binder, "||", place, coerce(binder, row, TEXT, "e")),))
    return is_below_share(binder, digest, percent)


def is_below_share(binder: Binder, digest: Expr, percent: float) -> Expr:
    """Returns a condition that is true for a share of the hexadecimal texts of a hash."""
    head = call_function(binder, "left", (digest, Constant(8, INT4)))
    # g sorts behind every digit: all rows
    share = "g" if percent == 100 else f"{int(percent / 100 * 2**32):08x}"
    return apply_operator(binder, "<", head, Constant(share, TEXT))
