"""Runs the pipelines of `cases` on a GPU: each kernel's time and the time in which its bytes could be copied.

python -m benchmarks.fused.roofline FILE [OUT [ROWS|all [CASE,…]]]: it needs CuPy and NumPy alone, and no part of gpudb
but the kernels.
For each query: the bytes that a perfect kernel must read (every column that it uses, once), the kernel's median of 20
runs by CUDA's events, rows per second, and the share of the copy bandwidth measured in the same run; the kernel's
compile time without cached kernels. The kernel's answer is compared with the NumPy backend's over the table's first
million rows, and with that of the same kernel generated with other options.
"""

from __future__ import annotations

import importlib.machinery
import json
import lzma
import os
import pickle
import statistics
import sys
import tempfile
import time
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RUNS = 20
CHECKED_ROWS = 1 << 20
FIRST_TABLES = {"trips", "rides"}
"""Tables whose cases run first."""


def stub_packages() -> None:
    """Stubs of the packages gpudb and gpudb.values, so that their `__init__` modules and imports are not loaded."""
    for name in ("gpudb", "gpudb.values"):
        package = types.ModuleType(name)
        package.__path__ = [str(ROOT.joinpath(*name.split(".")))]
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = package
    sys.path.insert(0, str(ROOT))


def bandwidth(cp: Any) -> float:
    """Bytes per second that a copy on the device reads and writes."""
    size = 4 << 30
    one, other = cp.zeros(size, cp.uint8), cp.empty(size, cp.uint8)
    return 2 * size / (min(time_kernel(cp, lambda: cp.copyto(other, one), 10)) / 1000)


def time_kernel(cp: Any, run: Any, runs: int = RUNS) -> list[float]:
    """Milliseconds of each run after two warm-up runs."""
    found = []
    for number in range(runs + 2):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        run()
        end.record()
        end.synchronize()
        if number > 1:
            found.append(cp.cuda.get_elapsed_time(start, end))
    return found


class _Bench:
    def __init__(self, cp: Any) -> None:
        from gpudb.engine.gpu.fused.cuda.launch import Launcher

        self.cp = cp
        self.launcher = Launcher()
        self.columns: dict[tuple[str, str], Any] = {}

    def segment(self, case: Any, rows: int | None = None) -> Any:
        """Returns the case's columns on the GPU, generated once."""
        from benchmarks.fused import data
        from gpudb.engine.gpu.fused.numpy_backend.executor import Segment

        for name in case.columns:
            if (case.table, name) not in self.columns:
                if any(table != case.table for table, _ in self.columns):
                    self.columns.clear()
                    self.cp.get_default_memory_pool().free_all_blocks()
                self.columns[case.table, name] = data.column(case.table, name, self.cp, rows)
        packed = tuple(self.columns[case.table, name] for name in case.columns)
        count = rows or data.TABLES[case.table][0]
        return Segment(count, packed)

    def check(self, case: Any, segment: Any) -> bool:
        """Returns whether the kernel and the NumPy backend agree on the first rows."""
        from benchmarks.fused import data
        from benchmarks.fused.outcomes import outcomes_equal
        from gpudb.engine.gpu.fused.numpy_backend import executor

        rows = min(CHECKED_ROWS, segment.rows)
        some = executor.Segment(rows, segment.columns)
        host = executor.Segment(rows, tuple(data.first_rows(each, rows, self.cp) for each in segment.columns))
        expected = executor.run(case.pipeline, [host], case.lookups, case.tables)
        actual = self.launcher.run(case.pipeline, [some], case.lookups, case.tables)
        return outcomes_equal(expected, actual)

    def measure(self, case: Any, segment: Any, options: Any) -> tuple[list[float], Any, Any]:
        """Times of a kernel with some options, its outcome, and the kernel."""
        from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers

        cp = self.cp
        loaded = self.launcher.load(case.pipeline, options)
        arrays = [[cp.asarray(each) for each in made] for made in case.lookups]
        entries = [(cp.asarray(made), None if known is None else cp.asarray(known)) for made, known in case.tables]
        target = ResultBuffers(cp, case.pipeline.sink, 1 << 22)

        def run() -> None:
            target.clear()
            self.launcher.launch(loaded, segment, arrays, entries, target).start()

        def run_first() -> None:
            steps = lambda pipeline: self.launcher.run(pipeline, [segment], arrays, entries)  # noqa: E731
            found[:] = [case.top.outcome(case.pipeline, steps)]

        found: list[Any] = []
        times = time_kernel(cp, run if case.top is None else run_first)
        return times, found[0] if found else target.fetch(), loaded


