"""Scores by ensembles of trees: a float, or a class as its label."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpudb.engine.gpu.fused.ir.pipeline import BOOLEAN, Compare, Expr, Literal, TableEntry, TreeScore
from gpudb.engine.gpu.fused.translate.mapping_tables import MappingTables
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, Dictionary, TypedValue
from gpudb.sql import bound
from gpudb.types.facts import FLOATS


def translate_score(expr: bound.TreeScore, args: tuple[Expr, ...], tables: MappingTables) -> TypedValue:
    """Translates a score of features that are floats."""
    shape, number = expr.ensemble.shape, tables.add_ensemble(expr.ensemble)
    kind = expr.type
    if kind.name in FLOATS:
        return TypedValue(kind, TreeScore(None, False, args, shape, number))
    last = max(shape.classes, 2) - 1
    label = TreeScore((0, last), False, args, shape, number)
    if not expr.labels:
        return TypedValue(kind, label)
    if kind.name in TEXT:
        return TypedValue(kind, label, Dictionary(pl.Series(expr.labels, dtype=pl.String)))
    if kind.name == "bool":
        true = expr.labels.index("true")
        return TypedValue(kind, Compare(BOOLEAN, False, "==", label, Literal((true, true), False, true)))
    values = np.array([*map(int, expr.labels), 0])
    bounds = int(values.min()), int(values.max())
    return TypedValue(kind, TableEntry(bounds, False, label, tables.add(values, None), len(expr.labels)))
