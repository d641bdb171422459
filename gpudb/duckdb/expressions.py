"""Bound expressions as DuckDB SQL.

A numeric is rendered as two SQL expressions: its decimal, and the number of decimals that PostgreSQL displays. They are
packed into one struct only where a carried numeric leaves an expression (an output column, an array element).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from gpudb.duckdb import aggregate_frames, array_assignment
from gpudb.duckdb.dispatch import dispatch_on_type
from gpudb.duckdb.distinct_aggregates import needs_value_list, render_distinct
from gpudb.duckdb.literals import display_scale, quote_literal, render_literal, render_range
from gpudb.duckdb.rendered_sql import RenderedSql, pack, unpack
from gpudb.errors import FeatureNotSupported
from gpudb.functions import comparison, equality
from gpudb.functions.casts import cast
from gpudb.functions.dimensions import flatten, gather_arrays, render_slices, stack_arrays
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.numeric import NARROW
from gpudb.functions.records import pack_record
from gpudb.functions.registry import MISSING, Function, Operands, fill_template, get_implementation
from gpudb.functions.text import get_name_byte
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import is_volatile, outer_columns, reads_columns, walk
from gpudb.types import SqlType
from gpudb.values.range import Range, pack_scales


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
            value, scale = self._dispatch(expr)
            if expr.type.is_carried:
                return RenderedSql(value, f"max({scale})")
            shown = f"first({value})"
            return RenderedSql(
                f"(CASE WHEN GROUPING({equality.render_equality_key(value, expr.type)}) = 0 THEN {shown} END)"
                if self.has_grouping_sets
                else shown
            )
        return self._dispatch(expr)

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

    @dispatch_on_type
    def _dispatch(self, expr: Any) -> RenderedSql:
        raise FeatureNotSupported(f"{type(expr).__name__} expressions are not supported here")

    @_dispatch.register
    def _(self, expr: bound.Let) -> RenderedSql:
        fields = ", ".join(f"c{n} := {self.render_packed(value)}" for n, value in enumerate(expr.values, 1))
        sql = f"list_transform([struct_pack({fields})], lambda let{-expr.rel}: {self.render_packed(expr.body)})[1]"
        return unpack(sql, expr.type)

    @_dispatch.register
    def _(self, expr: bound.Fold) -> RenderedSql:
        state, array = expr.type.duckdb, expr.rows.type
        assert array.element is not None
        row = array.element.duckdb
        sql = f"list_transform(coalesce({self.render_value(expr.rows)}, []), lambda pg_row: "
        # list_reduce needs one type for state and rows: a struct holds both
        sql += f"struct_pack(c1 := CAST(NULL AS {state}), c2 := CAST(pg_row AS {row})))"
        start = f"struct_pack(c1 := CAST({self.render_packed(expr.initial)} AS {state}), c2 := CAST(NULL AS {row}))"
        step = f"struct_pack(c1 := CAST({self.render_packed(expr.body)} AS {state}), c2 := CAST(NULL AS {row}))"
        fold = f"list_reduce({sql}, lambda let{-expr.rel}, let{-expr.item}: {step}, {start}).c1"
        return unpack(fold, expr.type)

    @_dispatch.register
    def _(self, expr: bound.Column) -> RenderedSql:
        if expr.rel < 0:
            # in parentheses: without them DuckDB takes it for a column in HAVING
            return unpack(f"(let{-expr.rel}).c{expr.index + 1}", expr.type)
        return unpack(self.render_column(expr), expr.type)

    @_dispatch.register
    def _(self, expr: bound.Constant) -> RenderedSql:
        return self._constant(expr.value, expr.type)

    @_dispatch.register
    def _(self, expr: bound.Parameter) -> RenderedSql:
        slot = None if self.slot is None else self.slot(expr)
        if slot is not None:
            return RenderedSql(slot, str(expr.type.numeric_digits[1]) if expr.type.name == "numeric" else "0")
        return self._constant(self.parameters[expr.number - 1], expr.type)

    def _constant(self, value: object, item: SqlType) -> RenderedSql:
        if item.name == "numrange":
            sql = render_range(value, item) if isinstance(value, Range) else f"CAST(NULL AS {item.duckdb_value})"
            return RenderedSql(sql, str(pack_scales(value)) if isinstance(value, Range) else "0")
        if item.name == "numeric" and item.is_carried:
            decimal = SqlType("numeric", -1, item.numeric_digits)
            return RenderedSql(render_literal(value, decimal), str(display_scale(value)))
        if isinstance(value, str) and item.name.startswith("reg"):
            return RenderedSql(f"pg_to_{item.name}({quote_literal(value)})")
        return RenderedSql(render_literal(value, item), str(item.numeric_digits[1]) if item.name == "numeric" else "0")

    @_dispatch.register
    def _(self, expr: bound.Cast) -> RenderedSql:
        value, scale = self.render(expr.arg)
        return RenderedSql(*cast(value, scale, expr.arg.type, expr.type, expr.explicit))

    @_dispatch.register
    def _(self, expr: bound.Constrained) -> RenderedSql:
        domain = expr.type.domain

        def checked(value: str) -> str:
            inside = replace(self, domain_value=value)
            whens = []
            if expr.not_null:
                message = quote_literal(f"domain {domain} does not allow null values")
                given = unpack(value, expr.type).value
                whens.append(f"{given} IS NULL THEN {render_error('23502', message, expr.type.duckdb)}")
            for constraint, check in expr.checks:
                message = quote_literal(f'value for domain {domain} violates check constraint "{constraint}"')
                whens.append(
                    f"NOT {inside.render_value(check)} THEN {render_error('23514', message, expr.type.duckdb)}"
                )
            return f"(CASE WHEN {' WHEN '.join(whens)} ELSE {value} END)"

        return unpack(bind_values(checked, self.render_packed(expr.arg)), expr.type)

    @_dispatch.register
    def _(self, expr: bound.DomainValue) -> RenderedSql:
        return unpack(self.domain_value, expr.type)

    # -------------------------------------------------------------------------------------------- logic

    @_dispatch.register
    def _(self, expr: bound.BoolOp) -> RenderedSql:
        parts = [self.render_value(arg) for arg in expr.args]
        if expr.op == "NOT":
            return RenderedSql(f"(NOT {parts[0]})")
        if self.lazy and _needs_case(expr.args, parts):
            return RenderedSql(_bool_op_by_case(parts, expr.op))
        return RenderedSql(f"({f' {expr.op} '.join(parts)})")

    @_dispatch.register
    def _(self, expr: bound.Test) -> RenderedSql:
        if expr.what == "NULL":
            return RenderedSql(f"({self.render_value(expr.arg)} IS {'NOT ' if expr.negated else ''}NULL)")
        differs = "DISTINCT" if expr.negated else "NOT DISTINCT"
        return RenderedSql(f"({self.render_value(expr.arg)} IS {differs} FROM {expr.what.lower()})")

    @_dispatch.register
    def _(self, expr: bound.DistinctFrom) -> RenderedSql:
        symbol = f"IS {'NOT ' if expr.negated else ''}DISTINCT FROM"
        left, right, kinds = (
            self.render_value(expr.left),
            self.render_value(expr.right),
            (expr.left.type, expr.right.type),
        )
        return RenderedSql(
            comparison.compare_numbers(symbol, *equality.normalize_operands(left, right, *kinds), *kinds)
        )

    @_dispatch.register
    def _(self, expr: bound.Case) -> RenderedSql:
        rendered = [(self.render_value(when), self.render(then)) for when, then in expr.branches]
        last = self.render(expr.default)
        value = "".join(f" WHEN {when} THEN {then.value}" for when, then in rendered)
        sql = f"(CASE{value} ELSE {last.value} END)"
        if not expr.type.is_carried:
            return unpack(sql, expr.type)
        scale = "".join(f" WHEN {when} THEN {then.scale}" for when, then in rendered)
        return RenderedSql(sql, f"(CASE{scale} ELSE {last.scale} END)")

    @_dispatch.register
    def _(self, expr: bound.Choice) -> RenderedSql:
        rendered = [self.render(arg) for arg in expr.args]
        own = not expr.type.is_carried and equality.has_many_representations(expr.type)
        if (own or expr.type.name == "interval") and expr.op != "COALESCE":
            # DuckDB compares an interval's months first, then its days: there 1 month is more than 40 days
            values = [each.value for each in rendered]
            return RenderedSql(_greatest_or_least(values, ">" if expr.op == "GREATEST" else "<", expr.type))
        values = [each.value for each in rendered]
        if expr.op == "COALESCE":
            sql = f"coalesce({', '.join(values)})"
        else:
            # By pairs: DuckDB 2.0 names further arguments by their columns, and fails to copy a plan with equal names.
            sql = reduce(lambda one, other: f"{expr.op.lower()}({one}, {other})", values)
        if expr.op == "COALESCE" and _needs_case(expr.args, values):
            sql = _coalesce_by_case(values)
        elif expr.op == "COALESCE" and _starts_with_constant(expr):
            # DuckDB 2.0 fails to bind a comparison that it folds to a constant only after it has bound the coalesce
            sql = f"(CASE WHEN true THEN {rendered[0].value} ELSE {sql} END)"
        if not expr.type.is_carried:
            return unpack(sql, expr.type)
        if expr.op == "COALESCE":
            whens = "".join(f" WHEN {each.value} IS NOT NULL THEN {each.scale}" for each in rendered)
        else:
            whens = "".join(f" WHEN {each.value} = {sql} THEN {each.scale}" for each in rendered)
        return RenderedSql(sql, f"(CASE{whens} END)")

    @_dispatch.register
    def _(self, expr: bound.InList) -> RenderedSql:
        if any(comparison.is_integral_beyond_int128(expr.arg.type, item.type) for item in expr.items):
            arg, kind = self.render_value(expr.arg), expr.arg.type
            each = (
                comparison.compare_numbers("=", arg, self.render_value(item), kind, item.type) for item in expr.items
            )
            return RenderedSql(f"({'NOT ' if expr.negated else ''}({' OR '.join(each)}))")
        items = ", ".join(self.render_key(item) for item in expr.items)
        return RenderedSql(f"({self.render_key(expr.arg)} {'NOT ' if expr.negated else ''}IN ({items}))")

    # -------------------------------------------------------------------------------------------- calls

    def render_operands(
        self, args: Sequence[bound.Expr], result: SqlType, call: Callable[..., str] | None = None
    ) -> Operands:
        """Renders arguments into the operands of a function's template."""
        parts = [self.render(arg) for arg in args]
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
        value = fill_template(how.duckdb, operands)
        if function.returns_set:
            return RenderedSql(value)
        if operands.result.is_carried and how.scale is not None:
            return RenderedSql(value, fill_template(how.scale, operands))
        if operands.result.is_carried:
            return unpack(value, operands.result)
        return RenderedSql(value, str(operands.result.numeric_digits[1]) if operands.result.name == "numeric" else "0")

    def _constant_value(self, expr: bound.Expr) -> object:
        """Returns the value of a constant expression, or MISSING."""
        if isinstance(expr, bound.Constant):
            return expr.value
        if isinstance(expr, bound.Parameter):
            return self.parameters[expr.number - 1]
        if isinstance(expr, bound.Cast) and expr.type.modifier == -1:
            same = expr.type.name in _TEXTS and expr.arg.type.name in _TEXTS
            return self._constant_value(expr.arg) if same else MISSING
        return MISSING

    @_dispatch.register
    def _(self, expr: bound.Call) -> RenderedSql:
        how = get_implementation(expr.function)
        # A session function is evaluated beforehand; over columns only if its template can look the value up.
        constants = tuple(self._constant_value(arg) for arg in expr.args) if how.session is not None else ()
        if how.session is not None and (MISSING not in constants or how.duckdb is None):
            maker = self.session_values.get(how.session, MISSING)
            if maker is MISSING:
                raise FeatureNotSupported(f"function {expr.function} is not supported here")
            return self._constant(maker(*constants) if callable(maker) else maker, expr.type)
        operands = self.render_operands(expr.args, expr.type)
        if expr.function.name in _FLOATS_EQUAL and not any(isinstance(each, _CONSTANTS) for each in expr.args):
            operands = replace(operands, sql=(_hide_equality(operands.sql[0]), *operands.sql[1:]))
        return self.apply_function(expr.function, operands)

    @_dispatch.register
    def _(self, expr: bound.AnyArray) -> RenderedSql:
        left = self.render(expr.left)
        array = flatten(self.render_value(expr.array), expr.array.type)
        if "SELECT " in left.value + array and "SELECT " not in left.scale:
            # DuckDB has no subqueries in lambdas: the array's elements are compared with the result. An array that a
            # subquery makes is mentioned several times.
            bound_once = f"list_transform([struct_pack(x0 := {left.value}, x1 := {array})], lambda pg_operands: "
            compared = self._compare_with_elements(expr, left._replace(value="(pg_operands).x0"), "(pg_operands).x1")
            return RenderedSql(f"{bound_once}{compared})[1]")
        return RenderedSql(self._compare_with_elements(expr, left, array))

    def _compare_with_elements(self, expr: bound.AnyArray, left: RenderedSql, array: str) -> str:
        element = expr.array.type.element or SqlType("oid")
        aggregate = "list_bool_and" if expr.all else "list_bool_or"
        item = "pg_item"
        parts = unpack(item, element)
        operands = Operands(
            (left.value, parts.value),
            (left.scale, parts.scale),
            (expr.left.type, element),
            (MISSING, MISSING),
            expr.type,
        )
        test = self.apply_function(expr.function, operands).value
        # DuckDB's list aggregate is NULL for an empty array where SQL requires the neutral value.
        neutral = "true" if expr.all else "false"
        tested = f"list_transform({array}, lambda {item}: {test})"
        known = f"{aggregate}({tested})"
        nulls = f"len(list_filter({tested}, lambda {item}: {item} IS NULL)) > 0"
        unknown = f"(CASE WHEN {known} IS NOT DISTINCT FROM {neutral} AND {nulls} THEN NULL"
        return (
            f"(CASE WHEN {array} IS NULL THEN NULL WHEN len({array}) = 0 THEN {neutral}"
            f" ELSE {unknown} ELSE {known} END) END)"
        )

    @_dispatch.register
    def _(self, expr: bound.Array) -> RenderedSql:
        sql = f"CAST([{', '.join(self.render_packed(item) for item in expr.items)}] AS {expr.type.duckdb})"
        return RenderedSql(sql if _has_known_shape(expr) else stack_arrays(sql, expr.type))

    @_dispatch.register
    def _(self, expr: bound.Subscript) -> RenderedSql:
        array = self.render_value(expr.arg)
        if expr.slice:
            return RenderedSql(self._render_slice(array, expr))
        high = self.render_value(expr.high) if expr.high is not None else None
        if expr.arg.type.name == "name":
            return RenderedSql(bind_values(get_name_byte, array, str(high)))
        # PostgreSQL's arrays start at 1; vectors of the system catalog start at 0.
        index = f"({high} + 1)" if expr.arg.type.name in {"int2vector", "oidvector"} else high
        sql = f"(CASE WHEN {index} > 0 THEN list_extract({array}, {index}) END)"
        return unpack(sql, expr.type)

    def _render_slice(self, array: str, expr: bound.Subscript) -> str:
        bounds = ((expr.low, expr.high), *expr.inner)
        given = [tuple(None if each is None else self.render_value(each) for each in pair) for pair in bounds]
        return render_slices(array, expr.type, given)

    @_dispatch.register
    def _(self, expr: bound.ArrayAssignment) -> RenderedSql:
        array = self.render_value(expr.arg)
        bounds = [self.render_value(each) if each is not None else None for each in expr.high]
        if expr.slice:
            low = self.render_value(expr.low) if expr.low is not None else None
            return RenderedSql(
                array_assignment.assign_slice(array, low, bounds[0], self.render_value(expr.replacement), expr.type)
            )
        places = [each for each in bounds if each is not None]
        return RenderedSql(
            array_assignment.assign_element(array, places, self.render_packed(expr.replacement), expr.type)
        )

    @_dispatch.register
    def _(self, expr: bound.JsonbAssignment) -> RenderedSql:
        path = ", ".join(f"CAST({self.render_value(each)} AS VARCHAR)" for each in expr.path)
        start = "'[]'" if expr.numbered else "'{}'"
        given = f"coalesce({self.render_value(expr.replacement)}, 'null')"
        return RenderedSql(f"pg_jsonb_assign(coalesce({self.render_value(expr.arg)}, {start}), [{path}], {given})")

    @_dispatch.register
    def _(self, expr: bound.Field) -> RenderedSql:
        return unpack(f"struct_extract_at({self.render_value(expr.arg)}, {expr.index + 1})", expr.type)

    @_dispatch.register
    def _(self, expr: bound.Row) -> RenderedSql:
        return RenderedSql(pack_record([self.render_packed(item) for item in expr.items], expr.type))

    # -------------------------------------------------------------------------------------------- aggregates

    @_dispatch.register
    def _(self, expr: bound.Aggregate) -> RenderedSql:
        inner = replace(self, grouped=())  # an aggregate's arguments are per row, whether grouped by or not
        keys = expr.order_by or expr.within_group
        sorts = aggregate_frames.guard_arguments([key.expr for key in expr.order_by], expr.filter)
        order_by = [replace(key, expr=each) for key, each in zip(expr.order_by, sorts, strict=True)]
        order = f" ORDER BY {inner.render_sort_keys(order_by)}" if order_by else ""
        keep = f" FILTER (WHERE {inner.render_value(expr.filter)})" if expr.filter is not None else ""
        distinct = "DISTINCT " if expr.distinct else ""

        def call(name: str, *given: str) -> str:
            sort = order
            if expr.distinct and name not in {"list", "string_agg"}:
                sort = ""
            elif expr.distinct and (not order_by or (len(order_by) == 1 and order_by[0].expr == args[0])):
                # PostgreSQL sorts to find distinct values, and an aggregate that lists them shows that order
                by = sort_direction(order_by[0].descending, order_by[0].nulls_first) if order_by else " ASC NULLS LAST"
                sort = f" ORDER BY {given[0]}{by}"
            return f"{name}({distinct}{', '.join(given)}{sort}){keep}"

        if expr.within_group:  # its direct arguments are outside the aggregate
            args = (
                *expr.args,
                *aggregate_frames.guard_arguments(tuple(key.expr for key in expr.within_group), expr.filter),
            )
        else:
            args = aggregate_frames.guard_arguments(expr.args, expr.filter)
        if expr.distinct and needs_value_list(expr):
            return render_distinct(inner, expr, args, order_by, keep)
        token = NARROW.set(self.narrow)
        try:
            operands = inner.render_operands(args, expr.type, call)
        finally:
            NARROW.reset(token)
        # DuckDB takes a constant argument of mode() for a fraction; a constant needs no order
        if expr.within_group and (expr.function.name != "mode" or reads_columns(keys[0].expr)):
            # an ordered-set aggregate's own order
            key = sort_key(operands.sql[-1], keys[0].expr.type) + (" DESC" if keys[0].descending else "")
            operands = replace(operands, call=lambda name, *args: f"{name}({', '.join(args)} ORDER BY {key}){keep}")
        return self.apply_function(expr.function, operands)

    @_dispatch.register
    def _(self, expr: bound.Grouping) -> RenderedSql:
        plain = replace(self, grouped=())
        return RenderedSql(f"CAST(GROUPING({', '.join(map(plain.render_key, expr.args))}) AS INTEGER)")

    @_dispatch.register
    def _(self, expr: bound.Window) -> RenderedSql:
        if expr.function.name == "ntile":  # ignores the frame, and needs the whole partition
            expr = replace(expr, frame=aggregate_frames.WHOLE_PARTITION)
        parts = []
        if expr.partition_by:
            parts.append("PARTITION BY " + ", ".join(map(self.render_key, expr.partition_by)))
        wide = aggregate_frames.has_integer_offsets(expr)
        if wide:
            key = expr.order_by[0]
            parts.append(
                f"ORDER BY {aggregate_frames.widen(self.render_value(key.expr))}"
                + sort_direction(key.descending, key.nulls_first)
            )
        elif expr.order_by:
            parts.append("ORDER BY " + self.render_sort_keys(expr.order_by))
        if expr.frame is not None:
            parts.append(aggregate_frames.render_frame(expr.frame, self.render_value, wide=wide))
        keep = f" FILTER (WHERE {self.render_value(expr.filter)})" if expr.filter is not None else ""
        over = f"{keep} OVER ({' '.join(parts)})"

        def call(name: str, *args: str) -> str:
            return f"{name}({', '.join(args)}){over}"

        return self.apply_function(
            expr.function,
            self.render_operands(aggregate_frames.guard_arguments(expr.args, expr.filter), expr.type, call),
        )

    def render_sort_keys(self, keys: Sequence[bound.SortKey]) -> str:
        """Renders ORDER BY items, with NULLS FIRST or LAST explicit."""
        return ", ".join(
            sort_key(self.render_value(key.expr), key.expr.type) + sort_direction(key.descending, key.nulls_first)
            for key in keys
        )

    @_dispatch.register
    def _(self, expr: bound.SetReturning) -> RenderedSql:
        listed = self.apply_function(expr.function, self.render_operands(expr.args, expr.type)).value
        return unpack(f"unnest({listed})", expr.type)

    # -------------------------------------------------------------------------------------------- subqueries

    @_dispatch.register
    def _(self, expr: bound.ScalarSubquery) -> RenderedSql:
        return unpack(f"({self.render_query(expr.query)})", expr.type)

    @_dispatch.register
    def _(self, expr: bound.ArraySubquery) -> RenderedSql:
        sql = f"coalesce(ARRAY({self.render_query(expr.query)}), CAST([] AS {expr.type.duckdb}))"
        return RenderedSql(gather_arrays(sql, expr.type) if expr.type.dims > 1 else sql)

    @_dispatch.register
    def _(self, expr: bound.Exists) -> RenderedSql:
        sql = self.render_query(expr.query)
        if not outer_columns(expr.query):
            # DuckDB adds LIMIT 1, and drops it above a join with a side that it knows to be empty
            sql = f"SELECT 1 FROM ({sql}) LIMIT 1 OFFSET 0"
        return RenderedSql(f"EXISTS ({sql})")

    @_dispatch.register
    def _(self, expr: bound.AnySubquery) -> RenderedSql:
        symbols = {_SYMBOLS.get(function.name.rsplit("_", 1)[-1][-2:], "") for function in expr.functions}
        (symbol,) = symbols if len(symbols) == 1 else ("",)
        form = equality.render_equality_key if symbol in {"=", "<>"} else equality.render_sort_key
        lefts = [form(self.render_value(each), each.type) for each in expr.left]
        left = lefts[0] if len(lefts) == 1 else f"({', '.join(lefts)})"
        query = self._render_comparable(expr.query, form)
        if (symbol, expr.all) in {("=", False), ("<>", True)}:
            # DuckDB takes a row in comparable form for several columns
            several = len(lefts) > 1 or (
                expr.left[0].type.fields and equality.has_many_representations(expr.left[0].type)
            )
            if several and outer_columns(expr.query):
                kinds = [(each.type, c.type) for each, c in zip(expr.left, expr.query.columns, strict=True)]
                return RenderedSql(f"({'NOT ' if expr.all else ''}{_row_in_subquery(lefts, query, kinds)})")
            return RenderedSql(f"({left} {'NOT ' if expr.all else ''}IN ({query}))")
        if not symbol or len(lefts) > 1:
            raise FeatureNotSupported("this comparison with a subquery is not supported")
        if symbol in {"=", "<>"} and expr.left[0].type.name == "interval":  # DuckDB only orders these
            if expr.all:
                return RenderedSql(f"({left} <= ALL ({query}) AND {left} >= ALL ({query}))")
            return RenderedSql(f"({left} < ANY ({query}) OR {left} > ANY ({query}))")
        return RenderedSql(f"({left} {symbol} {'ALL' if expr.all else 'ANY'} ({query}))")

    def _render_comparable(self, query: bound.Query, form: Callable[[str, SqlType], str]) -> str:
        """Renders the subquery of a comparison, its columns in the form that is compared."""
        text = self.render_query(query)
        if not any(equality.has_many_representations(column.type) for column in query.columns):
            return text
        names = [f"c{number}" for number in range(1, len(query.columns) + 1)]
        items = (
            form(unpack(name, column.type).value, column.type)
            for name, column in zip(names, query.columns, strict=True)
        )
        return f"SELECT {', '.join(items)} FROM ({text}) AS pg_q({', '.join(names)})"