def _format_options(options: Any) -> str:
    """Options of a kernel: eager or not, rows per thread, together, kept, large."""
    flags = "t" * options.together + "k" * options.keep_matches + "L" * options.large
    return f"{'el'[not options.eager]}{options.rows}{flags}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GPUDB_KERNEL_CACHE"] = folder
        _run()


def _run() -> None:
    stub_packages()
    import cupy as cp
    import numpy as np

    from benchmarks.fused.outcomes import outcomes_equal
    from gpudb.engine.gpu.fused.codegen.kernel import Options, choose_options
    from gpudb.engine.gpu.fused.ir.pipeline import Lookup

    found = pickle.loads(lzma.decompress(Path(sys.argv[1]).read_bytes()))
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    rows = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] != "all" else None
    wanted = sys.argv[4].split(",") if len(sys.argv) > 4 else None
    speed = bandwidth(cp)
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    runtime, driver = cp.cuda.runtime.runtimeGetVersion(), cp.cuda.runtime.driverGetVersion()
    versions = {"cupy": cp.__version__, "numpy": np.__version__, "cuda": str(runtime), "driver": str(driver)}
    print(f"{name}: copies {speed / 1e12:.3f} TB/s")
    bench = _Bench(cp)
    lines: list[dict[str, Any]] = []
    for case in sorted(found, key=lambda each: (each.table not in FIRST_TABLES, each.table)):
        if wanted and case.name not in wanted:
            continue
        begun = time.perf_counter()
        segment = bench.segment(case, rows)
        generation_s = time.perf_counter() - begun
        size = sum(column.bytes for column in segment.columns)
        agrees = bench.check(case, segment)
        runs = {}
        default = choose_options(case.pipeline)
        more = [replace(default, together=True) if case.pipeline.steps else Options(16, False)]
        if any(isinstance(step, Lookup) for step in case.pipeline.steps):
            larger = replace(default, large=True)
            more += [larger, replace(default, keep_matches=True), replace(larger, keep_matches=True)]
        for options in dict.fromkeys(
            (default, Options(4, False), Options(4, True), Options(8, False), Options(8, True), *more)
        ):
            times, outcome, loaded = bench.measure(case, segment, options)
            runs[options] = (statistics.median(times), min(times), outcome, loaded)
        answers = [each[2] for each in runs.values()]
        alike = all(outcomes_equal(answers[0], each) for each in answers)
        first = answers[0]
        count = first.grouped.groups.shape[1] if first.grouped is not None else len(first.rows[0][0])
        median, best, _, loaded = runs[default]
        line = {
            "case": case.name, "table_rows": segment.rows, "bytes": size, "median_ms": median, "min_ms": best,
            "roofline_ms": size / speed * 1000, "share": size / speed * 1000 / median,
            "rows_per_s": segment.rows / median * 1000, "groups": count, "equals_twin": agrees,
            "ways_agree": alike, "compile_ms": loaded.milliseconds, "registers": loaded.registers,
            "blocks": loaded.blocks, "shared": loaded.kernel.shared_bytes, "options": str(default),
            "ways": {str(key): round(value[0], 4) for key, value in runs.items()},
        }  # fmt: skip
        lines.append(line)
        variants = " ".join(f"{_format_options(each)}:{way[0]:.2f}/{way[3].registers}" for each, way in runs.items())
        print(
            f"{case.name:9s} {size / 1e9:6.2f} GB {median:7.3f} ms roof {line['roofline_ms']:6.3f} ="
            f" {line['share']:4.0%} {line['rows_per_s'] / 1e9:6.1f} G/s twin {agrees} ways {alike}"
            f" groups {line['groups']} compile {loaded.milliseconds:.0f} ms data {generation_s:.1f} s [{variants}]",
            flush=True,
        )
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(
                json.dumps({"gpu": name, "versions": versions, "copy_bytes_per_s": speed, "rows": lines}, indent=1)
            )
    compiled = [line["compile_ms"] for line in lines] or [0.0]
    print(f"compiled alone: median {statistics.median(compiled):.0f} ms, longest {max(compiled):.0f} ms", flush=True)


if __name__ == "__main__":
    main()
