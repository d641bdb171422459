"""Generates a pipeline's kernel as CUDA C++: a thread reads V rows at once, filters them step by step, and aggregates.

Steps before the first lookup with repeated keys run for all rows of a thread together, so that their loads overlap;
later steps run row by row, and where few rows remain, for these alone. A column is loaded when a step first needs it,
if a row of the thread remains. A statement's constants and the ranges of build sides are parameters, so that the
kernel's source does not depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpudb.engine.gpu.fused.codegen.building_blocks import HEADERS, TEXT
from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.kernel_source import Constant
from gpudb.engine.gpu.fused.codegen.probes import Probes, Taken, alone, parameters
from gpudb.engine.gpu.fused.codegen.sinks import SHARED, GroupWords, RowValues
from gpudb.engine.gpu.fused.codegen.survivors import RowsLeft, load_row, word_of
from gpudb.engine.gpu.fused.columns.text_columns import GROUP
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, Groups, Lookup, Pipeline
from gpudb.engine.gpu.fused.ir.traversal import can_fail, exprs_in, exprs_of, fields_of, is_long, size_of

BLOCK = 256
LARGE_SHARED = 31 * 1024
"""Shared memory of a large block: two blocks leave three quarters of the memory to the L1 cache."""
_CACHED = 92 * 1024
"""Bytes of L1 cache per multiprocessor besides four blocks of 40 KiB of shared memory."""
_GROUP_BITS = GROUP.bit_length() - 1
_MUCH = 40
"""Weight of expressions above which a thread has 4 rows; SSB's heaviest query weighs 30 and compiles in 270 ms."""
_LITTLE = 6
"""Weight up to which a thread has 16 rows: a count, or a sum of one column, by one key."""


@dataclass(frozen=True, slots=True)
class Options:
    """Code generation options.

    `rows` per thread; `eager` loads all columns first; `together` processes the rows of a thread together even where
    few remain; `kept` keeps few rows' matches in registers instead of probing again. `large` blocks have the most
    threads and few copies of groups, so that a multiprocessor's shared memory has bitmaps at most twice; the rest of it
    is L1 cache, for lookups that do not fit into shared memory.
    """

    rows: int = 8
    eager: bool = False
    together: bool = False
    kept: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's source, its parameters in order, threads per block, bytes of shared memory, and maximum rows per
    block.

    A parameter is ("data", column), ("valid", column), ("base", column), ("array", lookup, which), …, or ("constant",
    which) for one of `constants`. The constants are this pipeline's; pipelines that share the source have others.
    `most` is None where the rows per block are unlimited.
    """

    name: str
    source: str
    parameters: tuple[tuple[str, ...], ...]
    constants: tuple[Constant, ...]
    block: int
    shared: int
    most: int | None = None


def options_for(pipeline: Pipeline) -> Options:
    """Chooses a pipeline's options: more rows per thread for narrow columns, so that loads are wide.

    The code for a row is compiled once per row of a thread: where it is long, or runs row by row, a thread has fewer
    rows.
    """
    widest = max((form.width for form in pipeline.columns), default=1)
    sink = pipeline.sink
    apart = len(sink.accumulators) if isinstance(sink, Groups) and sink.keys else 0
    lookups = sum(isinstance(step, Lookup) for step in pipeline.steps)
    exprs = [each for step in pipeline.steps for each in exprs_of(step)] + exprs_in(sink)
    if any(form.text for form in pipeline.columns) or any(map(alone, pipeline.steps)):
        return Options(4)
    much = size_of(exprs) + 2 * apart + 4 * lookups
    large = any(isinstance(step, Lookup) and _most_bytes(step) > _CACHED for step in pipeline.steps)
    if widest == 8 or much > _MUCH:
        return Options(4, large=large, kept=large)
    return Options(16 if widest == 1 and much <= _LITTLE else 8, large=large, kept=large)


def _most_bytes(step: Lookup) -> float:
    """Returns the bytes of the largest array that a lookup reads at random."""
    widths = [width or 8 for width in step.payloads] + [8] * step.hashed + [1 / 8] * step.presence
    return prod(step.sizes) * max(widths, default=0)


def generated(pipeline: Pipeline, options: Options | None = None) -> Kernel:
    """Generates a pipeline's kernel; deterministic."""
    return _Generator(pipeline, options or options_for(pipeline)).made()


