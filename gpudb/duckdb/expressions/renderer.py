"""The renderer of bound expressions as DuckDB SQL: values, keys, sort keys and operands of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from gpudb.duckdb.literals import display_scale, quote_literal, render_literal, render_range
from gpudb.duckdb.rendered_sql import RenderedSql, pack, unpack
from gpudb.errors import FeatureNotSupported
from gpudb.functions import equality
from gpudb.functions.registry import (
    MISSING,
    Function,
    Operands,
    fill_template,
    get_implementation,
    get_wide_implementation,
)
from gpudb.sql import bound
from gpudb.type_dispatch import dispatch_on_type
from gpudb.types import BYTEA, SqlType
from gpudb.values.range import Range, pack_scales
from gpudb.values.wide_numerics import encode_numeric


@dataclass(slots=True)
class ExpressionRenderer:
    """Renders expressions; `session_values` are the results of session functions.

    `grouped` are the GROUP BY keys whose equal values may have several representations: an aggregate must choose one.
    With `narrow` aggregates multiply decimals in 64 bits. `domain_value` is the value that a domain's checks apply to.
    `check_cancel` raises if the statement is canceled. With `lazy` AND and OR evaluate no more operands than they need,
    as filters do by themselves. `slot` returns the SQL of a parameter whose value is written later, else None.
    """

    render_column: Callable[[bound.Column], str]
    render_query: Callable[[bound.Query], str]
    parameters: Sequence[object] = ()
    session_values: Mapping[str, object] = field(default_factory=dict)
    grouped: tuple[bound.Expr, ...] = ()
    has_grouping_sets: bool = False
    narrow: bool = False
    domain_value: str = ""
    check_cancel: Callable[[], None] = lambda: None
    lazy: bool = False
    slot: Callable[[bound.Parameter], str | None] | None = None

    def render(self, expr: bound.Expr) -> RenderedSql:
        """Renders an expression's value and display scale."""
        self.check_cancel()
        if self.grouped and expr in self.grouped:
            value, scale = render_by_kind(self, expr)
            if expr.type.is_carried:
                return RenderedSql(value, f"max({scale})")
            shown = f"first({value})"
            return RenderedSql(
                f"(CASE WHEN GROUPING({equality.render_equality_key(value, expr.type)}) = 0 THEN {shown} END)"
                if self.has_grouping_sets
                else shown
            )
        return render_by_kind(self, expr)

    def render_value(self, expr: bound.Expr) -> str:
        """Renders the value alone, for comparisons, conditions and keys."""
        return self.render(expr).value

    def render_key(self, expr: bound.Expr) -> str:
        """Renders a key that is equal for equal values, for grouping, joins and DISTINCT."""
        return equality.render_equality_key(self.render_value(expr), expr.type)

    def render_packed(self, expr: bound.Expr) -> str:
        """Renders the expression as one value of `SqlType.duckdb`, as query outputs need it."""
        sql = self.render(expr)
        return pack(sql, expr.type) if expr.type.is_carried else sql.value

    def render_operands(
        self,
        args: Sequence[bound.Expr],
        result: SqlType,
        call: Callable[..., str] | None = None,
        *,
        compared: bool = False,
    ) -> Operands:
        """Renders arguments into the operands of a function's template.

        Templates may look at literals in their operands, except those of comparisons: only for these, which `compared`
        says, are parameters shown as slots.
        """
        inside = self if compared or self.slot is None else replace(self, slot=None)
        parts = [inside.render(arg) for arg in args]
        constants = tuple(arg.value if isinstance(arg, bound.Constant) else MISSING for arg in args)
        operands = Operands(
            tuple(each.value for each in parts),
            tuple(each.scale for each in parts),
            tuple(a.type for a in args),
            constants,
            result,
        )
        if call is None:
            return operands
        return Operands(operands.sql, operands.scales, operands.types, operands.constants, operands.result, call)

    def apply_function(self, function: Function, operands: Operands) -> RenderedSql:
        """Applies a function to rendered operands."""
        how = get_implementation(function)
        if function.strict and function.kind == "f" and any(value is None for value in operands.constants):
            result_type = operands.result
            return RenderedSql(
                f"CAST(NULL AS {f'{result_type.duckdb}[]' if function.returns_set else result_type.duckdb_value})"
            )
        if how.duckdb is None:
            raise FeatureNotSupported(f"function {function} is not supported here")
        how = get_wide_implementation(function, operands.types, operands.result) or how
        assert how.duckdb is not None
        value = fill_template(how.duckdb, operands)
        if function.returns_set:
            return RenderedSql(value)
        if operands.result.is_carried and how.scale is not None:
            return RenderedSql(value, fill_template(how.scale, operands))
        if operands.result.is_carried:
            return unpack(value, operands.result)
        return RenderedSql(value, str(operands.result.numeric_digits[1]) if operands.result.name == "numeric" else "0")

    def render_sort_keys(self, keys: Sequence[bound.SortKey]) -> str:
        """Renders ORDER BY items, with NULLS FIRST or LAST explicit."""
        return ", ".join(
            equality.render_sort_key(self.render_value(key.expr), key.expr.type)
            + sort_direction(key.descending, key.nulls_first)
            for key in keys
        )

    def render_constant(self, value: object, item: SqlType) -> RenderedSql:
        """Renders a constant of a type."""
        if item.name == "numrange":
            sql = render_range(value, item) if isinstance(value, Range) else f"CAST(NULL AS {item.duckdb_value})"
            return RenderedSql(sql, str(pack_scales(value)) if isinstance(value, Range) else "0")
        if item.wide and item.name == "numeric":
            if not isinstance(value, Decimal):
                return RenderedSql("CAST(NULL AS BLOB)")
            key, scale = encode_numeric(value)
            return RenderedSql(render_literal(key, BYTEA), str(scale))
        if item.name == "numeric" and item.is_carried:
            decimal = SqlType("numeric", -1, item.numeric_digits)
            return RenderedSql(render_literal(value, decimal), str(display_scale(value)))
        if isinstance(value, str) and item.name.startswith("reg"):
            return RenderedSql(f"pg_to_{item.name}({quote_literal(value)})")
        return RenderedSql(render_literal(value, item), str(item.numeric_digits[1]) if item.name == "numeric" else "0")


@dispatch_on_type
def render_by_kind(renderer: Any, expr: Any) -> RenderedSql:
    """Renders an expression by the function that is registered for its class."""
    raise FeatureNotSupported(f"{type(expr).__name__} expressions are not supported here")


def sort_direction(descending: bool, nulls_first: bool) -> str:
    """Renders the direction of a sort key."""
    return f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
