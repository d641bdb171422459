"""Emits a pipeline's sink as CUDA C++: accumulation into groups, or output of the remaining rows.

The words of a single group are in registers. Few groups are in shared memory, in several copies, so that lanes seldom
collide. Many groups are in global memory, where the lanes of a warp that share a group combine their values first. Few
groups are bound by instructions, not by bytes: sums add distances from a least value, so that no carry is needed, or
carries are added after all rows of a thread.
"""

from __future__ import annotations

from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.folds import FoldWriter
from gpudb.engine.gpu.fused.codegen.kernel_source import c_type
from gpudb.engine.gpu.fused.codegen.probes import Parameters
from gpudb.engine.gpu.fused.ir.pipeline import Accumulator, Expr, GroupSink, IsNull, Key, Limb, Literal, RowSink

SHARED_BYTES = 24 * 1024
"""Shared memory per block that allows eight blocks per multiprocessor."""
MAX_SHARED_BYTES = 200 * 1024
"""Maximum shared memory of one block."""
_ONE_CELL, _TWO_CELLS = 2**16, 2**32
"""Limits of distances that a 32-bit cell sums without ending a block early, and that two cells sum."""
_COPIES = 4
"""With at least this many copies, a block processes enough rows before a cell could overflow."""
_OPS = {"add": "Add", "fadd": "Real", "min": "Least", "max": "Most"}
_WORDS = {"add": "u64", "fadd": "double"}
_STARTS = {"add": "0ull", "fadd": "0.0", "min": "0x7FFFFFFFFFFFFFFFLL", "max": "(-0x7FFFFFFFFFFFFFFFLL - 1)"}


def choose_cell(each: Accumulator, counted: bool, few: bool, often: bool) -> str:
    """Chooses the type of an accumulator in shared memory, where the hardware has 32-bit atomics.

    `counted`: the number of summed values is known; `few`: a cell gets few of a block's rows; `often`: many rows reach
    it.
    """
    bounds = each.value.bounds
    if each.op == "fold":
        return "Folds"
    if each.op == "add":
        if bounds in {(0, 1), (1, 1)}:
            return "Counts"
        if bounds is None or bounds[1] - bounds[0] >= _TWO_CELLS or not counted:
            return "Sums"
        if few and bounds[1] - bounds[0] < _ONE_CELL:
            return "Distances<1>"
        return "Distances<2>" if often else "Sums"
    if each.op == "fadd":
        return "Reals"
    narrow = bounds is not None and max(-bounds[0], bounds[1]) < 2**31 - 1
    return {"min": "Leasts", "max": "Mosts"}[each.op] + ("32" if narrow else "64")


def _cell_bytes(cell: str) -> int:
    """Returns the bytes of a cell in shared memory."""
    if cell == "Folds":
        return 0  # they have cells of their own
    return 4 if cell in {"Counts", "Distances<1>", "Leasts32", "Mosts32"} else 8


def _find_counter(sink: GroupSink, value: Expr) -> int | None:
    """Returns the accumulator that counts an expression's values that are not NULL, if there is one."""
    if not value.nullable:
        return 0
    of = value.arg if isinstance(value, Limb) else value
    for number, each in enumerate(sink.accumulators):
        if each.op == "add" and isinstance(each.value, IsNull) and each.value.negated and each.value.arg == of:
            return number
    return None


