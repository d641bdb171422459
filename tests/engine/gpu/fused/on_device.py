"""Kernels beside their twin on a GPU: python on_device.py FILE [EVERY] runs pipelines that `kept` kept, with CuPy."""

from __future__ import annotations

import lzma
import pickle
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))


def same(one: Any, other: Any) -> bool:
    """Whether two outcomes are equal: an error, groups' words, or rows in whatever order; floats to 1e-9."""
    import numpy as np

    if one.code or other.code:
        return bool(one.code == other.code)
    if one.grouped is None:
        return rows(one) == rows(other)
    a, b = one.grouped, other.grouped
    if a.groups.shape != b.groups.shape and max(a.groups.shape[1], b.groups.shape[1]) == 1:
        # Without keys there is one group, of no rows for the kernel and left out by the twin.
        some = a if a.groups.shape[1] else b
        return bool(some.words[0][0] == 0)
    if not np.array_equal(a.groups, b.groups):
        return False
    return all(
        np.allclose(x, y, rtol=1e-9, equal_nan=True) if x.dtype.kind == "f" else np.array_equal(x, y)
        for x, y in zip(a.words, b.words, strict=True)
    )


def rows(outcome: Any) -> list[tuple[str, ...]]:
    """Rows in an order of their own, which kernels give in any."""
    columns = []
    for values, known in outcome.rows:
        there = [True] * len(values) if known is None else known
        columns.append([repr(value) if each else "NULL" for value, each in zip(values.tolist(), there)])
    return sorted(zip(*columns))


def compared(launcher: Any, pipeline: Any, segments: Any, lookups: Any, tables: Any) -> bool:
    """Whether a kernel, made in every way, gives what the twin does."""
    import cupy
    import numpy as np

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
