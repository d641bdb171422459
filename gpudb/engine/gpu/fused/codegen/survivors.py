"""The rows that are left where these are few, as CUDA C++: one after the other, each as if it were its thread's first.

So what comes after the steps that leave few is not done for the places of all rows of a thread, of which a warp's lanes
have one or two. Columns and partners are read again, or for the first time, when a row first needs them.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.probes import Probes
from gpudb.engine.gpu.fused.columns.packed_column import Form
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Lookup
from gpudb.engine.gpu.fused.ir.traversal import fields_of, lookups_of


class RowsLeft:
    """Writes what a row needs: columns, and the partners that steps before have found."""

    def __init__(self, probes: Probes, out: Emitter) -> None:
        self._probes, self._out = probes, out
        self._loaded: set[int] = set()
        self._again: set[int] = set()

    def begin(self) -> None:
        """The next row of the thread's, of which some are left."""
        self._out.line("const int at = __ffs(alive) - 1, v = 0;")
        self._out.line("const i64 row = first + at;")
        self._out.line("alive &= alive - 1;")

    def ready(self, exprs: Iterable[Expr]) -> None:
        """All that some expressions of the row read."""
        exprs = list(exprs)
        wanted = {number for each in exprs for number in lookups_of(each)}
        again: list[Lookup] = []
        # The keys of a lookup may be payloads of ones before it.
        for step in reversed(self._probes.together):
            if isinstance(step, Lookup) and step.number in wanted - self._again:
                again.insert(0, step)
                if not self._probes.kept:
                    wanted |= {number for each in step.keys for number in lookups_of(each)}
        read = [*exprs, *(key for step in again for key in step.keys if not self._probes.kept)]
        new = {column for each in read for column in fields_of(each)} - self._loaded
        load_row(self._out, new)
        self._loaded |= new
        for step in again:
            self._again.add(step.number)
            self._probes.again(step, "at")


def load_row(out: Emitter, columns: Iterable[int]) -> None:
    """Columns of one row, as the thread's first."""
    for column in sorted(columns):
        form = out.forms[column]
        out.line(f"{word_of(form)} f{column}[1];")
        out.line(f"load_row<{form.width}>(d{column}, row, f{column});")
        if form.nullable:
            out.line(f"const u32 n{column} = load_valid_row(b{column}, row);")


def word_of(form: Form) -> str:
    """The type that holds a value as it is stored."""
    return "u64" if form.width == 8 else "u32"
