"""Columns of csv text in GPU memory: KvikIO reads the bytes, kernels find the fields and parse them (kernels/csv.cu).

Only plain text is read here: without quotes, and with as many fields in each row as there are columns. Of its columns
those of integers, numerics of up to 18 digits, floats of up to 15, booleans, dates and texts are. Everything else is
read on the host, which also finds what is wrong with a value.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.arrays import make_column, pack_mask
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.fused.codegen.building_blocks import read_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.types import SqlType
from gpudb.types.facts import INTEGER_LIMITS, INTEGERS

_BLOCK_THREADS = 256
_NEWLINE, _RETURN = 10, 13
_INTEGER, _NUMERIC, _FLOAT, _BOOLEAN, _DATE = range(5)
_MAX_SMALL_OFFSET = (1 << 31) - 1
_MAX_DIGITS = 18
_TEXTS = ("text", "varchar")
Blocks = Sequence[tuple[int, int, int]]
"""Offset, bytes and rows of each block."""


def read_csv_columns(
    file: Any, blocks: Blocks, names: Sequence[str], wanted: Mapping[str, SqlType], options: Mapping[str, object]
) -> dict[str, Any]:
    """Reads columns of whole blocks from a file that KvikIO has open; leaves out those that need the host.

    Results are on the calling thread's stream. Raises EOFError for a file that ends early.
    """
    current_stream()  # CuPy allocates on it
    if options["null"] or any(len(str(options[each])) != 1 for each in ("delimiter", "quote")):
        return {}
    fields = _Fields.find(_read(file, blocks), blocks, len(names), options)
    if fields is None:
        return {}
    found = {}
    for name, type in wanted.items():
        column = names.index(name)
        made = fields.texts(column) if type.name in _TEXTS else fields.values(column, type)
        if made is not None:
            found[name] = made
    synchronize()
    return found


def _read(file: Any, blocks: Blocks) -> Any:
    """Reads blocks next to each other, and a newline after the last one if it has none."""
    size = sum(each for _, each, _ in blocks)
    data = cupy.empty(size + 1, np.uint8)
    synchronize()
    coming, start = [], 0
    for offset, length, _ in blocks:
        coming.append((file.pread(data[start : start + length], length, offset), length))
        start += length
    if any(future.get() != length for future, length in coming):
        raise EOFError("the file ends early")
    data[size] = _NEWLINE
    return data if int(data[size - 1]) != _NEWLINE else data[:size]


class _Fields:
    """The fields of text: its bytes, and the places of the separators after them."""

    def __init__(self, data: Any, ends: Any, rows: int, columns: int) -> None:
        self._data, self._ends, self._rows, self._columns = data, ends, rows, columns
        self._ascii: bool | None = None

    @classmethod
    def find(cls, data: Any, blocks: Blocks, columns: int, options: Mapping[str, object]) -> _Fields | None:
        """Returns the fields of text; None for text that is not plain."""
        delimiter, quote = (ord(str(options[each])) for each in ("delimiter", "quote"))
        if bool(((data == quote) | (data == _RETURN)).any()):
            return None
        ends = cupy.flatnonzero((data == delimiter) | (data == _NEWLINE))
        rows = sum(each for _, _, each in blocks)
        if len(ends) != rows * columns:
            return None
        lines = (data[ends] == _NEWLINE).reshape(rows, columns)
        if not bool(lines[:, -1].all()) or bool(lines[:, :-1].any()):
            return None
        return cls(data, ends.astype(np.int64), rows, columns)

    def values(self, column: int, type: SqlType) -> Any | None:
        """Returns a column that is not of texts; None if the host is to read it."""
        known = _describe(type)
        if known is None:
            return None
        kind, scale, limit, stored = known
        values, valid = cupy.empty(self._rows, np.int64), cupy.empty(self._rows, np.uint8)
        refused = cupy.zeros(1, np.int32)
        _kernels.start(
            "parse_csv", self._rows, self._data, self._ends, np.int64(self._rows), np.int32(self._columns),
            np.int32(column), np.int32(kind), np.int32(scale), np.int64(limit), values, valid, refused,
        )  # fmt: skip
        if int(refused[0]):
            return None
        if stored == plc.TypeId.FLOAT64:
            values = values.view(np.float64)
        elif stored == plc.TypeId.BOOL8:
            values = values.astype(np.uint8)
        elif stored == plc.TypeId.TIMESTAMP_DAYS:
            values = values.astype(np.int32)
        there = valid.view(np.bool_)
        return make_column(plc.DataType(stored), self._rows, values, None if bool(there.all()) else there)

    def texts(self, column: int) -> Any | None:
        """Returns a column of texts; None if the host is to read it, since their encoding must be checked."""
        if self._ascii is None:
            self._ascii = not bool((self._data & 0x80).any())
        if not self._ascii:
            return None
        lengths, valid = cupy.empty(self._rows, np.int64), cupy.empty(self._rows, np.uint8)
        where = np.int64(self._rows), np.int32(self._columns), np.int32(column)
        _kernels.start("measure_csv", self._rows, self._ends, *where, lengths, valid)
        offsets = cupy.zeros(self._rows + 1, np.int64)
        cupy.cumsum(lengths, out=offsets[1:])
        size = int(offsets[-1])
        texts = cupy.empty(size, np.uint8)
        _kernels.start("copy_csv", self._rows, self._data, self._ends, *where, offsets, texts)
        small = size <= _MAX_SMALL_OFFSET
        kind = plc.DataType(plc.TypeId.INT32 if small else plc.TypeId.INT64)
        child = make_column(kind, self._rows + 1, offsets.astype(np.int32) if small else offsets, None)
        there = valid.view(np.bool_)
        mask, nulls = (None, 0) if bool(there.all()) else pack_mask(there)
        data = plc.gpumemoryview(texts) if size else None
        return plc.Column(plc.DataType(plc.TypeId.STRING), self._rows, data, mask, nulls, 0, [child])


def _describe(type: SqlType) -> tuple[int, int, int, Any] | None:
    """Returns the kernel's kind, scale and limit for a type, and the libcudf type of its values."""
    if type.name in INTEGERS:
        return _INTEGER, 0, INTEGER_LIMITS[type.name][1], plc.TypeId.INT64
    if type.name == "numeric" and type.numeric_digits[0] <= _MAX_DIGITS:
        digits, scale = type.numeric_digits
        return _NUMERIC, scale, 10**digits - 1, plc.TypeId.INT64
    match type.name:
        case "float8":
            return _FLOAT, 0, 0, plc.TypeId.FLOAT64
        case "bool":
            return _BOOLEAN, 0, 0, plc.TypeId.BOOL8
        case "date":
            return _DATE, 0, 0, plc.TypeId.TIMESTAMP_DAYS
    return None


class _CsvKernels:
    """The kernels, compiled and loaded when one is first started; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._module: Any = None
        self._functions: dict[str, Any] = {}

    def start(self, name: str, rows: int, *arguments: Any) -> None:
        """Starts a kernel with a thread a row on the calling thread's stream."""
        if not rows:
            return
        function = self._functions.get(name) or self._load(name)
        function((-(-rows // _BLOCK_THREADS),), (_BLOCK_THREADS,), arguments)

    def _load(self, name: str) -> Any:
        with self._lock:
            if self._module is None:
                architecture = f"sm_{cupy.cuda.Device().compute_capability}"
                module = cupy.cuda.function.Module()
                module.load(nvrtc.compile_source(read_source("csv.cu"), {}, architecture).cubin)
                self._module = module
            return self._functions.setdefault(name, self._module.get_function(name))


_kernels = _CsvKernels()