def _row_in_subquery(lefts: Sequence[str], query: str, kinds: Sequence[tuple[SqlType, SqlType]]) -> str:
    """Renders whether a row is in a correlated subquery's result; DuckDB supports this for one column only."""
    names = [f"c{number}" for number in range(1, len(lefts) + 1)]
    equal = " AND ".join(
        comparison.compare_numbers("=", left, f"pg_q.{name}", *kind)
        for left, name, kind in zip(lefts, names, kinds, strict=True)
    )
    found = "CASE WHEN bool_or(pg_m) THEN true WHEN bool_or(pg_m IS NULL) THEN NULL ELSE false END"
    return f"(SELECT {found} FROM (SELECT {equal} AS pg_m FROM ({query}) AS pg_q({', '.join(names)})))"


_TEXTS = frozenset({"text", "varchar", "name", "unknown"})
_FLOATS_EQUAL = frozenset({"float4eq", "float8eq", "float48eq", "float84eq"})
_CONSTANTS = (bound.Constant, bound.Parameter)


def _hide_equality(sql: str) -> str:
    """Disguises a compared float: DuckDB would propagate an equal constant, and so confuse 0 and -0."""
    return f"({sql} + 0)"


_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _has_known_shape(expr: bound.Array) -> bool:
    """Returns whether an array's shape is known: plain elements, or arrays whose shape is known."""
    if expr.type.dims == 1:
        return True
    return all(isinstance(item, bound.Array) and _has_known_shape(item) for item in expr.items)


