"""Bound expressions as DuckDB SQL.

A numeric is rendered as two SQL expressions: its decimal, and the number of decimals that PostgreSQL displays. They are
packed into one struct only where a carried numeric leaves an expression (an output column, an array element).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gpudb.duckdb import aggregate_frames, array_assignment
from gpudb.duckdb.dispatch import by_type
from gpudb.duckdb.distinct_aggregates import looks_often, of_distinct
from gpudb.duckdb.literals import decimal_scale, literal, quoted, range_literal
from gpudb.errors import FeatureNotSupported
from gpudb.functions import comparison, equality
from gpudb.functions.casts import cast
from gpudb.functions.dimensions import flat, gathered, slices, stacked
from gpudb.functions.let_binding import let, raises
from gpudb.functions.numeric import NARROW
from gpudb.functions.operands import joined
from gpudb.functions.records import packed
from gpudb.functions.registry import MISSING, Function, Operands, fill, implementation
from gpudb.functions.text import byte_of_name
from gpudb.plan.tree.fallibility import may_fail
from gpudb.sql import bound
from gpudb.sql.traverse import outer_columns, reads_columns, walk
from gpudb.types import SqlType
from gpudb.values.range import Range, packed_scales


class Lanes(NamedTuple):
    """An expression's SQL: its value and, for a numeric, its display scale (a constant if all values share one)."""

    value: str
    scale: str = "0"