class RowWriter:
    """Emits the output of every remaining row at the next index of the output arrays."""

    def __init__(self, sink: RowSink, out: Emitter) -> None:
        self._sink, self._out = sink, out
        self.shared_bytes, self.block_threads = 0, 0
        self.max_rows: int | None = None

    @property
    def parameters(self) -> Parameters:
        """The cursor, the capacity, and an output array per value."""
        found: Parameters = [("u64*", "cursor", ("cursor",)), ("const i64", "room", ("room",))]
        for number, value in enumerate(self._sink.values):
            kind = {"int": "int", "i64": "i64", "double": "double", "i128": "i64"}[c_type(value.bounds)]
            found.append((f"{kind}*", f"o{number}", ("out", str(number))))
            if value.nullable:
                found.append(("u8*", f"q{number}", ("there", str(number))))
        return found

    def begin(self) -> None:
        """No-op: nothing precedes the rows."""

    def begin_rows(self, rows: int) -> None:
        """No-op: nothing precedes a thread's rows."""

    def end_rows(self, rows: int) -> None:
        """No-op: nothing follows a thread's rows."""

    def write_row(self) -> None:
        """Emits a row's values."""
        out = self._out
        codes = [out.value(each) for each in self._sink.values]
        out.emit("const u64 place = next_place(cursor);")
        with out.block("if (place < room)"):
            for number, (each, (value, valid)) in enumerate(zip(self._sink.values, codes, strict=True)):
                if c_type(each.bounds) == "i128":
                    out.emit(f"o{number}[2 * place] = (i64){value}; o{number}[2 * place + 1] = (i64)({value} >> 64);")
                else:
                    out.emit(f"o{number}[place] = {value};")
                if each.nullable:
                    out.emit(f"q{number}[place] = {valid or 'true'};")

    def end(self) -> None:
        """No-op: nothing follows the rows."""


