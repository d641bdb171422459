"""Kernels beside their twin on a GPU: python on_device.py FILE [EVERY] runs pipelines that `kept` kept, with CuPy."""

from __future__ import annotations

import lzma
import pickle
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))


def compared(launcher: Any, pipeline: Any, segments: Any, lookups: Any, tables: Any) -> bool:
    """Whether a kernel, made in every way, gives what the twin does."""
    import cupy
    import numpy as np

    from benchmarks.fused.outcomes import same
    from gpudb.engine.gpu.fused import twin

    with np.errstate(all="ignore"):
        wanted = twin.run(pipeline, segments, lookups, tables)
    there = [twin.Segment(each.rows, tuple(column.on(cupy) for column in each.columns)) for each in segments]
    return same(wanted, launcher.run(pipeline, there, lookups, tables))


def main() -> None:
    from benchmarks.fused.roofline import without_the_rest

    without_the_rest()
    from gpudb.engine.gpu.fused.launch import Launcher

    launcher = Launcher()
    kept = pickle.loads(lzma.decompress(Path(sys.argv[1]).read_bytes()))
    if len(sys.argv) > 2:
        kept = kept[:: int(sys.argv[2])]
    wrong = 0
    for name, *given in kept:
        try:
            good = compared(launcher, *given)
        except Exception as error:
            good = False
            print(type(error).__name__, str(error)[:500])
        if not good:
            wrong += 1
            print("WRONG", name)
    slowest = max((each.milliseconds for each in launcher.all_loaded()), default=0)
    registers = max((each.registers for each in launcher.all_loaded()), default=0)
    print(
        f"{len(kept) - wrong} of {len(kept)} kernels equal their twin; slowest compile {slowest:.0f} ms, "
        f"most registers {registers}"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