@dataclass(slots=True)
class Expressions:
    """Renders expressions. `column` renders a column, `query` a subquery; `values` are those of session functions.

    `grouped` are the GROUP BY keys whose equal values may have several representations: an aggregate must choose one.
    `sets` says that the query has grouping sets. With `narrow` aggregates multiply decimals in 64 bits. `subject` is
    the value that a domain's checks apply to. `check` raises if the statement is canceled. With `lazy` AND and OR
    evaluate no more operands than they need, as filters do by themselves.
    """

    column: Callable[[bound.Column], str]
    query: Callable[[bound.Query], str]
    parameters: Sequence[object] = ()
    values: Mapping[str, object] = field(default_factory=dict)
    grouped: tuple[bound.Expr, ...] = ()
    sets: bool = False
    narrow: bool = False
    subject: str = ""
    check: Callable[[], None] = lambda: None
    lazy: bool = False

    def lanes(self, expr: bound.Expr) -> Lanes:
        """Renders an expression's value and display scale."""
        self.check()
        if self.grouped and expr in self.grouped:
            value, scale = self._render(expr)
            if expr.type.carried:
                return Lanes(value, f"max({scale})")
            shown = f"first({value})"
            return Lanes(
                f"(CASE WHEN GROUPING({equality.key(value, expr.type)}) = 0 THEN {shown} END)" if self.sets else shown
            )
        return self._render(expr)

    def value(self, expr: bound.Expr) -> str:
        """Renders the value alone, for comparisons, conditions and keys."""
        return self.lanes(expr).value

    def key(self, expr: bound.Expr) -> str:
        """Renders a key that is equal for equal values, for grouping, joins and DISTINCT."""
        return equality.key(self.value(expr), expr.type)

    def whole(self, expr: bound.Expr) -> str:
        """Renders the expression as one value of `SqlType.duckdb`, as query outputs need it."""
        value, scale = self.lanes(expr)
        return self.joined(value, scale, expr.type) if expr.type.carried else value

    @staticmethod
    def joined(value: str, scale: str, item: SqlType) -> str:
        """Packs a carried value and its scale; returns the original expression if both were unpacked from it."""
        if value.endswith(").v") and value[:-1] == scale[:-1]:
            return value[:-2]
        return joined(value, scale, item)

    @staticmethod
    def opened(text: str, item: SqlType) -> Lanes:
        """Unpacks a value of `SqlType.duckdb` into its value and display scale."""
        if item.carried:
            return Lanes(f"({text}).v", f"({text}).s")
        return Lanes(text, str(item.numeric_digits[1]) if item.name == "numeric" else "0")

    @by_type
    def _render(self, expr: Any) -> Lanes:
        raise FeatureNotSupported(f"{type(expr).__name__} expressions are not supported here")

    @_render.register
    def _(self, expr: bound.Let) -> Lanes:
        fields = ", ".join(f"c{n} := {self.whole(value)}" for n, value in enumerate(expr.values, 1))
        made = f"list_transform([struct_pack({fields})], lambda let{-expr.rel}: {self.whole(expr.body)})[1]"
        return self.opened(made, expr.type)

    @_render.register
    def _(self, expr: bound.Fold) -> Lanes:
        state, array = expr.type.duckdb, expr.rows.type
        assert array.element is not None
        row = array.element.duckdb
        made = f"list_transform(coalesce({self.value(expr.rows)}, []), lambda pg_row: "
        # list_reduce needs one type for state and rows: a struct holds both
        made += f"struct_pack(c1 := CAST(NULL AS {state}), c2 := CAST(pg_row AS {row})))"
        start = f"struct_pack(c1 := CAST({self.whole(expr.initial)} AS {state}), c2 := CAST(NULL AS {row}))"
        step = f"struct_pack(c1 := CAST({self.whole(expr.body)} AS {state}), c2 := CAST(NULL AS {row}))"
        fold = f"list_reduce({made}, lambda let{-expr.rel}, let{-expr.item}: {step}, {start}).c1"
        return self.opened(fold, expr.type)

    @_render.register
    def _(self, expr: bound.Column) -> Lanes:
        if expr.rel < 0:
            # in parentheses: without them DuckDB takes it for a column in HAVING
            return self.opened(f"(let{-expr.rel}).c{expr.index + 1}", expr.type)
        return self.opened(self.column(expr), expr.type)

    @_render.register
    def _(self, expr: bound.Constant) -> Lanes:
        return self._constant(expr.value, expr.type)

    @_render.register
    def _(self, expr: bound.Parameter) -> Lanes:
        return self._constant(self.parameters[expr.number - 1], expr.type)

    def _constant(self, value: object, item: SqlType) -> Lanes:
        if item.name == "numrange":
            made = range_literal(value, item) if isinstance(value, Range) else f"CAST(NULL AS {item.duckdb_value})"
            return Lanes(made, str(packed_scales(value)) if isinstance(value, Range) else "0")
        if item.name == "numeric" and item.carried:
            decimal = SqlType("numeric", -1, item.numeric_digits)
            return Lanes(literal(value, decimal), str(decimal_scale(value)))
        if isinstance(value, str) and item.name.startswith("reg"):
            return Lanes(f"pg_to_{item.name}({quoted(value)})")
        return Lanes(literal(value, item), str(item.numeric_digits[1]) if item.name == "numeric" else "0")

    @_render.register
    def _(self, expr: bound.Cast) -> Lanes:
        value, scale = self.lanes(expr.arg)
        return Lanes(*cast(value, scale, expr.arg.type, expr.type, expr.explicit))

    @_render.register
    def _(self, expr: bound.Constrained) -> Lanes:
        domain = expr.type.domain

        def checked(value: str) -> str:
            inside = replace(self, subject=value)
            whens = []
            if expr.not_null:
                message = quoted(f"domain {domain} does not allow null values")
                given = self.opened(value, expr.type).value
                whens.append(f"{given} IS NULL THEN {raises('23502', message, expr.type.duckdb)}")
            for constraint, check in expr.checks:
                message = quoted(f'value for domain {domain} violates check constraint "{constraint}"')
                whens.append(f"NOT {inside.value(check)} THEN {raises('23514', message, expr.type.duckdb)}")
            return f"(CASE WHEN {' WHEN '.join(whens)} ELSE {value} END)"

        return self.opened(let(checked, self.whole(expr.arg)), expr.type)

    @_render.register
    def _(self, expr: bound.DomainValue) -> Lanes:
        return self.opened(self.subject, expr.type)

    # -------------------------------------------------------------------------------------------- logic

    @_render.register
    def _(self, expr: bound.BoolOp) -> Lanes:
        parts = [self.value(arg) for arg in expr.args]
        if expr.op == "NOT":
            return Lanes(f"(NOT {parts[0]})")
        if self.lazy and _by_case(expr.args, parts):
            return Lanes(_decided(parts, expr.op))
        return Lanes(f"({f' {expr.op} '.join(parts)})")

    @_render.register
    def _(self, expr: bound.Test) -> Lanes:
        if expr.what == "NULL":
            return Lanes(f"({self.value(expr.arg)} IS {'NOT ' if expr.negated else ''}NULL)")
        differs = "DISTINCT" if expr.negated else "NOT DISTINCT"
        return Lanes(f"({self.value(expr.arg)} IS {differs} FROM {expr.what.lower()})")

    @_render.register
    def _(self, expr: bound.DistinctFrom) -> Lanes:
        symbol = f"IS {'NOT ' if expr.negated else ''}DISTINCT FROM"
        left, right, kinds = self.value(expr.left), self.value(expr.right), (expr.left.type, expr.right.type)
        return Lanes(comparison.numbers(symbol, *equality.compared(left, right, *kinds), *kinds))

    @_render.register
    def _(self, expr: bound.Case) -> Lanes:
        rendered = [(self.value(when), self.lanes(then)) for when, then in expr.branches]
        last = self.lanes(expr.default)
        value = "".join(f" WHEN {when} THEN {then.value}" for when, then in rendered)
        made = f"(CASE{value} ELSE {last.value} END)"
        if not expr.type.carried:
            return self.opened(made, expr.type)
        scale = "".join(f" WHEN {when} THEN {then.scale}" for when, then in rendered)
        return Lanes(made, f"(CASE{scale} ELSE {last.scale} END)")

    @_render.register
    def _(self, expr: bound.Choice) -> Lanes:
        rendered = [self.lanes(arg) for arg in expr.args]
        own = not expr.type.carried and equality.several_forms(expr.type)
        if (own or expr.type.name == "interval") and expr.op != "COALESCE":
            # DuckDB compares an interval's months first, then its days: there 1 month is more than 40 days
            values = [each.value for each in rendered]
            return Lanes(_extreme(values, ">" if expr.op == "GREATEST" else "<", expr.type))
        values = [each.value for each in rendered]
        made = f"{expr.op.lower()}({', '.join(values)})"
        if expr.op == "COALESCE" and _by_case(expr.args, values):
            made = _first_known(values)
        elif expr.op == "COALESCE" and _constant_first(expr):
            # DuckDB 2.0 fails to bind a comparison that it folds to a constant only after it has bound the coalesce
            made = f"(CASE WHEN true THEN {rendered[0].value} ELSE {made} END)"
        if not expr.type.carried:
            return self.opened(made, expr.type)
        if expr.op == "COALESCE":
            whens = "".join(f" WHEN {each.value} IS NOT NULL THEN {each.scale}" for each in rendered)
        else:
            whens = "".join(f" WHEN {each.value} = {made} THEN {each.scale}" for each in rendered)
        return Lanes(made, f"(CASE{whens} END)")

    @_render.register
    def _(self, expr: bound.InList) -> Lanes:
        if any(comparison.beside_whole(expr.arg.type, item.type) for item in expr.items):
            arg, kind = self.value(expr.arg), expr.arg.type
            each = (comparison.numbers("=", arg, self.value(item), kind, item.type) for item in expr.items)
            return Lanes(f"({'NOT ' if expr.negated else ''}({' OR '.join(each)}))")
        items = ", ".join(self.key(item) for item in expr.items)
        return Lanes(f"({self.key(expr.arg)} {'NOT ' if expr.negated else ''}IN ({items}))")

    # -------------------------------------------------------------------------------------------- calls

    def operands(self, args: Sequence[bound.Expr], result: SqlType, call: Callable[..., str] | None = None) -> Operands:
        """Renders arguments into the operands of a function's template."""
        lanes = [self.lanes(arg) for arg in args]
        constants = tuple(arg.value if isinstance(arg, bound.Constant) else MISSING for arg in args)
        made = Operands(
            tuple(each.value for each in lanes),
            tuple(each.scale for each in lanes),
            tuple(a.type for a in args),
            constants,
            result,
        )
        if call is None:
            return made
        return Operands(made.sql, made.scales, made.types, made.constants, made.result, call)

    def applied(self, function: Function, operands: Operands) -> Lanes:
        """Applies a function to rendered operands."""
        how = implementation(function)
        if function.strict and function.kind == "f" and any(value is None for value in operands.constants):
            held = operands.result
            return Lanes(f"CAST(NULL AS {f'{held.duckdb}[]' if function.returns_set else held.duckdb_value})")
        if how.duckdb is None:
            raise FeatureNotSupported(f"function {function} is not supported here")
        value = fill(how.duckdb, operands)
        if function.returns_set:
            return Lanes(value)
        if operands.result.carried and how.scale is not None:
            return Lanes(value, fill(how.scale, operands))
        if operands.result.carried:
            return self.opened(value, operands.result)
        return Lanes(value, str(operands.result.numeric_digits[1]) if operands.result.name == "numeric" else "0")

    def _known(self, expr: bound.Expr) -> object:
        """Returns the value of a constant expression, or MISSING."""
        if isinstance(expr, bound.Constant):
            return expr.value
        if isinstance(expr, bound.Parameter):
            return self.parameters[expr.number - 1]
        if isinstance(expr, bound.Cast) and expr.type.modifier == -1:
            same = expr.type.name in _TEXTS and expr.arg.type.name in _TEXTS
            return self._known(expr.arg) if same else MISSING
        return MISSING

    @_render.register
    def _(self, expr: bound.Call) -> Lanes:
        how = implementation(expr.function)
        # A session function is evaluated beforehand; over columns only if its template can look the value up.
        constants = tuple(self._known(arg) for arg in expr.args) if how.session is not None else ()
        if how.session is not None and (MISSING not in constants or how.duckdb is None):
            maker = self.values.get(how.session, MISSING)
            if maker is MISSING:
                raise FeatureNotSupported(f"function {expr.function} is not supported here")
            return self._constant(maker(*constants) if callable(maker) else maker, expr.type)
        operands = self.operands(expr.args, expr.type)
        if expr.function.name in _FLOATS_EQUAL and not any(isinstance(each, _KNOWN) for each in expr.args):
            operands = replace(operands, sql=(_unlike(operands.sql[0]), *operands.sql[1:]))
        return self.applied(expr.function, operands)

    @_render.register
    def _(self, expr: bound.AnyArray) -> Lanes:
        element = expr.array.type.element or SqlType("oid")
        held = "list_bool_and" if expr.all else "list_bool_or"
        item = "pg_item"
        lanes = self.opened(item, element)
        left = self.lanes(expr.left)
        operands = Operands(
            (left.value, lanes.value),
            (left.scale, lanes.scale),
            (expr.left.type, element),
            (MISSING, MISSING),
            expr.type,
        )
        test = self.applied(expr.function, operands).value
        array = flat(self.value(expr.array), expr.array.type)
        # DuckDB's list aggregate is NULL for an empty array where SQL requires the neutral value.
        neutral = "true" if expr.all else "false"
        tested = f"list_transform({array}, lambda {item}: {test})"
        known = f"{held}({tested})"
        nulls = f"len(list_filter({tested}, lambda {item}: {item} IS NULL)) > 0"
        unknown = f"(CASE WHEN {known} IS NOT DISTINCT FROM {neutral} AND {nulls} THEN NULL"
        return Lanes(
            f"(CASE WHEN {array} IS NULL THEN NULL WHEN len({array}) = 0 THEN {neutral}"
            f" ELSE {unknown} ELSE {known} END) END)"
        )

    @_render.register
    def _(self, expr: bound.Array) -> Lanes:
        made = f"CAST([{', '.join(self.whole(item) for item in expr.items)}] AS {expr.type.duckdb})"
        return Lanes(made if _written_out(expr) else stacked(made, expr.type))

    @_render.register
    def _(self, expr: bound.Subscript) -> Lanes:
        array = self.value(expr.arg)
        if expr.slice:
            return Lanes(self._sliced(array, expr))
        high = self.value(expr.high) if expr.high is not None else None
        if expr.arg.type.name == "name":
            return Lanes(let(byte_of_name, array, str(high)))
        # PostgreSQL's arrays start at 1; vectors of the system catalog start at 0.
        index = f"({high} + 1)" if expr.arg.type.name in {"int2vector", "oidvector"} else high
        made = f"(CASE WHEN {index} > 0 THEN list_extract({array}, {index}) END)"
        return self.opened(made, expr.type)

    def _sliced(self, array: str, expr: bound.Subscript) -> str:
        bounds = ((expr.low, expr.high), *expr.inner)
        given = [tuple(None if each is None else self.value(each) for each in pair) for pair in bounds]
        return slices(array, expr.type, given)

    @_render.register
    def _(self, expr: bound.Replaced) -> Lanes:
        array = self.value(expr.arg)
        bounds = [self.value(each) if each is not None else None for each in expr.high]
        if expr.slice:
            low = self.value(expr.low) if expr.low is not None else None
            return Lanes(array_assignment.items(array, low, bounds[0], self.value(expr.given), expr.type))
        places = [each for each in bounds if each is not None]
        return Lanes(array_assignment.item(array, places, self.whole(expr.given), expr.type))

    @_render.register
    def _(self, expr: bound.PathReplaced) -> Lanes:
        path = ", ".join(f"CAST({self.value(each)} AS VARCHAR)" for each in expr.path)
        start = "'[]'" if expr.numbered else "'{}'"
        given = f"coalesce({self.value(expr.given)}, 'null')"
        return Lanes(f"pg_jsonb_assign(coalesce({self.value(expr.arg)}, {start}), [{path}], {given})")

    @_render.register
    def _(self, expr: bound.Field) -> Lanes:
        return self.opened(f"struct_extract_at({self.value(expr.arg)}, {expr.index + 1})", expr.type)

    @_render.register
    def _(self, expr: bound.Row) -> Lanes:
        return Lanes(packed([self.whole(item) for item in expr.items], expr.type))

    # -------------------------------------------------------------------------------------------- aggregates

    @_render.register
    def _(self, expr: bound.Aggregate) -> Lanes:
        inner = replace(self, grouped=())  # an aggregate's arguments are per row, whether grouped by or not
        keys = expr.order_by or expr.within_group
        sorts = aggregate_frames.guarded([key.expr for key in expr.order_by], expr.filter)
        order_by = [replace(key, expr=each) for key, each in zip(expr.order_by, sorts, strict=True)]
        order = f" ORDER BY {inner.sort_keys(order_by)}" if order_by else ""
        keep = f" FILTER (WHERE {inner.value(expr.filter)})" if expr.filter is not None else ""
        distinct = "DISTINCT " if expr.distinct else ""

        def call(name: str, *given: str) -> str:
            sort = order
            if expr.distinct and name not in {"list", "string_agg"}:
                sort = ""
            elif expr.distinct and (not order_by or (len(order_by) == 1 and order_by[0].expr == args[0])):
                # PostgreSQL sorts to find distinct values, and an aggregate that lists them shows that order
                by = direction(order_by[0].descending, order_by[0].nulls_first) if order_by else " ASC NULLS LAST"
                sort = f" ORDER BY {given[0]}{by}"
            return f"{name}({distinct}{', '.join(given)}{sort}){keep}"

        if expr.within_group:  # its direct arguments are outside the aggregate
            args = (*expr.args, *aggregate_frames.guarded(tuple(key.expr for key in expr.within_group), expr.filter))
        else:
            args = aggregate_frames.guarded(expr.args, expr.filter)
        if expr.distinct and looks_often(expr):
            return Lanes(*of_distinct(inner, expr, args, order_by, keep))
        token = NARROW.set(self.narrow)
        try:
            operands = inner.operands(args, expr.type, call)
        finally:
            NARROW.reset(token)
        # DuckDB takes a constant argument of mode() for a fraction; a constant needs no order
        if expr.within_group and (expr.function.name != "mode" or reads_columns(keys[0].expr)):
            # an ordered-set aggregate's own order
            key = sortable(operands.sql[-1], keys[0].expr.type) + (" DESC" if keys[0].descending else "")
            operands = replace(operands, call=lambda name, *args: f"{name}({', '.join(args)} ORDER BY {key}){keep}")
        return self.applied(expr.function, operands)

    @_render.register
    def _(self, expr: bound.Grouping) -> Lanes:
        plain = replace(self, grouped=())
        return Lanes(f"CAST(GROUPING({', '.join(map(plain.key, expr.args))}) AS INTEGER)")

    @_render.register
    def _(self, expr: bound.Window) -> Lanes:
        if expr.function.name == "ntile":  # ignores the frame, and needs the whole partition
            expr = replace(expr, frame=aggregate_frames.PARTITION)
        parts = []
        if expr.partition_by:
            parts.append("PARTITION BY " + ", ".join(map(self.key, expr.partition_by)))
        wide = aggregate_frames.over_integers(expr)
        if wide:
            key = expr.order_by[0]
            parts.append(
                f"ORDER BY {aggregate_frames.widened(self.value(key.expr))}"
                + direction(key.descending, key.nulls_first)
            )
        elif expr.order_by:
            parts.append("ORDER BY " + self.sort_keys(expr.order_by))
        if expr.frame is not None:
            parts.append(aggregate_frames.frame(expr.frame, self.value, wide=wide))
        keep = f" FILTER (WHERE {self.value(expr.filter)})" if expr.filter is not None else ""
        over = f"{keep} OVER ({' '.join(parts)})"

        def call(name: str, *args: str) -> str:
            return f"{name}({', '.join(args)}){over}"

        return self.applied(
            expr.function, self.operands(aggregate_frames.guarded(expr.args, expr.filter), expr.type, call)
        )

    def sort_keys(self, keys: Sequence[bound.SortKey]) -> str:
        """Renders ORDER BY items, with NULLS FIRST or LAST explicit."""
        return ", ".join(
            sortable(self.value(key.expr), key.expr.type) + direction(key.descending, key.nulls_first) for key in keys
        )

    @_render.register
    def _(self, expr: bound.SetReturning) -> Lanes:
        listed = self.applied(expr.function, self.operands(expr.args, expr.type)).value
        return self.opened(f"unnest({listed})", expr.type)

    # -------------------------------------------------------------------------------------------- subqueries

    @_render.register
    def _(self, expr: bound.ScalarSubquery) -> Lanes:
        return self.opened(f"({self.query(expr.query)})", expr.type)

    @_render.register
    def _(self, expr: bound.ArraySubquery) -> Lanes:
        made = f"coalesce(ARRAY({self.query(expr.query)}), CAST([] AS {expr.type.duckdb}))"
        return Lanes(gathered(made, expr.type) if expr.type.dims > 1 else made)

    @_render.register
    def _(self, expr: bound.Exists) -> Lanes:
        made = self.query(expr.query)
        if not outer_columns(expr.query):
            # DuckDB adds LIMIT 1, and drops it above a join with a side that it knows to be empty
            made = f"SELECT 1 FROM ({made}) LIMIT 1 OFFSET 0"
        return Lanes(f"EXISTS ({made})")

    @_render.register
    def _(self, expr: bound.AnySubquery) -> Lanes:
        symbols = {_SYMBOLS.get(function.name.rsplit("_", 1)[-1][-2:], "") for function in expr.functions}
        (symbol,) = symbols if len(symbols) == 1 else ("",)
        form = equality.key if symbol in {"=", "<>"} else equality.order
        lefts = [form(self.value(each), each.type) for each in expr.left]
        left = lefts[0] if len(lefts) == 1 else f"({', '.join(lefts)})"
        query = self._values(expr.query, form)
        if (symbol, expr.all) in {("=", False), ("<>", True)}:
            # DuckDB takes a row in comparable form for several columns
            several = len(lefts) > 1 or (expr.left[0].type.fields and equality.several_forms(expr.left[0].type))
            if several and outer_columns(expr.query):
                kinds = [(each.type, c.type) for each, c in zip(expr.left, expr.query.columns, strict=True)]
                return Lanes(f"({'NOT ' if expr.all else ''}{_among(lefts, query, kinds)})")
            return Lanes(f"({left} {'NOT ' if expr.all else ''}IN ({query}))")
        if not symbol or len(lefts) > 1:
            raise FeatureNotSupported("this comparison with a subquery is not supported")
        if symbol in {"=", "<>"} and expr.left[0].type.name == "interval":  # DuckDB only orders these
            if expr.all:
                return Lanes(f"({left} <= ALL ({query}) AND {left} >= ALL ({query}))")
            return Lanes(f"({left} < ANY ({query}) OR {left} > ANY ({query}))")
        return Lanes(f"({left} {symbol} {'ALL' if expr.all else 'ANY'} ({query}))")

    def _values(self, query: bound.Query, form: Callable[[str, SqlType], str]) -> str:
        """Renders the subquery of a comparison, its columns in the form that is compared."""
        text = self.query(query)
        if not any(equality.several_forms(column.type) for column in query.columns):
            return text
        names = [f"c{number}" for number in range(1, len(query.columns) + 1)]
        items = (
            form(self.opened(name, column.type).value, column.type)
            for name, column in zip(names, query.columns, strict=True)
        )
        return f"SELECT {', '.join(items)} FROM ({text}) AS pg_q({', '.join(names)})"


