"""Computed rows with some texts as codes, which stay codes between stages of one worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.base import ComputedFrame, DeviceColumn, DictionaryColumn
from gpudb.engine.gpu.backend.dictionary import Dictionary


@dataclass(frozen=True, eq=False)
class CodedFrame:
    """Computed rows: `codes` has int32 codes in place of some texts, by column; `decode` decodes all of them.

    Read as any other rows they have texts. The texts are decoded once, when they are first read.
    """

    codes: ComputedFrame
    texts: Mapping[str, Dictionary]
    decode: Callable[[pl.LazyFrame, Mapping[str, Dictionary]], ComputedFrame]

    @cached_property
    def plain(self) -> ComputedFrame:
        """The rows with texts."""
        return self.decode(self.codes.lazy, self.texts)

    @property
    def by_place(self) -> dict[int, Dictionary]:
        """The dictionaries of the columns c0, c1, … by their numbers."""
        return {int(name[1:]): each for name, each in self.texts.items()}

    @property
    def lazy(self) -> pl.LazyFrame:
        """See `ComputedFrame`."""
        return self.plain.lazy

    @property
    def rows(self) -> int:
        """See `ComputedFrame`."""
        return self.codes.rows

    @property
    def bytes(self) -> int:
        """See `ComputedFrame`; the bytes of the codes."""
        return self.codes.bytes

    def to_polars(self) -> pl.DataFrame:
        """See `ComputedFrame`."""
        return self.plain.to_polars()

    def column(self, name: str) -> pl.Series:
        """See `ComputedFrame`."""
        return self._holder(name).column(name)

    def device_column(self, name: str) -> DeviceColumn | None:
        """See `ComputedFrame`."""
        return self._holder(name).device_column(name)

    def dictionary_column(self, name: str) -> DictionaryColumn | None:
        """See `ComputedFrame`."""
        return self._holder(name).dictionary_column(name)

    def count_distinct(self, name: str) -> int:
        """See `ComputedFrame`."""
        return self.codes.count_distinct(name)

    def add_columns(self, columns: pl.DataFrame | ComputedFrame) -> ComputedFrame:
        """See `ComputedFrame`."""
        return self.plain.add_columns(columns)

    def dtype(self, name: str) -> pl.DataType:
        """See `ComputedFrame`."""
        return self.plain.dtype(name)

    def select(self, names: Mapping[str, str]) -> ComputedFrame:
        """See `ComputedFrame`."""
        return self.plain.select(names)

    def max_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self.codes.max_integer(name)

    def min_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self.codes.min_integer(name)

    def fits_int64(self, name: str) -> bool:
        """See `ComputedFrame`."""
        return self.codes.fits_int64(name)

    def null_count(self, name: str) -> int:
        """See `ComputedFrame`."""
        return self.codes.null_count(name)

    def _holder(self, name: str) -> ComputedFrame:
        return self.plain if name in self.texts else self.codes


def decode_rows(rows: Any) -> Any:
    """Returns computed rows with texts in place of codes."""
    return rows.plain if isinstance(rows, CodedFrame) else rows
