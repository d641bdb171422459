"""Generates a pipeline's kernel as CUDA C++: a thread reads V rows at once, filters them step by step, and aggregates.

Steps before the first lookup with repeated keys run for all rows of a thread together, so that their loads overlap;
later steps run row by row, and where few rows remain, for these alone. A column is loaded when a step first needs it,
if a row of the thread remains. A statement's constants and the ranges of build sides are parameters, so that the
kernel's source does not depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpudb.engine.gpu.fused.codegen.bodies import write_functions
from gpudb.engine.gpu.fused.codegen.building_blocks import HEADERS, TEXT_HEADER, TREES_HEADER
from gpudb.engine.gpu.fused.codegen.expressions import Emitter
from gpudb.engine.gpu.fused.codegen.kernel_source import Constant
from gpudb.engine.gpu.fused.codegen.probes import LookupWriter, Parameters, lookup_parameters, runs_row_by_row
from gpudb.engine.gpu.fused.codegen.sinks import SHARED_BYTES, GroupWriter, RowWriter
from gpudb.engine.gpu.fused.codegen.survivors import SurvivorWriter, emit_row_loads, stored_type
from gpudb.engine.gpu.fused.columns.text_columns import GROUP_ROWS
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, GroupSink, Lookup, Pipeline
from gpudb.engine.gpu.fused.ir.traversal import (
    can_fail,
    columns_read,
    has_trees,
    is_expensive,
    sink_exprs,
    step_exprs,
    weigh,
)

BLOCK_THREADS = 256
LARGE_BLOCK_SHARED = 31 * 1024
"""Shared memory of a large block: two blocks leave three quarters of the memory to the L1 cache."""
_L1_BYTES = 92 * 1024
"""Bytes of L1 cache per multiprocessor besides four blocks of 40 KiB of shared memory."""
_GROUP_BITS = GROUP_ROWS.bit_length() - 1
_HEAVY = 40
"""Weight of expressions above which a thread has 4 rows; SSB's heaviest query weighs 30 and compiles in 270 ms."""
_LIGHT = 6
"""Weight up to which a thread has 16 rows: a count, or a sum of one column, by one key."""


@dataclass(frozen=True, slots=True)
class Options:
    """Code generation options.

    `rows` per thread; `eager` loads all columns first; `together` processes the rows of a thread together even where
    few remain; `keep_matches` keeps few rows' matches in registers instead of probing again. `large` blocks have the
    most threads and few copies of groups, so that a multiprocessor's shared memory has bitmaps at most twice; the rest
    of it is L1 cache, for lookups that do not fit into shared memory.
    """

    rows: int = 8
    eager: bool = False
    together: bool = False
    keep_matches: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's source, its parameters in order, threads per block, bytes of shared memory, and maximum rows per
    block.

    A parameter is ("data", column), ("valid", column), ("base", column), ("array", lookup, which), …, or ("constant",
    which) for one of `constants`. The constants are this pipeline's; pipelines that share the source have others.
    `max_rows` is None where the rows per block are unlimited.
    """

    name: str
    source: str
    parameters: tuple[tuple[str, ...], ...]
    constants: tuple[Constant, ...]
    block_threads: int
    shared_bytes: int
    max_rows: int | None = None


def choose_options(pipeline: Pipeline) -> Options:
    """Chooses a pipeline's options: more rows per thread for narrow columns, so that loads are wide.

    The code for a row is compiled once per row of a thread: where it is long, or runs row by row, a thread has fewer
    rows.
    """
    widest = max((encoding.width for encoding in pipeline.columns), default=1)
    sink = pipeline.sink
    grouped_sums = len(sink.accumulators) if isinstance(sink, GroupSink) and sink.keys else 0
    lookups = sum(isinstance(step, Lookup) for step in pipeline.steps)
    exprs = _list_exprs(pipeline)
    if (
        any(map(has_trees, exprs))
        or any(encoding.is_text for encoding in pipeline.columns)
        or any(map(runs_row_by_row, pipeline.steps))
    ):
        return Options(4)
    much = weigh(exprs) + 2 * grouped_sums + 4 * lookups
    large = any(isinstance(step, Lookup) and _largest_array_bytes(step) > _L1_BYTES for step in pipeline.steps)
    if widest == 8 or much > _HEAVY:
        return Options(4, large=large, keep_matches=large)
    return Options(16 if widest == 1 and much <= _LIGHT else 8, large=large, keep_matches=large)


def _list_exprs(pipeline: Pipeline) -> list[Expr]:
    return [each for step in pipeline.steps for each in step_exprs(step)] + sink_exprs(pipeline.sink)


def _largest_array_bytes(step: Lookup) -> float:
    """Returns the bytes of the largest array that a lookup reads at random."""
    widths = [width or 8 for width in step.payloads] + [8] * step.hashed + [1 / 8] * step.presence
    return prod(step.sizes) * max(widths, default=0)


def generate_kernel(pipeline: Pipeline, options: Options | None = None) -> Kernel:
    """Generates a pipeline's kernel; deterministic."""
    return _Generator(pipeline, options or choose_options(pipeline)).generate()


