"""Emits the processing of remaining rows where they are few: one by one, each as if it were its thread's first.

So the steps that follow do not run for all row positions of a thread, while a warp's lanes have one or two rows each.
Columns and matches are read again, or for the first time, when a row needs them.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.probes import LookupWriter
from gpudb.engine.gpu.fused.columns.packed_column import Encoding
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Lookup
from gpudb.engine.gpu.fused.ir.traversal import columns_read, lookups_read


class SurvivorWriter:
    """Emits the reads of a row: columns, and the matches that earlier steps found."""

    def __init__(self, probes: LookupWriter, out: Emitter) -> None:
        self._probes, self._out = probes, out
        self._loaded: set[int] = set()
        self._found_again: set[int] = set()

    def next_row(self) -> None:
        """Emits the step to the thread's next remaining row."""
        self._out.emit("const int at = __ffs(alive) - 1, v = 0;")
        self._out.emit("const i64 row = first + at;")
        self._out.emit("alive &= alive - 1;")

    def load_for(self, exprs: Iterable[Expr]) -> None:
        """Emits the reads that expressions of the row need."""
        exprs = list(exprs)
        needed = {number for each in exprs for number in lookups_read(each)}
        again: list[Lookup] = []
        # A lookup's keys may be payloads of earlier lookups.
        for step in reversed(self._probes.joint_steps):
            if isinstance(step, Lookup) and step.number in needed - self._found_again:
                again.insert(0, step)
                if not self._probes.keeps_matches:
                    needed |= {number for each in step.keys for number in lookups_read(each)}
        read = [*exprs, *(key for step in again for key in step.keys if not self._probes.keeps_matches)]
        new = {column for each in read for column in columns_read(each)} - self._loaded
        emit_row_loads(self._out, new)
        self._loaded |= new
        for step in again:
            self._found_again.add(step.number)
            self._probes.find_again(step, "at")


def emit_row_loads(out: Emitter, columns: Iterable[int]) -> None:
    """Emits the loads of columns of one row, as the thread's first."""
    for column in sorted(columns):
        encoding = out.encodings[column]
        out.emit(f"{stored_type(encoding)} f{column}[1];")
        out.emit(f"load_row<{encoding.width}>(d{column}, row, f{column});")
        if encoding.nullable:
            out.emit(f"const u32 n{column} = load_valid_row(b{column}, row);")


def stored_type(encoding: Encoding) -> str:
    """Returns the C++ type of a stored value."""
    return "u64" if encoding.width == 8 else "u32"
