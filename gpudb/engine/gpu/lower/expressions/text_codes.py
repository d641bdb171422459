"""Texts as codes of a dictionary: what is computed of them is computed once for each text of the dictionary.

A coded column of a frame holds int32 codes in place of texts. Expressions over it take results by code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary, take
from gpudb.engine.gpu.lower.values import Bounds, Value, physical_columns
from gpudb.plan.tree.nodes import INPUT
from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile, walk
from gpudb.types import INT4, SqlType

TEXTS = frozenset({"text", "varchar", "bpchar", "name", "unknown"})
"""Types whose columns may be coded."""
MAX_TEXTS = 1 << 20
"""Expressions are computed over dictionaries of at most this many texts; over larger ones, row by row."""
CodedTexts = Mapping[int, Dictionary]
"""The coded columns of a frame, by position."""
NO_TEXTS: CodedTexts = {}
NOTHING = Dictionary(pl.Series([], dtype=pl.String))
"""The dictionary of a column of NULLs."""
_RESULTS = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float32, pl.Float64, pl.Date, pl.Datetime, pl.String)
"""Types of results that a frame takes by code: those of which a GPU is given a column."""
_NOT_PER_TEXT = (
    bound.Aggregate, bound.Window, bound.Grouping, bound.SetReturning, bound.ScalarSubquery, bound.ArraySubquery,
    bound.Exists, bound.AnySubquery, bound.Default,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextResults:
    """An expression's physical columns by suffix, and its error codes (None: no error), over a padded dictionary."""

    columns: Mapping[str, pl.Series]
    errors: pl.Series | None
    bounds: Bounds


def is_coded(expr: Any, texts: CodedTexts) -> bool:
    """Whether an expression is a coded column."""
    return isinstance(expr, bound.Column) and expr.rel == INPUT and expr.index in texts and expr.type.name in TEXTS


def code_of(column: Any) -> bound.Column:
    """Returns the integer column that holds the codes of a coded one."""
    return bound.Column(INPUT, column.index, INT4, column.name)


def decoded(index: int, kind: SqlType, texts: Dictionary) -> Value:
    """Returns the texts of a coded column."""
    return Value(kind, take(texts.padded, pl.col(f"c{index}")))


def only_text_read(expr: Any, texts: CodedTexts) -> int | None:
    """Returns the coded column of which alone an expression is computed; None if there is no such column."""
    if not texts or isinstance(expr, bound.Column):
        return None
    found: set[int] = set()
    for node in walk(expr):
        if isinstance(node, _NOT_PER_TEXT) or is_volatile(node):
            return None
        if isinstance(node, bound.Column):
            if node.rel != INPUT or node.index not in texts or node.type.name not in TEXTS:
                return None
            found.add(node.index)
    (index, *others) = found or (-1,)
    return index if not others and index >= 0 and len(texts[index].values) <= MAX_TEXTS else None


def compute_once(
    expr: Any, index: int, texts: Dictionary, zone: str, lower: Callable[[Any], Value | None]
) -> TextResults | None:
    """Computes an expression over all texts of a dictionary, once while the dictionary lives.

    `lower` lowers it over plain columns; its result is None for what runs on the host. None if a frame cannot take the
    results, or the lowering fails on a text that perhaps no row has.
    """
    key = None if any(isinstance(node, bound.Parameter) for node in walk(expr)) else (expr, zone)
    found = texts.memo.get(key) if key is not None else None
    if found is None:
        found = _compute(expr, index, texts, lower) or False
        if key is not None:
            texts.memo.put(key, found)
    return found if isinstance(found, TextResults) else None


def _compute(expr: Any, index: int, texts: Dictionary, lower: Callable[[Any], Value | None]) -> TextResults | None:
    if any(dtype not in _RESULTS for dtype in physical_columns(expr.type).values()):
        return None
    value = lower(expr)
    if value is None:
        return None
    columns = value.as_columns("v")
    errors = [] if value.error is None else [value.error.alias("e")]
    frame = pl.LazyFrame({f"c{index}": texts.padded})
    try:
        made = frame.with_columns([*columns, *errors]).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    failed = made["e"] if errors and made["e"].max() else None
    results = {each.meta.output_name()[1:]: made[each.meta.output_name()] for each in columns}
    return TextResults(results, failed, value.bounds)


def take_results(results: TextResults, index: int, kind: SqlType) -> Value:
    """Returns an expression's value over the rows of a frame, from its results by code."""
    code = pl.col(f"c{index}")
    others = tuple((suffix, take(column, code)) for suffix, column in results.columns.items() if suffix)
    error = None if results.errors is None else take(results.errors, code)
    return Value(kind, take(results.columns[""], code), error, results.bounds, others)


def recode(results: TextResults, index: int, texts: Dictionary) -> tuple[Value, Dictionary]:
    """Returns results that are texts as codes over the rows of a frame, and their dictionary."""
    column = results.columns[""]
    key = "recoded", id(column)
    found = texts.memo.get(key)
    if found is None:
        found = column, *encode_texts(column)
        texts.memo.put(key, found)
    _, codes, made = found
    return Value(INT4, take(codes, pl.col(f"c{index}"))), made


def encode_texts(column: pl.Series) -> tuple[pl.Series, Dictionary]:
    """Returns texts as int32 codes, NULL for NULL, and their dictionary."""
    keys = column.drop_nulls().unique(maintain_order=True).alias("v")
    known = pl.DataFrame({"v": keys, "p": np.arange(len(keys), dtype=np.int32)})
    codes = column.alias("v").to_frame().join(known, on="v", how="left", maintain_order="left")["p"]
    return codes, Dictionary(keys)


def null_codes(expr: Any) -> Value | None:
    """Returns the codes of a text that is always NULL, whose dictionary is `NOTHING`; None for other expressions."""
    if isinstance(expr, bound.Constant) and expr.value is None and expr.type.name in TEXTS:
        return Value(INT4, pl.lit(None, pl.Int32), constant=True)
    return None


def rank_of(column: Any, texts: CodedTexts) -> Value:
    """Returns integers that sort as a coded column's texts do."""
    return Value(INT4, take(texts[column.index].padded_ranks, pl.col(f"c{column.index}")))


def translated(column: Any, texts: Dictionary, other: Dictionary) -> Value:
    """Returns a coded column's codes in another dictionary; -1 for texts that it lacks."""
    code = pl.col(f"c{column.index}")
    return Value(INT4, code if texts is other else take(texts.translate(other), code))


def common_texts(left: CodedTexts, right: CodedTexts) -> dict[int, Dictionary]:
    """Returns the columns that one dictionary encodes in two frames, or has all texts of."""
    found: dict[int, Dictionary] = {}
    for index, one in left.items():
        other = right.get(index)
        if other is one or other is NOTHING:
            found[index] = one
        elif other is not None and one is NOTHING:
            found[index] = other
    return found


def use_codes(exprs: Sequence[Any], texts: CodedTexts) -> tuple[tuple[Any, ...], dict[int, Dictionary]]:
    """Returns expressions with coded columns among them replaced by their codes, and those dictionaries by position."""
    found = {place: texts[each.index] for place, each in enumerate(exprs) if is_coded(each, texts)}
    return tuple(code_of(each) if place in found else each for place, each in enumerate(exprs)), found
