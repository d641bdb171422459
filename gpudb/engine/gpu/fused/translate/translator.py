"""Translates a plan's expressions to a pipeline's: integers with bounds and floats, text as dictionary codes.

An expression over a single text column is evaluated on the column's dictionary by the general engine's expressions, and
becomes a table indexed by code: so LIKE, substring and similar functions have one implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    BooleanTest,
    Bounds,
    CaseWhen,
    Expr,
    IsNull,
    Literal,
    Logic,
    TableEntry,
    ToFloat,
)
from gpudb.engine.gpu.fused.translate import functions
from gpudb.engine.gpu.fused.translate.functions import cast_value, compare, rescale, union_bounds
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.scores import translate_score
from gpudb.engine.gpu.fused.translate.text_predicates import MAX_IN_ITEMS, TextPredicates
from gpudb.engine.gpu.fused.translate.text_predicates import Scope as Scope
from gpudb.engine.gpu.fused.translate.typed_values import (
    SUPPORTED,
    TEXT,
    Dictionary,
    DictionaryRequired,
    NotFused,
    TypedValue,
    translate_constant,
)
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import INPUT, column
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound
from gpudb.type_dispatch import dispatch_on_type
from gpudb.types import BOOL
from gpudb.types.facts import FLOATS


class Translator:
    """Translates expressions over a scope; adds the tables that they read to `tables`."""

    def __init__(self, scope: Scope, tables: MappingTables, parameters: Sequence[object]) -> None:
        self._scope = scope
        self._tables = tables
        self._parameters = parameters
        self._predicates = TextPredicates(scope, tables, parameters)

    def translate_condition(self, expr: Any) -> Expr:
        """Translates a boolean."""
        return self.translate(expr).expr

    def translate(self, expr: Any) -> TypedValue:
        """Translates an expression; NotFused names what no kernel computes."""
        if not isinstance(expr, bound.Column):
            predicate = self._predicates.translate(expr)
            if predicate is not None:
                return predicate
            text = self._single_text_column(expr)
            if text is not None:
                return self._translate_over_dictionary(expr, text)
        made = self._translate(expr)
        if made.expr.bounds is not None and max(-made.expr.bounds[0], made.expr.bounds[1]) >= 2**126:
            raise NotFused("an integer of more than 127 bits")
        return made

    def translate_projected(self, expr: Any) -> TypedValue:
        """Translates an expression of a projection; a raw text column passes unchanged."""
        return self._scope[expr.index]() if isinstance(expr, bound.Column) else self.translate(expr)

    # ------------------------------------------------------------------------------------------ text

    def _single_text_column(self, expr: Any) -> TypedValue | None:
        """Returns the one text column that an expression reads, if it reads no other column."""
        found: list[int] = []

        def look(each: Any) -> Any:
            if isinstance(each, bound.Column) and each.rel == INPUT and each.index not in found:
                found.append(each.index)
            return None

        transform(expr, look)
        if not found:
            return None
        values = [self._scope[index]() for index in found if self._is_text(expr, index)]
        if len(values) != len(found) or any(each.expr != values[0].expr for each in values):
            return None
        return values[0] if values[0].dictionary is not None else None

    def _is_text(self, expr: Any, index: int) -> bool:
        return self._scope[index]().dictionary is not None

    def _translate_over_dictionary(self, expr: Any, text: TypedValue) -> TypedValue:
        assert text.dictionary is not None
        dictionary = text.dictionary

        def moved(each: Any) -> Any:
            return column(0, each.type) if isinstance(each, bound.Column) and each.rel == INPUT else None

        over = transform(expr, moved)
        return self._tables.memoize((over, dictionary), lambda: self._evaluate_over_dictionary(over, text, dictionary))

    def _evaluate_over_dictionary(self, expr: Any, text: TypedValue, dictionary: Dictionary) -> TypedValue:
        values = dictionary.values
        frame = pl.DataFrame({"c0": pl.concat([values, pl.Series([None], dtype=pl.String)])})
        over = ExpressionLowering([None], HostFallback(self._parameters))
        try:
            value = over.value(expr)
            if over.deferred.steps or value.others:
                raise NotFused(f"an expression of text of type {expr.type.plain}")
            made = frame.with_columns(value.expr.alias("v"))
            if value.error is not None and frame.select(value.error.alias("e"))["e"].max():
                raise NotFused("an error in an expression of text")
        except (NotSupportedOnWorkers, GpudbError, pl.exceptions.PolarsError) as error:
            raise NotFused(f"an expression of text: {str(error)[:80]}") from error
        found = made["v"]
        new: Dictionary | None = None
        if expr.type.name in TEXT:
            if text.expr.nullable is False or found[-1] is None:
                if found.head(len(values)).equals(values):
                    return TypedValue(expr.type, text.expr, dictionary)
            new = Dictionary(found.drop_nulls().unique(maintain_order=True))
            codes = pl.DataFrame({"v": new.values, "p": np.arange(len(new.values))})
            found = found.to_frame("v").join(codes, on="v", how="left", maintain_order="left")["p"]
        elif expr.type.name not in SUPPORTED - FLOATS:
            raise NotFused(f"an expression of text of type {expr.type.plain}")
        held = found.cast(pl.Int8) if found.dtype == pl.Boolean else found
        held = held.to_physical().cast(pl.Int64)
        reached = held if text.expr.nullable else held.head(len(values))
        nullable = bool(reached.null_count())
        entries = held.fill_null(0).to_numpy()
        valid = held.is_not_null().to_numpy() if held.null_count() else None
        bounds = BOOLEAN if expr.type.name == "bool" else (int(entries.min()), int(entries.max()))
        number = self._tables.add(entries, valid)
        return TypedValue(expr.type, TableEntry(bounds, nullable, text.expr, number, len(values)), new)

    # ------------------------------------------------------------------------------------------ other expressions

    @dispatch_on_type
    def _translate(self, expr: Any) -> TypedValue:
        raise NotFused(type(expr).__name__)

    @_translate.register
    def _(self, expr: bound.Column) -> TypedValue:
        value = self._scope[expr.index]()
        if value.raw_ascii is not None:
            raise DictionaryRequired("texts without a dictionary")
        return value

    @_translate.register
    def _(self, expr: bound.Constant) -> TypedValue:
        return translate_constant(expr.value, expr.type)

    @_translate.register
    def _(self, expr: bound.Parameter) -> TypedValue:
        return translate_constant(self._parameters[expr.number - 1], expr.type)

    @_translate.register
    def _(self, expr: bound.Call) -> TypedValue:
        if expr.function.code is not None:
            args = tuple(self.translate(each) for each in expr.args)
            return functions.translate_body_call(expr.function, args, expr.type, self._tables)
        if expr.function.name in {"extract", "date_part"}:
            return functions.translate_extract(expr, self.translate(expr.args[1]))
        if expr.function.name == "date_trunc" and len(expr.args) == 2:
            return functions.translate_truncation(expr, self.translate(expr.args[1]))
        return functions.translate_call(expr.function, tuple(self.translate(each) for each in expr.args), expr.type)

    @_translate.register
    def _(self, expr: bound.Cast) -> TypedValue:
        return cast_value(self.translate(expr.arg), expr.type)

    @_translate.register
    def _(self, expr: bound.TreeScore) -> TypedValue:
        args = tuple(self._feature(each) for each in expr.args)
        return translate_score(expr, args, self._tables)

    def _feature(self, expr: Any) -> Expr:
        made = self.translate(expr).expr
        return made if made.bounds is None else ToFloat(None, made.nullable, made)

    @_translate.register
    def _(self, expr: bound.BoolOp) -> TypedValue:
        args = tuple(self.translate(each).expr for each in expr.args)
        return TypedValue(BOOL, Logic(BOOLEAN, any(each.nullable for each in args), expr.op, args))

    @_translate.register
    def _(self, expr: bound.Test) -> TypedValue:
        arg = self.translate(expr.arg)
        if expr.what in {"TRUE", "FALSE"}:
            return TypedValue(BOOL, BooleanTest(BOOLEAN, False, arg.expr, expr.what == "TRUE", expr.negated))
        return TypedValue(BOOL, IsNull(BOOLEAN, False, arg.expr, expr.negated))

    @_translate.register
    def _(self, expr: bound.InList) -> TypedValue:
        if len(expr.items) > MAX_IN_ITEMS:
            raise NotFused(f"IN of more than {MAX_IN_ITEMS} numbers")
        arg = self.translate(expr.arg)
        items = tuple(compare("==", arg, self.translate(each)) for each in expr.items)
        made: Expr = items[0] if len(items) == 1 else Logic(BOOLEAN, any(e.nullable for e in items), "OR", items)
        return TypedValue(BOOL, Logic(BOOLEAN, made.nullable, "NOT", (made,)) if expr.negated else made)

    @_translate.register
    def _(self, expr: bound.DistinctFrom) -> TypedValue:
        left, right = self.translate(expr.left), self.translate(expr.right)
        same = BooleanTest(BOOLEAN, False, compare("==", left, right), True, False)
        nulls = tuple(IsNull(BOOLEAN, False, each.expr, False) for each in (left, right))
        made = Logic(BOOLEAN, False, "OR", (Logic(BOOLEAN, False, "AND", nulls), same))
        return TypedValue(BOOL, made if expr.negated else Logic(BOOLEAN, False, "NOT", (made,)))

    @_translate.register
    def _(self, expr: bound.Case) -> TypedValue:
        conditions = [self.translate(when).expr for when, _ in expr.branches]
        values = [self.translate(then) for _, then in expr.branches] + [self.translate(expr.default)]
        return self._case(expr, conditions, values)

    @_translate.register
    def _(self, expr: bound.Choice) -> TypedValue:
        if expr.op != "COALESCE":
            raise NotFused(expr.op)
        values = [self.translate(each) for each in expr.args]
        conditions: list[Expr] = [IsNull(BOOLEAN, False, each.expr, True) for each in values[:-1]]
        return self._case(expr, conditions, values)

    def _case(self, expr: Any, conditions: list[Expr], values: list[TypedValue]) -> TypedValue:
        kind = expr.type
        if any(each.dictionary is not None for each in values) or kind.name not in SUPPORTED - TEXT:
            raise NotFused(f"CASE of type {kind.plain}")
        display_scale = _choose_display_scale(conditions, values) if kind.is_carried else None
        if kind.name == "numeric":
            scale = kind.numeric_digits[1]
            values = [TypedValue(kind, rescale(each, scale)) for each in values]
        exprs = [each.expr for each in values]
        bounds: Bounds = None
        if kind.name not in FLOATS:
            known = [each.bounds or (0, 0) for each in exprs if not _is_null(each)] or [(0, 0)]
            bounds = union_bounds(*known)
        branches = tuple(zip(conditions, exprs[:-1], strict=True))
        return TypedValue(
            kind,
            CaseWhen(bounds, any(each.nullable for each in exprs), branches, exprs[-1]),
            display_scale=display_scale,
        )


def _choose_display_scale(conditions: list[Expr], values: list[TypedValue]) -> int | Expr:
    """Returns the display scale of the chosen value."""
    found: list[Expr] = []
    for value in values:
        display_scale = value.display_scale if value.type.is_carried else value.scale
        if display_scale is None:
            raise NotFused("a numeric of varying scale")
        number = (
            Literal((display_scale, display_scale), False, display_scale)
            if isinstance(display_scale, int)
            else display_scale
        )
        nothing = Literal(number.bounds, True, None)
        is_valid = IsNull(BOOLEAN, False, value.expr, True)
        found.append(CaseWhen(number.bounds, True, ((is_valid, number),), nothing) if value.expr.nullable else number)
    if all(each == found[0] and isinstance(each, Literal) for each in found):
        assert isinstance(found[0], Literal)
        assert isinstance(found[0].value, int)
        return found[0].value
    bounds = union_bounds(*(each.bounds or (0, 0) for each in found))
    branches = tuple(zip(conditions, found[:-1], strict=True))
    return CaseWhen(bounds, any(each.nullable for each in found), branches, found[-1])


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None
