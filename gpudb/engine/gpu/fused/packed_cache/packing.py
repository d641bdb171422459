"""Packs decoded columns with kernels (kernels/pack*.cu); the host waits once for the value ranges of several columns.

For each fixed-width column one kernel finds the least and greatest value of each zone, and one the units that divide
the values. One copy transfers the results to the host, which chooses each column's encoding; then a kernel per column
writes it. `columns.packed_column` does the same with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.building_blocks import read_source
from gpudb.engine.gpu.fused.columns import text_columns as texts
from gpudb.engine.gpu.fused.columns.packed_column import (
    UNITS,
    Encoding,
    PackedColumn,
    choose_encoding,
    common_encoding,
    padded_bytes,
)
from gpudb.engine.gpu.fused.columns.text_columns import RawText
from gpudb.engine.gpu.fused.columns.zones import EMPTY, Zones, concatenate_zones, zone_ends
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, ValidityBits
from gpudb.engine.gpu.fused.unsupported import NotFused

BLOCK_THREADS = 256
_ROWS_PER_THREAD = 64
"""Rows per thread in the kernels that survey values."""
_WIDE_BIT = 8
"""The flag bit for values of more than 64 bits."""
_NULL = np.int64(0)

StartKernel = Callable[[str, int, Sequence[Any]], None]
"""Starts a kernel: its name, the number of blocks, and arguments (arrays and NumPy scalars)."""


VALUE_TYPES = "i32", "i64", "u8", "i8", "i16", "i128"
"""Types of values that kernels are compiled for, the most frequent first."""
TEXT_KERNELS = "text_starts", "text_ends", "text_bytes", "recode"
"""Kernels for texts."""


def packing_source(kind: str = "i64") -> str:
    """Returns the source of the kernels for a type of values and for packed columns, or of those for texts."""
    return read_source("pack_texts.cu") if kind == "texts" else f"{read_source('pack.cu')}\nOF({kind})\n"


def source_of_kernel(name: str) -> str:
    """Returns which `packing_source` contains a kernel."""
    return "texts" if name in TEXT_KERNELS else name.partition("_")[2] or "i64"


class Packer:
    """Packs columns in arrays of `xp` (CuPy) with kernels that `launch` starts in order."""

    def __init__(self, xp: Any, launch: StartKernel) -> None:
        self._xp, self._launch = xp, launch

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        """Packs fixed-width columns; one that needs more than 64 bits per value yields NotFused in its place."""
        columns = [_DecodedChunk(chunk) for chunk in chunks]
        looked = [each for each in columns if not each.is_float and each.rows]
        if looked:
            self._survey(looked)
        return [self._write(each) for each in columns]

    def _survey(self, columns: Sequence[_DecodedChunk]) -> None:
        """Surveys the values of columns, and waits for the results."""
        ends = np.cumsum([len(each.survey) for each in columns])
        words = self._xp.asarray(np.concatenate([each.survey for each in columns]))
        for each, end in zip(columns, ends, strict=True):
            position = words[int(end) - len(each.survey) : int(end)]
            arguments = (*each.arguments, np.int64(each.rows), position, np.int64(each.zones))
            for name in ("survey", "steps"):
                self._launch(f"{name}_{each.kind}", -(-each.rows // (BLOCK_THREADS * _ROWS_PER_THREAD)), arguments)
        found = words.get()
        for each, end in zip(columns, ends, strict=True):
            each.survey = found[int(end) - len(each.survey) : int(end)]

    def _write(self, column: _DecodedChunk) -> PackedColumn | NotFused:
        """Writes a column whose values have been surveyed."""
        rows, state = column.rows, int(column.survey[0])
        if state >> _WIDE_BIT & 1:
            return NotFused("a numeric of more than 64 bits")
        nullable = column.bits is not None
        valid = self._concatenate_bits(rows, [(column.bits, rows)]) if nullable else None
        zones = None if column.is_float else column.bounds
        low, high = None, None
        base, unit, width = 0, 1, column.width if column.is_float else 1
        if zones is not None and zones.bounds is not None:
            low, high = zones.bounds
            base, unit, width = choose_encoding(low, high, lambda _, unit: not state >> UNITS.index(unit) & 1)
        data = self._xp.empty(padded_bytes(rows, width), np.uint8)
        padded = padded_bytes(rows, 1)
        arguments = (
            *column.arguments,
            np.int64(rows),
            np.int64(padded),
            np.int64(base),
            np.uint64(unit),
            np.int32(width),
        )
        self._launch(f"pack_{column.kind}", -(-padded // BLOCK_THREADS), (*arguments, data))
        return PackedColumn(Encoding(width, unit, column.is_float, nullable), base, rows, data, valid, low, high, zones)

    def pack_codes(self, chunk: ColumnChunk, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """Packs a text column, given as int32 indexes of its texts, by the texts' codes in a dictionary."""
        rows = len(chunk.values)
        held = self._xp.empty(rows, np.int32)
        if rows:
            arguments = (
                chunk.values,
                np.int64(rows),
                self._xp.asarray(codes.astype(np.int32)),
                np.int32(len(codes) - 1),
            )
            self._launch("recode", -(-rows // BLOCK_THREADS), (*arguments, held))
        (made,) = self.pack([ColumnChunk(held, chunk.valid)])
        assert isinstance(made, PackedColumn)
        return made

    def raw_text_chunk(self, data: Any, ends: Any, valid: ValidityBits | None) -> PackedColumn:
        """Returns a chunk of raw text that is to be concatenated; `ends` are its end offsets (int32 or int64)."""
        rows = len(ends)
        bitmap = self._concatenate_bits(rows, [(valid, rows)]) if valid is not None else None
        held = RawText(ends, None, data, len(data), ascii=False)
        return PackedColumn(
            Encoding(4, 1, False, valid is not None, True), 0, rows, None, bitmap, None, None, None, held
        )

    def concatenate(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """Concatenates columns of one type; raises NotFused for texts that are too long."""
        if parts and parts[0].encoding.is_text:
            return self._concatenate_text(parts)
        if len(parts) == 1:
            return parts[0]
        encoding, base, low, high = common_encoding(parts)
        rows = sum(part.rows for part in parts)
        data = self._xp.zeros(padded_bytes(rows, encoding.width), np.uint8)
        start = 0
        for part in parts:
            if part.rows:
                have = part.encoding
                arguments = (
                    *(part.data, _NULL if part.valid is None else part.valid, np.int64(part.rows)),
                    *(np.int32(have.width), np.int64(part.base), np.uint64(have.unit)),
                    *(data, np.int64(start), np.int32(encoding.width), np.int64(base), np.uint64(encoding.unit)),
                )
                self._launch("repack", -(-part.rows // BLOCK_THREADS), arguments)
            start += part.rows
        masks = [(None if part.valid is None else ValidityBits(part.valid, 0), part.rows) for part in parts]
        valid = self._concatenate_bits(rows, masks) if encoding.nullable else None
        zones = concatenate_zones([(part.rows, part.zones) for part in parts])
        return PackedColumn(encoding, base, rows, data, valid, low, high, zones)

    def _concatenate_text(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        held = [part.texts for part in parts if part.texts is not None]
        if len(held) == 1 and held[0].starts is not None:
            return parts[0]
        rows, size = sum(part.rows for part in parts), sum(each.size for each in held)
        group_bits = texts.GROUP_ROWS.bit_length() - 1
        ends = self._xp.zeros(padded_bytes(rows, 1), np.uint32)
        starts = self._xp.zeros((rows >> group_bits) + 1, np.int64)
        data, beyond = self._xp.zeros(texts.padded_text_bytes(size), np.uint8), self._xp.zeros(1, np.uint32)
        arguments, start, before = [], 0, 0
        for part, each in zip(parts, held, strict=True):
            width = 0 if each.starts is not None else each.ends.dtype.itemsize
            own = each.ends, np.int32(width), _NULL if each.starts is None else each.starts, np.int32(group_bits)
            arguments.append((*own, np.int64(part.rows), np.int64(start), np.int64(before)))
            if part.rows:
                self._launch(
                    "text_starts", -(-((part.rows >> group_bits) + 1) // BLOCK_THREADS), (*arguments[-1], starts)
                )
            if each.size:
                copied = each.data, np.int64(each.size), data, np.int64(before), beyond
                self._launch("text_bytes", -(-each.size // BLOCK_THREADS), copied)
            start, before = start + part.rows, before + each.size
        for part, some in zip(parts, arguments, strict=True):
            if part.rows:
                self._launch("text_ends", -(-part.rows // BLOCK_THREADS), (*some, starts, ends))
        if np.diff(starts.get(), append=size).max() >= 2**32:
            raise NotFused(texts.TOO_LONG)
        masks = [(None if part.valid is None else ValidityBits(part.valid, 0), part.rows) for part in parts]
        nullable = any(part.encoding.nullable for part in parts)
        valid = self._concatenate_bits(rows, masks) if nullable else None
        made = RawText(ends, starts, data, size, not int(beyond.get()[0]))
        return PackedColumn(Encoding(4, 1, False, nullable, True), 0, rows, None, valid, None, None, None, made)

    def _concatenate_bits(self, rows: int, masks: Sequence[tuple[ValidityBits | None, int]]) -> Any:
        """Concatenates bitmaps, each with its number of rows (None: all valid)."""
        made = self._xp.zeros(padded_bytes(rows, 1) // 8, np.uint8)
        start = 0
        for mask, count in masks:
            if count:
                blocks = -(-(count // 32 + 2) // BLOCK_THREADS)
                arguments = (_NULL, _NULL) if mask is None else (mask.data, np.int64(mask.first))
                self._launch("bits", blocks, (*arguments, np.int64(count), made, np.int64(start)))
            start += count
        return made


class _DecodedChunk:
    """A chunk as kernel arguments; `survey` holds what they find out of its values."""

    def __init__(self, chunk: ColumnChunk) -> None:
        values = chunk.values
        self.rows = len(values)
        self.is_float = values.dtype.kind == "f"
        self.width: int = values.dtype.itemsize
        bits = 8 * values.dtype.itemsize * (values.shape[1] if values.ndim == 2 else 1)
        self.kind = f"{'u' if values.dtype.kind == 'u' else 'i'}{bits}"
        self.bits: ValidityBits | None = chunk.valid
        self.arguments = (
            values,
            *((_NULL, _NULL) if self.bits is None else (self.bits.data, np.int64(self.bits.first))),
        )
        self.zones = len(zone_ends(self.rows))
        self.survey: np.ndarray[Any, Any] = np.repeat((0, *EMPTY), (1, self.zones, self.zones))

    @property
    def bounds(self) -> Zones:
        return Zones(zone_ends(self.rows), self.survey[1 : 1 + self.zones], self.survey[1 + self.zones :])
