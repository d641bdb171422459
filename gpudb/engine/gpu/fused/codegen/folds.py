"""Emits the states of PL/CUDA aggregates: cells of each thread's own, which are merged when its rows are through.

A single group's cell is in registers, the cells of a few groups are in shared memory. Then the cells of a block are
merged in pairs; the last block to finish merges those of all blocks, and with them the words that launches before have
left.
"""

from __future__ import annotations

from gpudb.engine.gpu.fused.codegen.bodies import fold_label
from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.probes import Parameters
from gpudb.engine.gpu.fused.ir.pipeline import FoldInput, GroupSink
from gpudb.engine.gpu.fused.unsupported import NotFused
from gpudb.plcuda.source import TYPES, c_type

MAX_BLOCKS = 4096
"""The blocks of a launch, at most: more than are resident on any device."""
MAX_BYTES = 160 * 1024
"""Shared memory for the cells of a block."""
_FLAG_BYTES = 16
_USUAL_THREADS = 256
"""Threads of a block, unless it has large bitmaps."""


def cell_bytes(fold: FoldInput) -> int:
    """Returns the size of a cell, as C++ lays it out."""
    sizes = [int(TYPES[item.name][1][1]) for item in fold.aggregate.fields]
    most, place = max(sizes), 0
    for size in sizes:
        place = -(-place // size) * size + size
    return -(-place // most) * most + most


def list_folds(sink: GroupSink) -> list[tuple[int, FoldInput]]:
    """Returns the folds of a sink, each with the number of its first word."""
    return [
        (number, each.value)
        for number, each in enumerate(sink.accumulators)
        if isinstance(each.value, FoldInput) and not each.word
    ]


def check_folds(sink: GroupSink) -> None:
    """Raises NotFused for folds of more groups than a block has cells for."""
    size = sum(cell_bytes(fold) for _, fold in list_folds(sink)) * _USUAL_THREADS
    if size and (sink.storage == "hash" or size * (1 if sink.storage == "one" else sink.slots) > MAX_BYTES):
        raise NotFused("a PL/CUDA aggregate of many groups")


class FoldWriter:
    """Emits a sink's folds."""

    def __init__(self, sink: GroupSink, out: Emitter) -> None:
        self._sink, self._out = sink, out
        self.folds = list_folds(sink)
        self._slots = 1 if sink.storage == "one" else sink.slots
        self._offset = 0

    def reserve(self, offset: int, block: int) -> int:
        """Places the cells of a block from an offset of its shared memory on; returns their bytes."""
        if not self.folds:
            return 0
        self._offset = -(-offset // 16) * 16
        size = sum(-(-cell_bytes(fold) * self._slots * block // 16) * 16 for _, fold in self.folds)
        if size > MAX_BYTES or self._sink.storage == "hash":
            raise NotFused("a PL/CUDA aggregate of many groups")
        self._block = block
        return self._offset - offset + _FLAG_BYTES + size

    @property
    def parameters(self) -> Parameters:
        """The cells of all blocks, by fold, and the number of blocks that have finished."""
        found: Parameters = []
        for number, fold in self.folds:
            kind = f"{fold_label(fold.aggregate)}_cell*"
            found.append((kind, f"blocks_{number}", ("fold cells", str(number))))
        return [*found, ("u32*", "ticket", ("fold ticket",))] if found else []

    def begin(self) -> None:
        """Emits empty cells."""
        out, place = self._out, self._offset + _FLAG_BYTES
        for number, fold in self.folds:
            kind = f"{fold_label(fold.aggregate)}_cell"
            out.emit(f"{kind}* const cells_{number} = ({kind}*)((u8*)shared + {out.parameter(place, 'int')});")
            out.emit(f'static_assert(sizeof({kind}) == {cell_bytes(fold)}, "the layout of a cell");')
            place += -(-cell_bytes(fold) * self._slots * self._block // 16) * 16
            if self._sink.storage == "one":
                out.emit(f"{kind} cell_{number};")
                out.emit(f"{fold_label(fold.aggregate)}_begin(cell_{number});")
        if self.folds:
            out.emit(f"const u32 folded = {out.parameter(self._slots, 'u32')};")
        if self.folds and self._sink.storage != "one":
            with out.block("for (u32 s = 0; s < folded; ++s)"):
                for number, fold in self.folds:
                    out.emit(f"{fold_label(fold.aggregate)}_begin(cells_{number}[s * blockDim.x + threadIdx.x]);")

    def write_row(self, slot: str) -> None:
        """Emits what a row adds to the cells of a slot."""
        out = self._out
        for number, fold in self.folds:
            condition = "true" if fold.keep is None else out.condition(fold.keep)
            with out.block(f"if ({condition})"):
                given = []
                for arg, item in zip(fold.args, fold.aggregate.arguments, strict=True):
                    value, valid = out.value(arg)
                    if valid is not None and item.name == "float8":
                        value = f"computed_here({value})"
                    given.append(f"({c_type(item)}){value}, {valid or 'true'}")
                label, cell = fold_label(fold.aggregate), f"cell_{number}"
                held = f"cells_{number}[{slot} * blockDim.x + threadIdx.x]"
                out.emit("int failed = 0;")
                if self._sink.storage != "one":
                    # A copy, stored for a row that adds nothing too: without branches.
                    cell = "own"
                    out.emit(f"{label}_cell own = {held};")
                out.emit(f"{label}_step({', '.join([cell, 'failed', *given])});")
                if self._sink.storage != "one":
                    out.emit(f"{held} = own;")
                if fold.aggregate.transition.errors:
                    out.emit(f"if (failed) error = max(error, {fold.code - 1} + failed);")

    def end(self) -> None:
        """Emits the merge of all cells into the words."""
        if not self.folds:
            return
        out = self._out
        if self._sink.storage == "one":
            for number, _ in self.folds:
                out.emit(f"cells_{number}[threadIdx.x] = cell_{number};")
        out.emit("int failed = 0;")
        for number, fold in self.folds:
            self._merge_threads(number, fold)
        out.emit("__syncthreads();")
        with out.block("for (u32 s = threadIdx.x; s < folded; s += blockDim.x)"):
            for number, _ in self.folds:
                out.emit(f"blocks_{number}[(u64)blockIdx.x * folded + s] = cells_{number}[s * blockDim.x];")
        out.emit("__threadfence();")
        out.emit("__syncthreads();")
        flag = out.parameter(self._offset, "int")
        out.emit(f"u32* const last = (u32*)((u8*)shared + {flag});")
        out.emit("if (threadIdx.x == 0) *last = atomicAdd(ticket, 1u) == gridDim.x - 1;")
        out.emit("__syncthreads();")
        out.emit("if (!*last) return;")
        out.emit("__threadfence();")
        for number, fold in self.folds:
            label = fold_label(fold.aggregate)
            with out.block("for (u32 s = 0; s < folded; ++s)"):
                out.emit(f"{label}_cell cell = {{}};")
                with out.block("for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x)"):
                    out.emit(f"{label}_merge(cell, blocks_{number}[(u64)b * folded + s], failed);")
                out.emit(f"cells_{number}[s * blockDim.x + threadIdx.x] = cell;")
            self._merge_threads(number, fold)
            out.emit("__syncthreads();")
            with out.block("for (u32 s = threadIdx.x; s < folded; s += blockDim.x)"):
                self._merge_words(number, fold)
            self._report(fold)
        out.emit("if (threadIdx.x == 0) *ticket = 0;")

    def _merge_threads(self, number: int, fold: FoldInput) -> None:
        """Emits the merge of a block's cells of each slot into those of its first thread."""
        out = self._out
        with out.block("for (u32 half = blockDim.x / 2; half; half >>= 1)"):
            out.emit("__syncthreads();")
            with out.block("if (threadIdx.x < half)"), out.block("for (u32 s = 0; s < folded; ++s)"):
                mine = f"cells_{number}[s * blockDim.x + threadIdx.x"
                out.emit(f"{fold_label(fold.aggregate)}_merge({mine}], {mine} + half], failed);")
        self._report(fold)

    def _merge_words(self, number: int, fold: FoldInput) -> None:
        out, label = self._out, fold_label(fold.aggregate)
        names = [f"value.{name}" for name, _ in fold.aggregate.state.fields] or ["value"]
        out.emit(f"{label}_cell cell = {{}};")
        out.emit(f"cell.has = (u8)words[{number}ull * folded + s];")
        for place, name in enumerate(names, number + 1):
            out.emit(f"memcpy(&cell.{name}, words + {place}ull * folded + s, sizeof cell.{name});")
        out.emit(f"{label}_merge(cell, cells_{number}[s * blockDim.x], failed);")
        out.emit(f"words[{number}ull * folded + s] = cell.has;")
        for place, name in enumerate(names, number + 1):
            out.emit(f"memcpy(words + {place}ull * folded + s, &cell.{name}, sizeof cell.{name});")

    def _report(self, fold: FoldInput) -> None:
        if fold.aggregate.combine is not None and fold.aggregate.combine.errors:
            self._out.emit(f"if (failed) {{ atomicMax(state, (u32)({fold.combine_code - 1} + failed)); failed = 0; }}")