class _Generator:
    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._v = options.rows
        self._eager = options.eager
        self._out = Emitter(pipeline.columns)
        self._filtered = bool(pipeline.steps) or any(encoding.is_text for encoding in pipeline.columns)
        self._loaded: set[int] = set()
        self._survivors: SurvivorWriter | None = None
        self._lookups = LookupWriter(
            pipeline, self._out, self._v, together=options.together, keep_matches=options.keep_matches
        )
        sink, held = pipeline.sink, self._lookups.bitmap_bytes
        lookups = [step for step in pipeline.steps if isinstance(step, Lookup)]
        if isinstance(sink, GroupSink):
            once = all(step.unique or step.kind in {"semi", "anti"} for step in lookups)
            room = max(LARGE_BLOCK_SHARED - held, 0) if options.large and held else SHARED_BYTES
            self._sink: GroupWriter | RowWriter = GroupWriter(
                sink, self._out, held, once=once, often=not lookups, room=room
            )
        else:
            self._sink = RowWriter(sink, self._out)
        self._block = max(self._sink.block_threads, BLOCK_THREADS)
        if held > SHARED_BYTES // 3:
            self._block = max(self._block, 2 * BLOCK_THREADS if held <= 2 * SHARED_BYTES else 4 * BLOCK_THREADS)
        self._bounds = str(self._block)
        if options.large and held:
            self._block = 4 * BLOCK_THREADS
            self._bounds = f"{self._block}, 2"
        self._shared = self._sink.shared_bytes + held
        if isinstance(self._sink, GroupWriter):
            self._shared += self._sink.folds.reserve(self._shared, self._block)

    def generate(self) -> Kernel:
        self._body()
        constants = self._out.constants
        parameters = self._parameters()
        parameters += [(f"const {kind}", f"c{n}", ("constant", str(n))) for n, (kind, _) in enumerate(constants)]
        name = "fused"
        exprs = [each for step in self._pipeline.steps for each in step_exprs(step)] + sink_exprs(self._pipeline.sink)
        declarations, definitions = write_functions(exprs)
        declared = ",\n    ".join(f"{kind} {label}" for kind, label, _ in parameters)
        more = [TEXT_HEADER] if any(encoding.is_text for encoding in self._pipeline.columns) else []
        more += [TREES_HEADER] if any(map(has_trees, _list_exprs(self._pipeline))) else []
        includes = "".join(f'#include "{each}"\n' for each in (*HEADERS, *more))
        source = (
            f"{includes}\n{declarations}"
            f'extern "C" __global__ void __launch_bounds__({self._bounds}) {name}(\n    {declared}) {{\n'
            + "\n".join(self._out.lines)
            + f"\n}}\n{definitions}"
        )
        keys = tuple(key for _, _, key in parameters)
        return Kernel(name, source, keys, tuple(constants), self._block, self._shared, self._sink.max_rows)

    def _parameters(self) -> Parameters:
        found: Parameters = []
        for column, encoding in enumerate(self._pipeline.columns):
            found.append(("const u8* __restrict__", f"d{column}", ("data", str(column))))
            if encoding.nullable:
                found.append(("const u8* __restrict__", f"b{column}", ("valid", str(column))))
            if encoding.is_text:
                found.append(("const u8* __restrict__", f"texts{column}", ("texts", str(column))))
                found.append(("const i64* __restrict__", f"starts{column}", ("starts", str(column))))
                found.append(("const i64", f"skip{column}", ("skip", str(column))))
            elif not encoding.is_float and encoding.width < 8:
                found.append(("const i64", f"base{column}", ("base", str(column))))
        for step in self._pipeline.steps:
            if isinstance(step, Lookup):
                found += lookup_parameters(step)
        for number, (width, nullable) in enumerate(self._pipeline.tables):
            kind = {1: "u8", 2: "u16", 4: "u32", 8: "i64"}[width]
            found.append((f"const {kind}* __restrict__", f"m{number}", ("table", str(number))))
            if nullable:
                found.append(("const u8* __restrict__", f"k{number}", ("known", str(number))))
        found += [("const i64", "rows", ("rows",)), ("u32*", "state", ("state",))]
        return found + self._sink.parameters

    def _body(self) -> None:
        out, v = self._out, self._v
        out.emit("int error = 0;")
        top = len(out.lines)
        if self._shared:
            out.emit("extern __shared__ uint4 shared[];")
        self._sink.begin()
        self._lookups.copy_bitmaps(self._sink.shared_bytes)
        if self._shared:
            out.emit("__syncthreads();")
        # Groups of V rows; the last may have fewer.
        out.emit(f"const u32 groups = (u32)((rows + {v - 1}) / {v}), whole = (u32)(rows / {v});")
        with out.block(
            f"for (u32 group = blockIdx.x * {self._block} + threadIdx.x; group < groups; "
            f"group += gridDim.x * {self._block})"
        ):
            out.emit(f"const i64 first = (i64)group * {v};")
            self._rows()
        out.lines[top:top] = ["    " + each for each in out.prologue]
        out.emit("if (error) atomicMax(state, (u32)error);")
        self._sink.end()

    def _rows(self) -> None:
        """Emits the processing of a thread's rows."""
        out, v = self._out, self._v
        if not self._filtered:
            self._every_row()
            return
        last = out.precompute("u32", f"(1u << (u32)(rows % {v})) - 1")
        out.emit(f"u32 alive = group < whole ? {(1 << v) - 1}u : {last};")
        if self._eager:
            self._load(set(range(len(self._pipeline.columns))))
        filters: list[Expr] = []
        for step in self._lookups.joint_steps:
            if isinstance(step, Filter):
                filters.append(step.condition)
                continue
            self._filter(filters)
            filters = []
            self._load({column for each in step.keys for column in columns_read(each)})
            self._lookups.probe_all_rows(step, first=step is self._pipeline.steps[0])
        self._filter(filters)
        rest = self._pipeline.steps[len(self._lookups.joint_steps) :]
        if self._lookups.leaves_few:
            self._survivors = SurvivorWriter(self._lookups, out)
            out.emit("#pragma unroll 1")
            with out.block("while (alive)"):
                self._survivors.next_row()
                self._sink.begin_rows(1)
                self._row_steps(rest)
                self._sink.end_rows(1)
            return
        exprs = [each for step in rest for each in step_exprs(step)] + sink_exprs(self._pipeline.sink)
        self._load({column for each in exprs for column in columns_read(each)})
        self._sink.begin_rows(v)
        out.emit("#pragma unroll")
        with out.block(f"for (int v = 0; v < {v}; ++v)"):
            out.emit("if (!(alive >> v & 1u)) continue;")
            self._row_steps(rest)
        self._sink.end_rows(v)

    def _every_row(self) -> None:
        """Emits the sink of a pipeline whose steps drop no row.

        All V rows of a thread exist, except at the table's end, whose rows are processed one by one.
        """
        out, v = self._out, self._v
        with out.block("if (group < whole)"):
            self._load(set(range(len(self._pipeline.columns))))
            self._sink.begin_rows(v)
            out.emit("#pragma unroll")
            with out.block(f"for (int v = 0; v < {v}; ++v)"):
                start = len(out.lines)
                self._row_steps(())
                row = out.lines[start:]
            self._sink.end_rows(v)
        with out.block("else"):
            out.emit("const int v = 0;")
            out.emit("#pragma unroll 1")
            with out.block("for (i64 row = first; row < rows; ++row)"):
                emit_row_loads(out, range(len(self._pipeline.columns)))
                self._sink.begin_rows(1)
                out.lines += row
                self._sink.end_rows(1)

    def _load(self, columns: set[int]) -> None:
        """Emits the loads of columns that are not loaded yet, if a row remains."""
        new = sorted(columns - self._loaded)
        if not new:
            return
        out, v = self._out, self._v
        if self._loaded:
            out.emit("if (!alive) continue;")
        self._loaded |= set(new)
        for column in new:
            encoding = self._pipeline.columns[column]
            out.emit(f"{stored_type(encoding)} f{column}[{v}];")
            position = f"first + skip{column}" if encoding.is_text else "first"
            out.emit(f"load<{encoding.width}, {v}>(d{column}, {position}, f{column});")
            if encoding.is_text:
                out.emit(f"const u8* const at{column} = texts{column} + starts{column}[({position}) >> {_GROUP_BITS}];")
                out.emit(f"const u32 before{column} = end_before(d{column}, {position}, {GROUP_ROWS - 1});")
            if encoding.nullable:
                out.emit(f"const u32 n{column} = load_valid<{v}>(b{column}, first);")

    def _filter(self, conditions: list[Expr]) -> None:
        if not conditions:
            return
        out = self._out
        self._load({column for each in conditions for column in columns_read(each)})
        out.emit("#pragma unroll")
        with out.block(f"for (int v = 0; v < {self._v}; ++v)"):
            if any(map(can_fail, conditions)) or any(map(is_expensive, conditions)):
                out.emit("bool kept = alive >> v & 1u;")
                for each in conditions:
                    with out.block("if (kept)"):
                        out.emit(f"kept = {out.condition(each)};")
            else:
                out.emit(f"const bool kept = {' & '.join(f'(bool){out.condition(each)}' for each in conditions)};")
            out.emit("alive &= ~((u32)!kept << v);")

    def _row_steps(self, steps: tuple[Filter | Lookup, ...]) -> None:
        """Emits the remaining steps row by row, and the sink."""
        if self._survivors is not None:
            self._survivors.load_for(step_exprs(steps[0]) if steps else sink_exprs(self._pipeline.sink))
        if not steps:
            self._sink.write_row()
        elif isinstance(steps[0], Filter):
            self._out.emit(f"if (!({self._out.condition(steps[0].condition)})) continue;")
            self._row_steps(steps[1:])
        else:
            self._lookups.probe_row(steps[0], lambda: self._row_steps(steps[1:]))
