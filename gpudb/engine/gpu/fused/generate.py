"""A pipeline as CUDA C++: one kernel, which reads V rows a thread at once, drops them step by step, and adds them up.

Steps up to the first lookup whose keys repeat run for all rows of a thread together, so that their loads overlap; what
comes after runs row by row. Columns are loaded when a step first needs them, if a row of the thread is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

from gpudb.engine.gpu.fused.emit import Emitter, c_type
from gpudb.engine.gpu.fused.hashing import bitmap_bytes
from gpudb.engine.gpu.fused.pipeline import Accumulator, Expr, Filter, Groups, Literal, Lookup, Pipeline, Rows
from gpudb.engine.gpu.fused.walk import can_fail, fields_of

HEADERS = ("columns.cuh", "values.cuh", "calendar.cuh", "lookup.cuh", "groups.cuh")
BLOCK = 256
SHARED = 24 * 1024
"""Shared memory of a block that leaves room for eight of them on a multiprocessor."""
BITMAPS = 180 * 1024
"""Of that, lookups' bitmaps."""
SHARED_MOST = 200 * 1024
"""What one block can have for itself."""
Parameter = tuple[str, ...]
"""What a kernel takes: ("data", column), ("valid", column), ("base", column), ("array", lookup, which), …"""


@dataclass(frozen=True, slots=True)
class Options:
    """How a kernel is made: rows a thread has at once, and whether all columns are loaded first."""

    rows: int = 8
    eager: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's source, the parameters it takes in order, threads a block, and shared memory, in bytes."""

    name: str
    source: str
    parameters: tuple[tuple[str, ...], ...]
    block: int
    shared: int


def options_for(pipeline: Pipeline) -> Options:
    """How a pipeline's kernel is made: narrow columns more rows at once, so that loads are wide."""
    widest = max((form.width for form in pipeline.columns), default=1)
    return Options(16 if widest == 1 else 8 if widest < 8 else 4)


def generated(pipeline: Pipeline, options: Options | None = None) -> Kernel:
    """The kernel of a pipeline; the same text for the same pipeline, always."""
    return _Generator(pipeline, options or options_for(pipeline)).made()


@cache
def headers() -> dict[str, str]:
    """The building blocks' sources, by name."""
    package = Path(__file__).parents[3]
    folder = next(each for each in (package / "kernels", package.parent / "kernels") if each.is_dir())
    return {name: (folder / name).read_text() for name in HEADERS}


def is_count(accumulator: Accumulator) -> bool:
    """Whether an accumulator adds no more than 1 a row."""
    return accumulator.op == "add" and accumulator.value.bounds in {(0, 1), (1, 1)}