class _Generator:
    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._v = options.rows
        self._eager = options.eager
        self._out = Emitter(pipeline.columns)
        self._filtered = bool(pipeline.steps) or any(form.text for form in pipeline.columns)
        self._loaded: set[int] = set()
        self._left: RowsLeft | None = None
        self._probes = Probes(pipeline, self._out, self._v, together=options.together, kept=options.kept)
        sink, held = pipeline.sink, self._probes.bytes
        lookups = [step for step in pipeline.steps if isinstance(step, Lookup)]
        if isinstance(sink, Groups):
            once = all(step.unique or step.kind in {"semi", "anti"} for step in lookups)
            room = max(LARGE_SHARED - held, 0) if options.large and held else SHARED
            self._sink: GroupWords | RowValues = GroupWords(
                sink, self._out, held, once=once, often=not lookups, room=room
            )
        else:
            self._sink = RowValues(sink, self._out)
        self._block = max(self._sink.block, BLOCK)
        if held > SHARED // 3:
            self._block = max(self._block, 2 * BLOCK if held <= 2 * SHARED else 4 * BLOCK)
        self._bounds = str(self._block)
        if options.large and held:
            self._block = 4 * BLOCK
            self._bounds = f"{self._block}, 2"
        self._shared = self._sink.shared + held

    def made(self) -> Kernel:
        self._body()
        constants = self._out.constants
        taken = self._taken()
        taken += [(f"const {kind}", f"c{n}", ("constant", str(n))) for n, (kind, _) in enumerate(constants)]
        name = "fused"
        declared = ",\n    ".join(f"{kind} {label}" for kind, label, _ in taken)
        more = (TEXT,) if any(form.text for form in self._pipeline.columns) else ()
        includes = "".join(f'#include "{each}"\n' for each in (*HEADERS, *more))
        source = (
            f"{includes}\n"
            f'extern "C" __global__ void __launch_bounds__({self._bounds}) {name}(\n    {declared}) {{\n'
            + "\n".join(self._out.lines)
            + "\n}\n"
        )
        given = tuple(key for _, _, key in taken)
        return Kernel(name, source, given, tuple(constants), self._block, self._shared, self._sink.most)

    def _taken(self) -> Taken:
        found: Taken = []
        for column, form in enumerate(self._pipeline.columns):
            found.append(("const u8* __restrict__", f"d{column}", ("data", str(column))))
            if form.nullable:
                found.append(("const u8* __restrict__", f"b{column}", ("valid", str(column))))
            if form.text:
                found.append(("const u8* __restrict__", f"texts{column}", ("texts", str(column))))
                found.append(("const i64* __restrict__", f"starts{column}", ("starts", str(column))))
                found.append(("const i64", f"skip{column}", ("skip", str(column))))
            elif not form.real and form.width < 8:
                found.append(("const i64", f"base{column}", ("base", str(column))))
        for step in self._pipeline.steps:
            if isinstance(step, Lookup):
                found += parameters(step)
        for number, (width, nullable) in enumerate(self._pipeline.tables):
            kind = {1: "u8", 2: "u16", 4: "u32", 8: "i64"}[width]
            found.append((f"const {kind}* __restrict__", f"m{number}", ("table", str(number))))
            if nullable:
                found.append(("const u8* __restrict__", f"k{number}", ("known", str(number))))
        found += [("const i64", "rows", ("rows",)), ("u32*", "state", ("state",))]
        return found + self._sink.parameters

    def _body(self) -> None:
        out, v = self._out, self._v
        out.line("int error = 0;")
        top = len(out.lines)
        if self._shared:
            out.line("extern __shared__ uint4 shared[];")
        self._sink.start()
        self._probes.copy(self._sink.shared)
        if self._shared:
            out.line("__syncthreads();")
        # Groups of V rows; the last may have fewer.
        out.line(f"const u32 groups = (u32)((rows + {v - 1}) / {v}), whole = (u32)(rows / {v});")
        with out.block(
            f"for (u32 group = blockIdx.x * {self._block} + threadIdx.x; group < groups; "
            f"group += gridDim.x * {self._block})"
        ):
            out.line(f"const i64 first = (i64)group * {v};")
            self._rows()
        out.lines[top:top] = ["    " + each for each in out.prologue]
        out.line("if (error) atomicMax(state, (u32)error);")
        self._sink.end()

    def _rows(self) -> None:
        """Emits the processing of a thread's rows."""
        out, v = self._out, self._v
        if not self._filtered:
            self._every_row()
            return
        last = out.before("u32", f"(1u << (u32)(rows % {v})) - 1")
        out.line(f"u32 alive = group < whole ? {(1 << v) - 1}u : {last};")
        if self._eager:
            self._load(set(range(len(self._pipeline.columns))))
        filters: list[Expr] = []
        for step in self._probes.together:
            if isinstance(step, Filter):
                filters.append(step.condition)
                continue
            self._filter(filters)
            filters = []
            self._load({column for each in step.keys for column in fields_of(each)})
            self._probes.all_rows(step, first=step is self._pipeline.steps[0])
        self._filter(filters)
        rest = self._pipeline.steps[len(self._probes.together) :]
        if self._probes.few:
            self._left = RowsLeft(self._probes, out)
            out.line("#pragma unroll 1")
            with out.block("while (alive)"):
                self._left.begin()
                self._sink.before(1)
                self._rest(rest)
                self._sink.after(1)
            return
        exprs = [each for step in rest for each in exprs_of(step)] + exprs_in(self._pipeline.sink)
        self._load({column for each in exprs for column in fields_of(each)})
        self._sink.before(v)
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            out.line("if (!(alive >> v & 1u)) continue;")
            self._rest(rest)
        self._sink.after(v)

    def _every_row(self) -> None:
        """Emits the sink of a pipeline whose steps drop no row.

        All V rows of a thread exist, except at the table's end, whose rows are processed one by one.
        """
        out, v = self._out, self._v
        with out.block("if (group < whole)"):
            self._load(set(range(len(self._pipeline.columns))))
            self._sink.before(v)
            out.line("#pragma unroll")
            with out.block(f"for (int v = 0; v < {v}; ++v)"):
                start = len(out.lines)
                self._rest(())
                row = out.lines[start:]
            self._sink.after(v)
        with out.block("else"):
            out.line("const int v = 0;")
            out.line("#pragma unroll 1")
            with out.block("for (i64 row = first; row < rows; ++row)"):
                load_row(out, range(len(self._pipeline.columns)))
                self._sink.before(1)
                out.lines += row
                self._sink.after(1)

    def _load(self, columns: set[int]) -> None:
        """Emits the loads of columns that are not loaded yet, if a row remains."""
        new = sorted(columns - self._loaded)
        if not new:
            return
        out, v = self._out, self._v
        if self._loaded:
            out.line("if (!alive) continue;")
        self._loaded |= set(new)
        for column in new:
            form = self._pipeline.columns[column]
            out.line(f"{word_of(form)} f{column}[{v}];")
            place = f"first + skip{column}" if form.text else "first"
            out.line(f"load<{form.width}, {v}>(d{column}, {place}, f{column});")
            if form.text:
                out.line(f"const u8* const at{column} = texts{column} + starts{column}[({place}) >> {_GROUP_BITS}];")
                out.line(f"const u32 before{column} = end_before(d{column}, {place}, {GROUP - 1});")
            if form.nullable:
                out.line(f"const u32 n{column} = load_valid<{v}>(b{column}, first);")

    def _filter(self, conditions: list[Expr]) -> None:
        if not conditions:
            return
        out = self._out
        self._load({column for each in conditions for column in fields_of(each)})
        out.line("#pragma unroll")
        with out.block(f"for (int v = 0; v < {self._v}; ++v)"):
            if any(map(can_fail, conditions)) or any(map(is_long, conditions)):
                out.line("bool kept = alive >> v & 1u;")
                for each in conditions:
                    with out.block("if (kept)"):
                        out.line(f"kept = {out.true(each)};")
            else:
                out.line(f"const bool kept = {' & '.join(f'(bool){out.true(each)}' for each in conditions)};")
            out.line("alive &= ~((u32)!kept << v);")

    def _rest(self, steps: tuple[Filter | Lookup, ...]) -> None:
        """Emits the remaining steps row by row, and the sink."""
        if self._left is not None:
            self._left.ready(exprs_of(steps[0]) if steps else exprs_in(self._pipeline.sink))
        if not steps:
            self._sink.put()
        elif isinstance(steps[0], Filter):
            self._out.line(f"if (!({self._out.true(steps[0].condition)})) continue;")
            self._rest(steps[1:])
        else:
            self._probes.one_row(steps[0], lambda: self._rest(steps[1:]))