def sort_key(sql: str, item: SqlType) -> str:
    """Returns the sort key of a value."""
    return equality.render_sort_key(sql, item)


def _starts_with_constant(expr: bound.Expr) -> bool:
    """Returns whether a COALESCE, or the one nested first in it, starts with a non-NULL constant."""
    while isinstance(expr, bound.Choice) and expr.op == "COALESCE":
        expr = expr.args[0]
    return isinstance(expr, bound.Constant) and expr.value is not None


_MAX_CASE_LENGTH = 4_000


def _needs_case(args: Sequence[bound.Expr], values: Sequence[str]) -> bool:
    """Returns whether lazy evaluation is left to a CASE, which repeats the SQL of earlier arguments.

    DuckDB's lambdas, which could bind them, allow no subqueries, aggregates or window functions.
    """
    if not any(map(may_fail, args[1:])) or sum(map(len, values)) > _MAX_CASE_LENGTH:
        return False
    return not any(isinstance(node, bound.SUBQUERIES) or is_volatile(node) for arg in args[:-1] for node in walk(arg))


def _coalesce_by_case(values: Sequence[str]) -> str:
    """Renders the first value that is not NULL; no later one is evaluated.

    DuckDB extracts common subexpressions from its own coalesce, and evaluates them for every row.
    """
    whens = "".join(f" WHEN {value} IS NOT NULL THEN {value}" for value in values[:-1])
    return f"(CASE{whens} ELSE {values[-1]} END)"


def _bool_op_by_case(parts: Sequence[str], op: str) -> str:
    """Renders AND or OR so that no operand is evaluated after one that decides."""
    sql = parts[-1]
    for part in reversed(parts[:-1]):
        decides = f"WHEN NOT {part} THEN false" if op == "AND" else f"WHEN {part} THEN true"
        sql = f"(CASE {decides} ELSE ({part} {op} {sql}) END)"
    return sql


def _greatest_or_least(values: Sequence[str], sign: str, item: SqlType) -> str:
    """Renders GREATEST or LEAST by the type's comparison; NULLs are ignored."""

    def better(a: str, b: str) -> str:
        test = f"{equality.render_sort_key(b, item)} {sign} {equality.render_sort_key(a, item)}"
        return f"(CASE WHEN {a} IS NULL OR {test} THEN coalesce({b}, {a}) ELSE {a} END)"

    sql = values[0]
    for value in values[1:]:
        sql = bind_values(better, sql, value)
    return sql


def sort_direction(descending: bool, nulls_first: bool) -> str:
    """Renders the direction of a sort key."""
    return f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