class _Generator:
    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._v = options.rows
        self._eager = options.eager
        self._out = Emitter(pipeline.columns)
        self._loaded: set[int] = set()
        self._parameters: list[tuple[str, str, Parameter]] = []
        self._block, self._shared, self._copies = BLOCK, 0, 0
        self._bitmaps = 0
        self._near: dict[int, int] = {}
        self._offsets: list[int] = []

    def made(self) -> Kernel:
        sink = self._pipeline.sink
        self._take_parameters()
        self._plan_bitmaps()
        if isinstance(sink, Groups) and sink.form == "dense":
            self._plan_shared(sink)
        self._shared += self._bitmaps
        self._body()
        name = "fused"
        declared = ",\n    ".join(f"{kind} {label}" for kind, label, _ in self._parameters)
        includes = "".join(f'#include "{each}"\n' for each in HEADERS)
        source = (
            f"{includes}\n"
            f'extern "C" __global__ void __launch_bounds__({self._block}) {name}(\n    {declared}) {{\n'
            + "\n".join(self._out.lines)
            + "\n}\n"
        )
        return Kernel(name, source, tuple(key for _, _, key in self._parameters), self._block, self._shared)

    # -------------------------------------------------------------------------------------------- parameters

    def _take(self, kind: str, label: str, *key: str) -> None:
        self._parameters.append((kind, label, key))

    def _take_parameters(self) -> None:
        bytes_ = "const u8* __restrict__"
        for column, form in enumerate(self._pipeline.columns):
            self._take(bytes_, f"d{column}", "data", str(column))
            if form.nullable:
                self._take(bytes_, f"b{column}", "valid", str(column))
            if not form.real and form.width < 8:
                self._take("const i64", f"base{column}", "base", str(column))
        for step in self._pipeline.steps:
            if isinstance(step, Lookup):
                self._take_lookup(step)
        for number, (width, nullable) in enumerate(self._pipeline.tables):
            kind = {1: "u8", 2: "u16", 4: "u32", 8: "i64"}[width]
            self._take(f"const {kind}* __restrict__", f"m{number}", "table", str(number))
            if nullable:
                self._take("const u8* __restrict__", f"k{number}", "known", str(number))
        self._take("const i64", "rows", "rows")
        self._take("u32*", "state", "state")
        sink = self._pipeline.sink
        if isinstance(sink, Groups):
            self._take("u64*", "words", "words")
            if sink.form == "hash":
                self._take("i64*", "group_keys", "keys")
                self._take("const i64", "group_mask", "mask of groups")
            return
        self._take("u64*", "cursor", "cursor")
        self._take("const i64", "room", "room")
        for number, value in enumerate(sink.values):
            kind = {"int": "int", "i64": "i64", "double": "double", "i128": "i64"}[c_type(value.bounds)]
            self._take(f"{kind}*", f"o{number}", "out", str(number))
            if value.nullable:
                self._take("u8*", f"q{number}", "there", str(number))

    def _take_lookup(self, step: Lookup) -> None:
        n, place = step.number, 0

        def array(kind: str, label: str) -> None:
            nonlocal place
            self._take(f"const {kind}* __restrict__", label, "array", str(n), str(place))
            place += 1

        if step.hashed:
            array("i64", f"h{n}")
            self._take("const i64", f"mask{n}", "mask", str(n))
        if not step.unique:
            array("u32", f"s{n}")
        elif step.presence:
            array("u8", f"z{n}")
        for column, width in enumerate(step.payloads):
            array({0: "double", 1: "u8", 2: "u16", 4: "u32", 8: "u64"}[width], f"a{n}_{column}")

    # -------------------------------------------------------------------------------------------- the kernel

    def _body(self) -> None:
        out, v, sink = self._out, self._v, self._pipeline.sink
        out.line("int error = 0;")
        top = len(out.lines)
        if self._shared:
            out.line("extern __shared__ uint4 shared[];")
        if isinstance(sink, Groups):
            self._start(sink)
        self._copy_bitmaps()
        if self._shared:
            out.line("__syncthreads();")
        with out.block(
            f"for (i64 first = ((i64)blockIdx.x * {self._block} + threadIdx.x) * {v}; first < rows; "
            f"first += (i64)gridDim.x * {self._block * v})"
        ):
            out.line(f"u32 alive = rows_there<{v}>(first, rows);")
            if self._eager:
                self._load(set(range(len(self._pipeline.columns))))
            steps = list(self._pipeline.steps)
            while steps and not _repeats(steps[0]):
                if isinstance(steps[0], Filter):
                    together = []
                    while steps and isinstance(steps[0], Filter):
                        together.append(steps.pop(0).condition)  # type: ignore[union-attr]
                    self._filter(together)
                else:
                    step = steps.pop(0)
                    assert isinstance(step, Lookup)
                    self._look_up(step)
            needed = {column for each in _exprs(steps, sink) for column in fields_of(each)}
            self._load(needed)
            out.line("#pragma unroll")
            with out.block(f"for (int v = 0; v < {v}; ++v)"):
                out.line("if (!(alive >> v & 1u)) continue;")
                self._rest(steps)
        out.lines[top:top] = ["    " + each for each in out.prologue]
        out.line("if (error) atomicMax(state, (u32)error);")
        if isinstance(sink, Groups):
            self._end(sink)

    def _load(self, columns: set[int]) -> None:
        """Loads columns that are not yet, if a row is left."""
        new = sorted(columns - self._loaded)
        if not new:
            return
        out, v = self._out, self._v
        if self._loaded:
            out.line("if (!alive) continue;")
        self._loaded |= set(new)
        for column in new:
            form = self._pipeline.columns[column]
            out.line(f"{'u64' if form.width == 8 else 'u32'} f{column}[{v}];")
            out.line(f"load<{form.width}, {v}>(d{column}, first, f{column});")
            if form.nullable:
                out.line(f"const u32 n{column} = load_valid<{v}>(b{column}, first);")

    def _filter(self, conditions: list[Expr]) -> None:
        out = self._out
        self._load({column for each in conditions for column in fields_of(each)})
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {self._v}; ++v)"):
            if any(map(can_fail, conditions)):
                out.line("bool kept = alive >> v & 1u;")
                for each in conditions:
                    with out.block("if (kept)"):
                        out.line(f"kept = {out.true(each)};")
            else:
                out.line(f"const bool kept = {' & '.join(f'(bool){out.true(each)}' for each in conditions)};")
            out.line("alive &= ~((u32)!kept << v);")

    def _index(self, step: Lookup, ok: str) -> tuple[str, str]:
        """The keys as one integer, and whether each is within its range; `ok` is what must be true besides."""
        out = self._out
        terms, inside = "", [ok]
        slots = 1
        for size in step.sizes:
            slots *= size
        kind = "u32" if slots < 2**32 else "u64"
        for key, low, size in zip(step.keys, step.lows, step.sizes, strict=True):
            value, valid = out.value(key)
            wide = c_type(key.bounds)
            distance = out.name("k")
            # Modulo 2⁶⁴ (or 2³²), what lies below the low is far above the size.
            held = "u32" if wide == "int" and size < 2**32 and -(2**31) <= low < 2**31 else "u64"
            base = f"(u32){low}" if held == "u32" else f"(u64){low}LL"
            out.line(f"const {held} {distance} = ({held}){value} - {base};")
            inside.append(f"({distance} < {size}{'u' if held == 'u32' else 'ull'})")
            if valid is not None:
                inside.append(valid)
            terms = f"({kind}){distance}" if not terms else f"({terms}) * ({kind}){size}ull + ({kind}){distance}"
        index, there = out.name("x"), out.name("w")
        out.line(f"const bool {there} = {' & '.join(inside)};")
        out.line(f"const {kind} {index} = {terms};")
        return index, there

    def _look_up(self, step: Lookup) -> None:
        """A lookup for all rows of the thread: first every load, then what came of them."""
        out, n, v = self._out, step.number, self._v
        self._load({column for key in step.keys for column in fields_of(key)})
        biased = not step.hashed and not step.presence
        wide = biased and step.payloads[0] == 8
        out.line(f"i64 p{n}[{v}];" if step.hashed else f"u32 p{n}[{v}];")
        if not step.hashed:
            out.line(f"{'u64' if wide else 'u32'} r{n}[{v}];")
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            index, there = self._index(step, "(bool)(alive >> v & 1u)")
            if step.hashed:
                out.line(f"p{n}[v] = {there} ? probe(h{n}, mask{n}, (i64){index}) : -1;")
            else:
                out.line(f"p{n}[v] = {there} ? (u32){index} : 0u;")
                words = f"near{n}" if n in self._near else f"((const u32*)z{n})"
                bit = f"{words}[p{n}[v] >> 5] >> (p{n}[v] & 31) & 1u"
                read = f"__ldg(a{n}_0 + p{n}[v])" if biased else bit
                out.line(f"r{n}[v] = {there} ? {read} : 0;")
        found = f"p{n}[v] >= 0" if step.hashed else f"r{n}[v] != 0"
        if step.kind == "left":
            out.line(f"u32 hit{n} = 0;")
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            if step.kind == "left":
                out.line(f"hit{n} |= (u32)({found}) << v;")
                if step.hashed:
                    out.line(f"p{n}[v] = max(p{n}[v], 0ll);")
            else:
                wrong = found if step.kind == "anti" else f"!({found})"
                out.line(f"alive &= ~((u32)({wrong}) << v);")
        hit = f"(hit{n} >> v & 1u)" if step.kind == "left" else None
        out.partners[n] = step, f"p{n}[v]", hit, f"r{n}[v]" if biased else None

    def _rest(self, steps: list[Filter | Lookup]) -> None:
        """The steps row by row, and the sink."""
        out = self._out
        if not steps:
            self._sink()
            return
        step = steps[0]
        if isinstance(step, Filter):
            out.line(f"if (!({out.true(step.condition)})) continue;")
            self._rest(steps[1:])
            return
        n = step.number
        index, there = self._index(step, "true")
        place, found = f"y{n}", f"e{n}"
        if step.hashed:
            out.line(f"const i64 {place} = {there} ? probe(h{n}, mask{n}, (i64){index}) : -1;")
            out.line(f"const bool {found} = {place} >= 0;")
        else:
            out.line(f"const u32 {place} = {there} ? (u32){index} : 0u;")
        if not step.unique:
            here = found if step.hashed else there
            out.line(f"const u32 begin{n} = {here} ? s{n}[{place}] : 0u, end{n} = {here} ? s{n}[{place} + 1] : 0u;")
            last = f"end{n}"
            hit = None
            if step.kind == "left":
                hit = f"hit{n}"
                out.line(f"const bool {hit} = begin{n} < end{n};")
                out.line(f"const u32 last{n} = {hit} ? end{n} : begin{n} + 1;")
                last = f"last{n}"
            out.partners[n] = step, f"g{n}", hit, None
            with out.block(f"for (u32 g{n} = begin{n}; g{n} < {last}; ++g{n})"):
                self._rest(steps[1:])
            return
        biased = not step.hashed and not step.presence
        first = None
        if biased:
            first = f"first{n}"
            out.line(f"const u64 {first} = {there} ? a{n}_0[{place}] : 0;")
            out.line(f"const bool {found} = {first} != 0;")
        elif step.presence:
            out.line(f"const bool {found} = {there} && (z{n}[{place} >> 3] >> ({place} & 7) & 1);")
        hit = None
        used = place
        if step.kind == "left":
            hit = found
            if step.hashed:
                used = f"max({place}, 0ll)"
        else:
            out.line(f"if ({found if step.kind == 'anti' else '!' + found}) continue;")
        out.partners[n] = step, used, hit, first
        self._rest(steps[1:])

    # -------------------------------------------------------------------------------------------- sinks

    def _plan_bitmaps(self) -> None:
        """Which lookups' bitmaps every block has in shared memory: the first ones that fit."""
        for step in self._vector_steps():
            if isinstance(step, Lookup) and step.presence:
                size = bitmap_bytes(prod(step.sizes))
                if self._bitmaps + size <= BITMAPS:
                    self._near[step.number] = self._bitmaps
                    self._bitmaps += size
        if self._bitmaps > SHARED // 3:
            self._block = 2 * BLOCK if self._bitmaps <= 2 * SHARED else 4 * BLOCK

    def _vector_steps(self) -> list[Filter | Lookup]:
        """The steps before the first lookup whose keys repeat."""
        steps = self._pipeline.steps
        return list(steps[: next((n for n, step in enumerate(steps) if _repeats(step)), len(steps))])

    def _plan_shared(self, sink: Groups) -> None:
        """Whether groups' words fit into shared memory, and how many copies of them, so that lanes seldom meet."""
        size = sum(4 if is_count(each) else 8 for each in sink.accumulators) * sink.slots
        if size + self._bitmaps > SHARED_MOST:
            return
        self._copies = 1
        while self._copies < 32 and size * self._copies * 2 <= SHARED:
            self._copies *= 2
        # A copy more would take a block's place: large tables have one large block.
        if size * self._copies > SHARED:
            self._block = max(self._block, 512 if (size + self._bitmaps) * 2 <= SHARED_MOST else 1024)
        self._shared = size * self._copies
        place = 0
        offsets = {}
        for number in sorted(range(len(sink.accumulators)), key=lambda n: is_count(sink.accumulators[n])):
            offsets[number] = place
            place += (4 if is_count(sink.accumulators[number]) else 8) * sink.slots * self._copies
        self._shared = -(-self._shared // 16) * 16
        self._near = {lookup: at + self._shared for lookup, at in self._near.items()}
        self._offsets = [offsets[number] for number in range(len(sink.accumulators))]

    def _copy_bitmaps(self) -> None:
        """Lookups' bitmaps into shared memory."""
        out = self._out
        for step in self._vector_steps():
            if isinstance(step, Lookup) and step.number in self._near:
                n, words = step.number, bitmap_bytes(prod(step.sizes)) // 4
                out.line(f"u32* const near{n} = (u32*)((u8*)shared + {self._near[n]});")
                copy = f"near{n}[k] = ((const u32*)z{n})[k];"
                out.line(f"for (int k = threadIdx.x; k < {words}; k += {self._block}) {copy}")

    def _start(self, sink: Groups) -> None:
        out = self._out
        if sink.form == "one":
            for number, each in enumerate(sink.accumulators):
                out.line(f"{_word(each)} r_{number} = {_start_of(each)};")
            return
        if not self._copies:
            return
        cells = sink.slots * self._copies
        for number, each in enumerate(sink.accumulators):
            at = f"(({'u32' if is_count(each) or each.op == 'add' else 'u64'}*)((u8*)shared + {self._offsets[number]}))"
            kind = "u32" if is_count(each) or each.op == "add" else "u64"
            out.line(f"{kind}* const g_{number} = {at};")
            start = {"min": "0x7FFFFFFFFFFFFFFFull", "max": "0x8000000000000000ull"}.get(each.op, "0")
            count = cells * 2 if each.op == "add" and not is_count(each) else cells
            out.line(f"for (int k = threadIdx.x; k < {count}; k += {self._block}) g_{number}[k] = {start};")

    def _sink(self) -> None:
        sink = self._pipeline.sink
        if isinstance(sink, Rows):
            self._put_row(sink)
            return
        if sink.form == "one":
            for number, each in enumerate(sink.accumulators):
                value, valid = self._out.value(each.value)
                guard = "" if valid is None else f"if ({valid}) "
                text = {
                    "add": f"r_{number} += (u64)(i64){value};",
                    "fadd": f"r_{number} += (double){value};",
                    "min": f"r_{number} = min(r_{number}, (i64){value});",
                    "max": f"r_{number} = max(r_{number}, (i64){value});",
                }[each.op]
                self._out.line(guard + text)
            return
        self._put_group(sink)

    def _put_group(self, sink: Groups) -> None:
        out = self._out
        kind = "u32" if sink.slots < 2**32 else "u64"
        terms = ""
        for key in sink.keys:
            value, valid = out.value(key.expr)
            distance = f"({kind})((i64){value} - {key.low}LL)"
            if c_type(key.expr.bounds) == "int" and -(2**31) <= key.low < 2**31 and kind == "u32":
                distance = f"((u32){value} - (u32){key.low})"
            if valid is not None:
                distance = f"({valid} ? {distance} : ({kind}){key.size - 1}ull)"
            terms = distance if not terms else f"({terms}) * ({kind}){key.size}ull + {distance}"
        slot = out.name("slot")
        if sink.form == "hash":
            out.line(f"const i64 {slot} = group_slot_together(group_keys, group_mask, (i64)({terms}));")
            with out.block(f"if ({slot} < 0)"):
                out.line("state[1] = 1u;")
            with out.block("else"):
                self._put_words(sink, slot, "(group_mask + 1)")
            return
        out.line(f"const {kind} {slot} = {terms};")
        if not self._copies:
            self._put_words(sink, slot, f"{sink.slots}ull")
            return
        cell = out.name("cell")
        copy = "" if self._copies == 1 else f" * {self._copies} + (threadIdx.x & {self._copies - 1})"
        out.line(f"const u32 {cell} = (u32){slot}{copy};")
        cells = sink.slots * self._copies
        for number, each in enumerate(sink.accumulators):
            value, valid = out.value(each.value)
            guard = "" if valid is None else f"if ({valid}) "
            at = f"g_{number} + {cell}"
            if is_count(each):
                guard = guard if isinstance(each.value, Literal) else f"{guard}if ({value}) "
                text = f"atomicAdd({at}, 1u);"
            else:
                text = {
                    "add": f"shared_add({at}, {at} + {cells}, (i64){value});",
                    "fadd": f"atomicAdd((double*)({at}), (double){value});",
                    "min": f"atomicMin((i64*)({at}), (i64){value});",
                    "max": f"atomicMax((i64*)({at}), (i64){value});",
                }[each.op]
            out.line(guard + text)

    def _put_words(self, sink: Groups, slot: str, stride: str) -> None:
        """Words in the GPU's memory: one atomic for the lanes of a warp that have the same slot."""
        out = self._out
        codes = [out.value(each.value) for each in sink.accumulators]
        out.line(f"const u32 same = lanes_with({slot});")
        for number, (each, (value, valid)) in enumerate(zip(sink.accumulators, codes, strict=True)):
            given = f"({_word(each)})" + ("(i64)" if each.op == "add" else "") + value
            if valid is not None:
                given = f"{valid} ? {given} : {_start_of(each)}"
            out.line(f"{_op(each)}::together(words + {number}ull * {stride} + {slot}, {given}, same);")

    def _end(self, sink: Groups) -> None:
        out = self._out
        if sink.form == "one":
            out.line("__shared__ u64 warps[32];")
            for number, each in enumerate(sink.accumulators):
                op = _op(each)
                out.line(f"block_put<{op}>(words + {number}, r_{number}, {_start_of(each)}, warps);")
            return
        if not self._copies:
            return
        out.line("__syncthreads();")
        copies, cells = self._copies, sink.slots * self._copies
        for number, each in enumerate(sink.accumulators):
            with out.block(f"for (u32 k = threadIdx.x; k < {sink.slots}u; k += {self._block})"):
                out.line(f"{_word(each)} total = {_start_of(each)};")
                with out.block(f"for (u32 c = k * {copies}; c < (k + 1) * {copies}; ++c)"):
                    cell = f"g_{number}[c]"
                    if is_count(each):
                        out.line(f"total += {cell};")
                    elif each.op == "add":
                        out.line(f"total += (u64)g_{number}[c + {cells}] << 32 | {cell};")
                    elif each.op == "fadd":
                        out.line(f"total += __longlong_as_double({cell});")
                    else:
                        out.line(f"total = {each.op}(total, (i64){cell});")
                start = _start_of(each)
                out.line(f"if (total != {start}) {_op(each)}::put(words + {number}ull * {sink.slots}ull + k, total);")

    def _put_row(self, sink: Rows) -> None:
        out = self._out
        codes = [out.value(each) for each in sink.values]
        out.line("const u64 place = next_place(cursor);")
        with out.block("if (place < room)"):
            for number, (each, (value, valid)) in enumerate(zip(sink.values, codes, strict=True)):
                kind = c_type(each.bounds)
                if kind == "i128":
                    out.line(f"o{number}[2 * place] = (i64){value}; o{number}[2 * place + 1] = (i64)({value} >> 64);")
                else:
                    out.line(f"o{number}[place] = {value};")
                if each.nullable:
                    out.line(f"q{number}[place] = {valid or 'true'};")


def _repeats(step: Filter | Lookup) -> bool:
    return isinstance(step, Lookup) and not step.unique


def _exprs(steps: list[Filter | Lookup], sink: Groups | Rows) -> list[Expr]:
    found: list[Expr] = []
    for step in steps:
        found += [step.condition] if isinstance(step, Filter) else step.keys
    if isinstance(sink, Rows):
        return [*found, *sink.values]
    return [*found, *(key.expr for key in sink.keys), *(each.value for each in sink.accumulators)]


def _op(each: Accumulator) -> str:
    return {"add": "Add", "fadd": "Real", "min": "Least", "max": "Most"}[each.op]


def _word(each: Accumulator) -> str:
    return {"add": "u64", "fadd": "double"}.get(each.op, "i64")


def _start_of(each: Accumulator) -> str:
    return {"add": "0ull", "fadd": "0.0", "min": "0x7FFFFFFFFFFFFFFFLL", "max": "(-0x7FFFFFFFFFFFFFFFLL - 1)"}[each.op]