def _among(lefts: Sequence[str], query: str, kinds: Sequence[tuple[SqlType, SqlType]]) -> str:
    """Renders whether a row is in a correlated subquery's result; DuckDB supports this for one column only."""
    names = [f"c{number}" for number in range(1, len(lefts) + 1)]
    equal = " AND ".join(
        comparison.numbers("=", left, f"pg_q.{name}", *kind)
        for left, name, kind in zip(lefts, names, kinds, strict=True)
    )
    found = "CASE WHEN bool_or(pg_m) THEN true WHEN bool_or(pg_m IS NULL) THEN NULL ELSE false END"
    return f"(SELECT {found} FROM (SELECT {equal} AS pg_m FROM ({query}) AS pg_q({', '.join(names)})))"


_TEXTS = frozenset({"text", "varchar", "name", "unknown"})
_FLOATS_EQUAL = frozenset({"float4eq", "float8eq", "float48eq", "float84eq"})
_KNOWN = (bound.Constant, bound.Parameter)


def _unlike(sql: str) -> str:
    """Disguises a compared float: DuckDB would propagate an equal constant, and so confuse 0 and -0."""
    return f"({sql} + 0)"


_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _written_out(expr: bound.Array) -> bool:
    """Returns whether an array's shape is known: plain elements, or arrays whose shape is known."""
    if expr.type.dims == 1:
        return True
    return all(isinstance(item, bound.Array) and _written_out(item) for item in expr.items)


