"""Predicates over raw text columns: LIKE and similar, equality with constants, NULL tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.engine.gpu.fused.ir.pipeline import BOOLEAN, Expr, IsNull, LikeMatch, Logic
from gpudb.engine.gpu.fused.numpy_backend import like
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.typed_values import PLAIN_TEXT, DictionaryRequired, TypedValue
from gpudb.plan.tree.nodes import INPUT
from gpudb.sql import bound
from gpudb.types import BOOL

Scope = Sequence[Callable[[], TypedValue]]
"""The columns that expressions refer to, each translated on first use."""
MAX_IN_ITEMS = 64


class TextPredicates:
    """Translates predicates over raw text; adds their patterns to `tables`."""

    def __init__(self, scope: Scope, tables: MappingTables, parameters: Sequence[object]) -> None:
        self._scope, self._tables, self._parameters = scope, tables, parameters

    def translate(self, expr: Any) -> TypedValue | None:
        """Translates a predicate over one raw text column; None for another expression."""
        match expr:
            case bound.Test(arg=arg, what=what, negated=negated) if what not in {"TRUE", "FALSE"}:
                texts = self._raw_text_column(arg)
                return None if texts is None else TypedValue(BOOL, IsNull(BOOLEAN, False, texts.expr, negated))
            case bound.InList(arg=arg, items=items, negated=negated) if len(items) <= MAX_IN_ITEMS:
                texts = self._raw_text_column(arg)
                found = [self._constant(item) for item in items]
                if texts is None or None in found:
                    return None
                each = tuple(self._match(texts, like.encode_literal(text)) for text in found if text is not None)
                made = each[0] if len(each) == 1 else Logic(BOOLEAN, texts.expr.nullable, "OR", each)
                return TypedValue(BOOL, self._negate(made, negated=negated))
            case bound.Call(function=function, args=(left, right)) if function.name in like.LIKE_FUNCTIONS:
                how, fold, negated = like.LIKE_FUNCTIONS[function.name]
                texts, text = self._raw_text_column(left), self._constant(right)
                if texts is None and how == "same":
                    texts, text = self._raw_text_column(right), self._constant(left)
                if texts is None or text is None:
                    return None
                pattern = like.encode_constant(how, text, fold=fold)
                if fold and not texts.raw_ascii:
                    pattern = None
                if pattern is None:
                    raise DictionaryRequired(f"{function.name} over texts without a dictionary")
                return TypedValue(BOOL, self._negate(self._match(texts, pattern, fold=fold), negated=negated))
        return None

    def _raw_text_column(self, expr: Any) -> TypedValue | None:
        """Returns the raw text column that an expression refers to; None for another expression."""
        while isinstance(expr, bound.Cast) and expr.type.name in PLAIN_TEXT and expr.type.modifier == -1:
            expr = expr.arg
        if not isinstance(expr, bound.Column) or expr.rel != INPUT:
            return None
        value = self._scope[expr.index]()
        return value if value.raw_ascii is not None and value.type.name in PLAIN_TEXT else None

    def _constant(self, expr: Any) -> str | None:
        while isinstance(expr, bound.Cast) and expr.type.name in PLAIN_TEXT and expr.type.modifier == -1:
            expr = expr.arg
        if not isinstance(expr, bound.Constant | bound.Parameter) or expr.type.name not in PLAIN_TEXT | {"unknown"}:
            return None
        found = expr.value if isinstance(expr, bound.Constant) else self._parameters[expr.number - 1]
        return found if isinstance(found, str) else None

    def _match(self, texts: TypedValue, pattern: bytes, *, fold: bool = False) -> Expr:
        table = self._tables.add_pattern(pattern)
        return LikeMatch(BOOLEAN, texts.expr.nullable, texts.expr, table, len(pattern), fold)

    def _negate(self, made: Expr, *, negated: bool) -> Expr:
        return Logic(BOOLEAN, made.nullable, "NOT", (made,)) if negated else made
