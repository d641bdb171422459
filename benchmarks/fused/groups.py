"""Groups by one key, a hundred to a hundred million of them, uniform and skewed: python -m benchmarks.fused.groups OUT.

Each count and sum is compared with CuPy's over the same rows.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.fused.roofline import bandwidth, stub_packages, time_kernel

ROWS = 400_000_000
COUNTS = (100, 10_000, 1_000_000, 10_000_000, 100_000_000)


def main() -> None:
    stub_packages()
    import cupy as cp
    import numpy as np

    from gpudb.engine.gpu.fused.columns.packed_column import pack
    from gpudb.engine.gpu.fused.cuda.launch import Launcher
    from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers
    from gpudb.engine.gpu.fused.ir.pipeline import Accumulator, Field, GroupSink, Key, Literal, Pipeline
    from gpudb.engine.gpu.fused.numpy_backend.executor import Segment

    launcher, speed = Launcher(), bandwidth(cp)
    draws = cp.random.RandomState(7)
    value = pack(draws.randint(0, 1000, ROWS).astype(np.int64), None, cp)
    lines: list[dict[str, Any]] = []
    for count in COUNTS:
        for skewed in (False, True):
            keys = draws.randint(0, count, ROWS).astype(np.int64)
            if skewed:
                keys[draws.random_sample(ROWS) < 0.9] = count // 3
            column = pack(keys, None, cp)
            counts = cp.bincount(keys, minlength=count)
            sums = cp.bincount(keys, value.decode(xp=cp)[0], minlength=count)
            del keys
            key = Field((0, count - 1), False, 0)
            words = (
                Accumulator("add", Literal((1, 1), False, 1)),
                Accumulator("add", Field((0, 999), False, 1)),
            )
            dense = count <= 1 << 24
            sink = GroupSink((Key(key, 0, count),), words, "dense" if dense else "hash")
            pipeline = Pipeline((column.encoding, value.encoding), (), sink)
            loaded = launcher.load(pipeline)
            segment = Segment(ROWS, (column, value))
            target = ResultBuffers(cp, sink, 1 << 28 if not dense else 1)

            def run(loaded: Any = loaded, segment: Any = segment, target: Any = target) -> None:
                target.clear()
                launcher.launch(loaded, segment, [], [], target).start()

            times = time_kernel(cp, run, 10)
            there = cp.flatnonzero(counts)
            if dense:
                good = bool((target.words[0] == counts).all()) and bool((target.words[1] == sums).all())
            else:
                place = cp.flatnonzero(target.keys[0] != -1)
                found = target.keys[0][place]
                good = len(found) == len(there) and bool((target.words[0][place] == counts[found]).all())
                good = good and bool((target.words[1][place] == sums[found]).all())
                del place, found
            size = column.bytes + value.bytes
            median = statistics.median(times)
            line = {"groups": count, "skewed": skewed, "form": sink.storage, "median_ms": median, "min_ms": min(times),
                    "bytes": size, "roofline_ms": size / speed * 1000, "rows_per_s": ROWS / median * 1000,
                    "equals_cupy": good}  # fmt: skip
            lines.append(line)
            print(
                f"{count:>11,} groups{' skewed' if skewed else '':7s} {sink.storage:5s} {median:8.3f} ms "
                f"{ROWS / median / 1e6:7.1f} G/s right {good}",
                flush=True,
            )
            del target, column, counts, sums, there
            cp.get_default_memory_pool().free_all_blocks()
            if len(sys.argv) > 1:
                Path(sys.argv[1]).write_text(json.dumps({"copy_bytes_per_s": speed, "rows": lines}, indent=1))


if __name__ == "__main__":
    main()