class GroupWriter:
    """Emits accumulation into groups. Lookups use `reserved` bytes of shared memory.

    `once`: a row arrives at most once; `often`: many rows arrive. Groups have further copies as long as these fit into
    `room` bytes.
    """

    def __init__(
        self, sink: GroupSink, out: Emitter, reserved: int, *, once: bool, often: bool, room: int = SHARED_BYTES
    ) -> None:
        self._sink, self._out = sink, out
        self.shared_bytes, self.block_threads, self._copies = 0, 0, 0
        self._offsets: dict[int, int] = {}
        self._counted = [once and _find_counter(sink, each.value) is not None for each in sink.accumulators]
        self._often = often
        self._room = room
        self._cells: list[str] = []
        self.folds = FoldWriter(sink, out)
        if sink.storage == "dense":
            self._plan_cells(reserved, few=not self.folds.folds)
            if self._copies < _COPIES and "Distances<1>" in self._cells:
                self._plan_cells(reserved, few=False)

    def _plan_cells(self, reserved: int, *, few: bool) -> None:
        """Decides whether groups' words fit into shared memory, and the number of copies."""
        sink = self._sink
        self._cells = [
            choose_cell(each, counted, few, self._often)
            for each, counted in zip(sink.accumulators, self._counted, strict=True)
        ]
        sizes = list(map(_cell_bytes, self._cells))
        size = sum(sizes) * sink.slots
        self.shared_bytes, self.block_threads, self._copies = 0, 0, 0
        if size + reserved > MAX_SHARED_BYTES:
            return
        self._copies = 1
        while self._copies < 32 and size * self._copies * 2 <= self._room:
            self._copies *= 2
        # Another copy would displace a block: large tables have one large block.
        if size * self._copies > SHARED_BYTES:
            self.block_threads = 512 if (size + reserved) * 2 <= MAX_SHARED_BYTES else 1024
        position = 0
        for number in sorted(range(len(sizes)), key=lambda n: -sizes[n]):
            self._offsets[number] = position
            position += sizes[number] * sink.slots * self._copies
        self.shared_bytes = -(-position // 16) * 16

    @property
    def max_rows(self) -> int | None:
        """Maximum rows of a block for which none of its cells overflows; None: unlimited.

        A cell belongs to each lane, or to every second, fourth, … lane of the block's warps.
        """
        if not self._copies:
            return None
        spans = [
            each.value.bounds[1] - each.value.bounds[0]
            for cell, each in zip(self._cells, self._sink.accumulators, strict=True)
            if cell == "Distances<1>" and each.value.bounds is not None
        ]
        return (2**32 - 1) // max(spans) * self._copies if any(spans) else None

    @property
    def parameters(self) -> Parameters:
        """The array of words and, for a hash table, its keys."""
        found: Parameters = [("u64*", "words", ("words",))]
        found += self.folds.parameters
        if self._sink.storage == "hash":
            found += [("i64*", "group_keys", ("keys",)), ("const i64", "group_mask", ("mask of groups",))]
        return found

    def begin(self) -> None:
        """Emits the initialization of registers or shared memory, before the first row."""
        out, sink = self._out, self._sink
        self.folds.begin()
        if sink.storage == "one":
            for number, each in self._plain_accumulators():
                out.emit(f"{_word_type(each)} r_{number} = {_start_value(each)};")
            return
        if not self._copies:
            return
        out.emit(f"const u32 slots = {out.parameter(sink.slots, 'u32')}, cells = slots * {self._copies};")
        out.emit(f"const u32 copy = hidden(threadIdx.x & {self._copies - 1});")
        for number, cell in self._plain_cells():
            position = out.parameter(self._offsets[number], "int")
            out.emit(f"{cell}::cell* const g_{number} = ({cell}::cell*)((u8*)shared + {position});")
            out.emit(f"{cell}::clear(g_{number}, cells);")

    def _plain_accumulators(self) -> list[tuple[int, Accumulator]]:
        """Returns the accumulators but for words of folds, with their numbers."""
        return [(number, each) for number, each in enumerate(self._sink.accumulators) if each.op != "fold"]

    def _plain_cells(self) -> list[tuple[int, str]]:
        return [(number, cell) for number, cell in enumerate(self._cells) if cell != "Folds"]

    def _wrapping_cells(self) -> list[int]:
        return [n for n, cell in enumerate(self._cells) if self._copies and cell == "Distances<2>"]

    def begin_rows(self, rows: int) -> None:
        """Emits what a thread keeps until its rows are accumulated: their cells, and which sums have wrapped."""
        wrapping = self._wrapping_cells()
        if wrapping:
            self._out.emit(f"u32 {', '.join(f'wrapped_{number} = 0' for number in wrapping)}, cell_of[{rows}];")

    def end_rows(self, rows: int) -> None:
        """Emits the carries of a thread's rows, after all are accumulated."""
        out = self._out
        for number in self._wrapping_cells():
            with out.block(f"if (wrapped_{number})"):
                out.emit("#pragma unroll")
                with out.block(f"for (int v = 0; v < {rows}; ++v)"):
                    out.emit(f"if (wrapped_{number} >> v & 1u) atomicAdd(g_{number} + cells + cell_of[v], 1u);")

    def write_row(self) -> None:
        """Emits the accumulation of a row into its group."""
        out, sink = self._out, self._sink
        if sink.storage == "one":
            self.folds.write_row("0")
            for number, each in self._plain_accumulators():
                value, valid = out.value(each.value)
                guard = "" if valid is None else f"if ({valid}) "
                text = {
                    "add": f"r_{number} += (u64)(i64){value};",
                    "fadd": f"r_{number} += (double){value};",
                    "min": f"r_{number} = min(r_{number}, (i64){value});",
                    "max": f"r_{number} = max(r_{number}, (i64){value});",
                }[each.op]
                out.emit(guard + text)
        elif sink.storage == "hash":
            self._write_hashed()
        else:
            self._write_dense()

    def _combined_key(self, keys: tuple[Key, ...], kind: str) -> str:
        """Emits the keys' distances from their lows, combined to one integer."""
        out = self._out
        terms = ""
        for key in keys:
            distance, valid = out.distance(key.expr, key.low, kind)
            size = "" if valid is None and not terms else out.parameter(key.size, kind)
            if valid is not None:
                distance = f"({valid} ? {distance} : {size} - 1)"
            terms = distance if not terms else f"({terms}) * {size} + {distance}"
        return terms

    def _write_hashed(self) -> None:
        out, words = self._out, self._sink.key_words
        key, slot = out.new_name("key"), out.new_name("slot")
        for position, keys in enumerate(words):
            out.emit(f"const i64 {key}_{position} = (i64)({self._combined_key(keys, 'u64')});")
        key_words = ", ".join(f"{key}_{position}" for position in range(len(words)))
        out.emit(f"const i64 {slot} = group_slot_together<{len(words)}>(group_keys, group_mask, {{{key_words}}});")
        with out.block(f"if ({slot} < 0)"):
            out.emit("state[1] = 1u;")
        with out.block("else"):
            self._write_words(slot, "(group_mask + 1)")

    def _write_dense(self) -> None:
        out, sink = self._out, self._sink
        kind = "u32" if sink.slots < 2**32 else "u64"
        slot = out.new_name("slot")
        out.emit(f"const {kind} {slot} = {self._combined_key(sink.keys, kind)};")
        self.folds.write_row(slot)
        if not self._copies:
            self._write_words(slot, out.parameter(sink.slots, "u64"))
            return
        cell = out.new_name("cell")
        out.emit(f"const u32 {cell} = (u32){slot} * {self._copies} + copy;")
        if self._wrapping_cells():
            out.emit(f"cell_of[v] = {cell};")
        for number, name in self._plain_cells():
            each = sink.accumulators[number]
            at = f"g_{number} + {cell}"
            if name.startswith("Distances"):
                assert each.value.bounds is not None
                distance, valid = out.distance(each.value, each.value.bounds[0], "u32")
                guard = "" if valid is None else f"if ({valid}) "
                if name == "Distances<1>":
                    out.emit(f"{guard}{name}::put({at}, {distance});")
                else:
                    out.emit(f"{guard}wrapped_{number} |= (u32){name}::wraps({at}, {distance}) << v;")
                continue
            value, valid = out.value(each.value)
            guard = "" if valid is None else f"if ({valid}) "
            if name == "Counts":
                guard = guard if isinstance(each.value, Literal) else f"{guard}if ({value}) "
                out.emit(f"{guard}atomicAdd({at}, 1u);")
            elif name == "Sums":
                out.emit(f"{guard}shared_add({at}, {at} + cells, (i64){value});")
            else:
                out.emit(f"{guard}{name}::put({at}, {value});")

    def _write_words(self, slot: str, stride: str) -> None:
        """Emits the update of words in global memory: one atomic for the lanes of a warp that share a slot."""
        out = self._out
        plain = self._plain_accumulators()
        codes = [out.value(each.value) for _, each in plain]
        out.emit(f"const u32 same = lanes_with({slot});")
        for (number, each), (value, valid) in zip(plain, codes, strict=True):
            value_code = f"({_word_type(each)})" + ("(i64)" if each.op == "add" else "") + value
            if valid is not None:
                value_code = f"{valid} ? {value_code} : {_start_value(each)}"
            out.emit(f"{_OPS[each.op]}::together(words + {number}ull * {stride} + {slot}, {value_code}, same);")

    def end(self) -> None:
        """Emits the transfer of a block's groups to global memory."""
        out, sink = self._out, self._sink
        if sink.storage == "one":
            out.emit("__shared__ u64 warps[32];")
            for number, each in self._plain_accumulators():
                out.emit(f"block_put<{_OPS[each.op]}>(words + {number}, r_{number}, {_start_value(each)}, warps);")
        elif self._copies:
            out.emit("__syncthreads();")
            for number, cell in self._plain_cells():
                each = sink.accumulators[number]
                arguments = f"slots, {self._copies}, words + {number}ull * slots"
                if cell.startswith("Distances"):
                    assert each.value.bounds is not None
                    low, count = out.parameter(each.value.bounds[0], "i64"), _find_counter(sink, each.value)
                    out.emit(f"{cell}::gather(g_{number}, g_{count}, {low}, {arguments});")
                else:
                    out.emit(f"gather<{cell}, {_OPS[each.op]}>(g_{number}, {arguments});")
        self.folds.end()


def _word_type(each: Accumulator) -> str:
    return _WORDS.get(each.op, "i64")


def _start_value(each: Accumulator) -> str:
    return _STARTS[each.op]
