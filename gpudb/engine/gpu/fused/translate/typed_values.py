"""Translated values: a pipeline's expression, its SQL type, and the dictionary of its codes."""

from __future__ import annotations

import datetime as dt
import pickle
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.fused.ir.pipeline import BOOLEAN, Bounds, Expr, Literal
from gpudb.engine.gpu.fused.ir.pipeline import NotFused as NotFused
from gpudb.engine.gpu.lower.values import unscaled_digits
from gpudb.types import SqlType

WIDE = 2**63
TEXT = {"text", "varchar", "bpchar", "name", "unknown"}
PLAIN_TEXT = {"text", "varchar"}
"""Types whose columns may be stored as raw text."""
FLOATS = {"float4", "float8"}
INTEGERS = {"int2", "int4", "int8"}
TIMESTAMPS = {"timestamp", "timestamptz"}
SUPPORTED = INTEGERS | FLOATS | TEXT | TIMESTAMPS | {"bool", "date", "time", "oid", "numeric"}
_EPOCH = dt.datetime(1970, 1, 1)
_CACHED_TEXTS, _CACHED_BYTES = 1 << 16, 1 << 24
"""Dictionaries of at most this many texts and bytes cache the ranks of all texts, and their Arrow array."""
_SENT_SIZE = 1 << 14
"""Dictionaries of at most this many texts, and bytes, are sent whole to another process."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The distinct texts of codes from 0 on. `is_shared` says that the same texts yield the same object again."""

    values: pl.Series
    is_shared: bool = False

    def decode(self, codes: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None = None) -> pl.Series:
        """Decodes codes; NULL where they are not `valid`."""
        if valid is not None and not valid.any():
            return pl.Series([None] * len(codes), dtype=pl.String)
        # Series methods: dispatching an expression takes longer than all of them.
        found = self.values[codes if valid is None else np.where(valid, codes, 0)]
        return found if valid is None else found.zip_with(pl.Series(valid), pl.Series([None], dtype=pl.String))

    def rank(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns integers that sort as the codes' texts do; an empty dictionary returns the codes."""
        if not len(self.values):
            return codes
        if self._is_small:
            return self._ranks.take(codes)
        used, positions = np.unique(codes, return_inverse=True)
        return _rank_texts(self.values[used]).take(positions)

    def decode_to_arrow(self, codes: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None = None) -> pa.StringArray:
        """Decodes codes to an Arrow array; NULL where they are not `valid`."""
        positions = pa.array(codes, mask=None if valid is None else ~valid)
        if self._is_small:
            return self._arrow.take(positions)
        return self.decode(codes, valid).to_arrow().cast(pa.string())

    @cached_property
    def pickled(self) -> bytes | None:
        """All texts as a pickled list; None where they are too many bytes."""
        small = len(self.values) <= _SENT_SIZE and self.values.estimated_size() <= _SENT_SIZE
        return pickle.dumps(self.values.to_list()) if small else None

    @cached_property
    def _is_small(self) -> bool:
        return len(self.values) <= _CACHED_TEXTS and self.values.estimated_size() <= _CACHED_BYTES

    @cached_property
    def _ranks(self) -> np.ndarray[Any, Any]:
        return _rank_texts(self.values)

    @cached_property
    def _arrow(self) -> pa.StringArray:
        return self.values.to_arrow().cast(pa.string())


def _rank_texts(texts: pl.Series) -> np.ndarray[Any, Any]:
    """Returns the rank of each of distinct texts."""
    ranks = np.empty(len(texts), np.int64)
    ranks[texts.arg_sort().to_numpy()] = np.arange(len(texts))
    return ranks


class DictionaryRequired(NotFused):
    """A raw text column where dictionary codes are needed."""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A typed SQL expression. `display_scale` is that of a numeric of varying scale (NULL where the value is
    NULL).

    `raw_ascii` is not None for a raw text column, and says whether it is ASCII; its expression has no value.
    """

    type: SqlType
    expr: Expr
    dictionary: Dictionary | None = None
    display_scale: int | Expr | None = None
    raw_ascii: bool | None = None

    @property
    def scale(self) -> int:
        """Scale of a numeric; 0 for other types."""
        return self.type.numeric_digits[1] if self.type.name == "numeric" else 0

    @property
    def bounds(self) -> tuple[int, int]:
        """Bounds of an integer; NotFused for a float."""
        if self.expr.bounds is None:
            raise NotFused("a float where an integer is needed")
        return self.expr.bounds


def translate_constant(value: object, kind: SqlType) -> TypedValue:
    """Translates a constant other than text."""
    if kind.name not in SUPPORTED - TEXT:
        raise NotFused(f"a constant of type {kind.plain}")
    bounds: Bounds = None if kind.name in FLOATS else (0, 0)
    if value is None:
        return TypedValue(kind, Literal(bounds, True, None), display_scale=0)
    held: int | float
    display_scale = None
    match value:
        case bool():
            return TypedValue(kind, Literal(BOOLEAN, False, int(value), True))
        case _ if kind.name == "numeric":
            number = Decimal(str(value))
            held = unscaled_digits(number, kind.numeric_digits[1])
            exponent = number.as_tuple().exponent
            display_scale = max(0, -exponent) if isinstance(exponent, int) else 0
        case int() | float():
            held = float(value) if kind.name in FLOATS else int(value)
        case dt.datetime():
            moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            held = (moment - _EPOCH) // dt.timedelta(microseconds=1)
        case dt.date():
            held = (value - _EPOCH.date()).days
        case dt.time():
            held = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case _:
            raise NotFused(f"a constant of type {kind.plain}")
    return TypedValue(
        kind, Literal((held, held) if isinstance(held, int) else None, False, held, True), display_scale=display_scale
    )
