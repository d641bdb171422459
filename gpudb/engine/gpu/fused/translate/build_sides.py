"""Build sides of a fused part: collects the columns that its expressions read, as payloads of lookups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.fused.ir.pipeline import Arithmetic, Expr, Literal, Payload
from gpudb.engine.gpu.fused.translate import lookup_tables
from gpudb.engine.gpu.fused.translate.typed_values import SUPPORTED, TEXT, Dictionary, NotFused, TypedValue
from gpudb.types import INT2, INT8, SqlType

MANY_ROWS, _MANY_TEXTS = 1_000_000, 1 << 17
"""In build sides of more than MANY_ROWS rows, columns of more than this many distinct texts get no dictionary."""
_SPLIT_DIVISOR, _SPLIT_LIMIT = 1 << 62, 1 << 124
"""Divisor that splits a numeric of more than 64 bits, and the limit beyond which two payloads cannot hold it."""


@dataclass
class BuildSide:
    """A build side during translation; collects the columns that expressions read."""

    number: int
    rows: ComputedFrame
    types: tuple[SqlType, ...]
    kind: str
    columns: list[lookup_tables.BuildColumn] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def value(self, index: int) -> TypedValue:
        kind = self.types[index]
        if kind.name not in SUPPORTED:
            raise NotFused(f"a build side's column of type {kind.plain}")
        display_scale = self._payload(f"c{index}s", INT2)[0] if kind.is_carried else None
        if kind.name == "numeric" and (wide := self._split_numeric(f"c{index}")) is not None:
            return TypedValue(kind, wide, display_scale=display_scale)
        payload, dictionary = self._payload(f"c{index}", kind)
        return TypedValue(kind, payload, dictionary, display_scale)

    def _split_numeric(self, name: str) -> Expr | None:
        """Splits a numeric of more than 64 bits into two payloads; None for a narrower one."""
        if name in self.places or self.rows.device_column(name) is not None:
            return None
        series = self.rows.column(name)
        if series.dtype != pl.Int128:
            return None
        ends: list[Any] = [series.min(), series.max()]
        if ends[0] is None or max(-ends[0], ends[1]) < 2**63:
            return None
        if max(-ends[0], ends[1]) >= _SPLIT_LIMIT:
            raise NotFused("a numeric of more than 124 bits")
        half = pl.lit(_SPLIT_DIVISOR, pl.Int128)
        parts = series.to_frame("v").select(h=pl.col("v") // half, l=pl.col("v") - pl.col("v") // half * half)
        found: list[Expr] = []
        for part in parts:
            self.places[name + part.name] = len(self.columns)
            self.columns.append(lookup_tables.column_from_series(part.cast(pl.Int64), INT8))
            found.append(self._payload(name + part.name, INT8)[0])
        most = found[0].bounds
        assert most is not None
        scaled = Arithmetic(
            (most[0] * _SPLIT_DIVISOR, most[1] * _SPLIT_DIVISOR),
            found[0].nullable,
            "*",
            found[0],
            Literal((_SPLIT_DIVISOR, _SPLIT_DIVISOR), False, _SPLIT_DIVISOR),
        )
        return Arithmetic((ends[0], ends[1]), found[0].nullable, "+", scaled, found[1])

    def _payload(self, name: str, kind: SqlType) -> tuple[Payload, Dictionary | None]:
        if name not in self.places:
            self.places[name] = len(self.columns)
            self.columns.append(self.column(name, kind))
        position = self.places[name]
        made = self.columns[position]
        nullable = made.valid is not None or self.kind == "left"
        return Payload(made.bounds, nullable, self.number, position), made.dictionary

    def column(self, name: str, kind: SqlType) -> lookup_tables.BuildColumn:
        """Returns a column, on the device that holds its rows unless they are few."""
        if kind.name in TEXT:
            if self.rows.rows > MANY_ROWS and self.rows.count_distinct(name) > _MANY_TEXTS:
                raise NotFused("too many texts in a build side")
            return self.text_column(name, kind)
        arrays = self.rows.device_column(name)
        return (
            lookup_tables.column_from_series(self.rows.column(name), kind)
            if arrays is None
            else lookup_tables.column_from_device(arrays, kind)
        )

    def text_column(self, name: str, kind: SqlType, dictionary: Dictionary | None = None) -> lookup_tables.BuildColumn:
        """Returns a text column as codes of a given or a new dictionary, on the device of its rows unless
        they are few.
        """
        coded = self.rows.dictionary_column(name)
        if coded is None:
            return lookup_tables.column_from_series(self.rows.column(name), kind, dictionary)
        return lookup_tables.column_from_codes(coded, kind, dictionary)