def sortable(sql: str, item: SqlType) -> str:
    """Returns the sort key of a value."""
    return equality.order(sql, item)


def _constant_first(expr: bound.Expr) -> bool:
    """Returns whether a COALESCE, or the one nested first in it, starts with a non-NULL constant."""
    while isinstance(expr, bound.Choice) and expr.op == "COALESCE":
        expr = expr.args[0]
    return isinstance(expr, bound.Constant) and expr.value is not None


_LONG = 4_000


def _by_case(args: Sequence[bound.Expr], values: Sequence[str]) -> bool:
    """Returns whether lazy evaluation is left to a CASE, which repeats the SQL of earlier arguments.

    DuckDB's lambdas, which could bind them, allow no subqueries, aggregates or window functions.
    """
    if not any(map(may_fail, args[1:])) or sum(map(len, values)) > _LONG:
        return False
    return not any(
        isinstance(node, bound.SUBQUERIES) or (isinstance(node, bound.Call) and node.function.volatile)
        for arg in args[:-1]
        for node in walk(arg)
    )


def _first_known(values: Sequence[str]) -> str:
    """Renders the first value that is not NULL; no later one is evaluated.

    DuckDB extracts common subexpressions from its own coalesce, and evaluates them for every row.
    """
    whens = "".join(f" WHEN {value} IS NOT NULL THEN {value}" for value in values[:-1])
    return f"(CASE{whens} ELSE {values[-1]} END)"


def _decided(parts: Sequence[str], op: str) -> str:
    """Renders AND or OR so that no operand is evaluated after one that decides."""
    made = parts[-1]
    for part in reversed(parts[:-1]):
        decides = f"WHEN NOT {part} THEN false" if op == "AND" else f"WHEN {part} THEN true"
        made = f"(CASE {decides} ELSE ({part} {op} {made}) END)"
    return made


def _extreme(values: Sequence[str], sign: str, item: SqlType) -> str:
    """Renders GREATEST or LEAST by the type's comparison; NULLs are ignored."""

    def better(a: str, b: str) -> str:
        test = f"{equality.order(b, item)} {sign} {equality.order(a, item)}"
        return f"(CASE WHEN {a} IS NULL OR {test} THEN coalesce({b}, {a}) ELSE {a} END)"

    made = values[0]
    for value in values[1:]:
        made = let(better, made, value)
    return made


def direction(descending: bool, nulls_first: bool) -> str:
    """Renders the direction of a sort key."""
    return f" {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
