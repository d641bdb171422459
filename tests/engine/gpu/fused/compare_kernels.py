"""Kernels compared with the NumPy backend on a GPU: python compare_kernels.py FILE runs recorded pipelines with CuPy.

--every N runs every Nth of them, --seconds S none after that time; --apart allocates each array separately and adds
line information to the kernels, for a sanitizer.
"""

from __future__ import annotations

import argparse
import lzma
import pickle
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))


def compared(launcher: Any, pipeline: Any, segments: Any, lookups: Any, tables: Any) -> bool:
    """Returns whether a kernel and its replay equal the NumPy backend."""
    import cupy
    import numpy as np

    from benchmarks.fused.outcomes import outcomes_equal
    from gpudb.engine.gpu.fused.numpy_backend import executor

    with np.errstate(all="ignore"):
        wanted = executor.run(pipeline, segments, lookups, tables)
    there = [executor.Segment(each.rows, tuple(column.copy_to(cupy) for column in each.columns)) for each in segments]
    if not outcomes_equal(wanted, launcher.run(pipeline, there, lookups, tables)):
        return False
    lookups = [[launcher.to_device(each) for each in made] for made in lookups]
    tables = [tuple(map(launcher.to_device, each)) for each in tables]
    replay = launcher.replay(pipeline, there, lookups, tables, 1 << 34)
    if replay is None:
        return True
    made = [replay.run(keep=False) for _ in range(2)]
    return all(each is not None and outcomes_equal(wanted, each) for each in made)


def sink_of(form: Any) -> Any:
    """A sink of 2^18 dense slots, or of a hash table with two key words: counts, sums, floats, minima."""
    from gpudb.engine.gpu.fused.ir.pipeline import KEY_LIMIT, Accumulator, Field, GroupSink, Key, Literal

    size = 1 << 18 if form == "dense" else KEY_LIMIT - 1
    keys = [Key(Field((0, size - 1), False, n), 0, size) for n in range(1 if form == "dense" else 2)]
    made = [Accumulator("add", Literal((1, 1), False, 1)), Accumulator("add", Field((0, 9), False, 2))]
    made += [Accumulator("fadd", Field(None, False, 3)), Accumulator("min", Field((0, 9), False, 4))]
    return GroupSink(tuple(keys), tuple(made), form)


def filled(sink: Any, slots: int, count: int, xp: Any) -> tuple[Any, Any]:
    """Keys and words of `slots` slots with `count` groups, as kernels leave them: -1 and 0 in the other slots."""
    import numpy as np

    draws = np.random.default_rng(count)
    place = draws.permutation(slots)[:count]
    words = np.zeros((len(sink.accumulators), slots), np.int64)
    words[:, place] = draws.integers(1, 2**40, (len(words), count))
    if sink.storage == "dense":
        return None, xp.asarray(words)
    keys = np.full((len(sink.key_words), slots), -1, np.int64)
    keys[:, place] = draws.permutation(1 << 20)[:count], draws.integers(0, 2**61, count)
    return xp.asarray(keys), xp.asarray(words)


def gathered(launcher: Any) -> list[str]:
    """Lists the cases in which the compaction kernel differs from its NumPy counterpart."""
    import cupy
    import numpy as np

    from gpudb.engine.gpu.fused.cuda import compaction
    from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers

    wrong = []
    for form in ("dense", "hash"):
        for count in (0, 1, 700, compaction.MAX_GROUPS, compaction.MAX_GROUPS + 1):
            sink = sink_of(form)
            target = ResultBuffers(cupy, sink, 1 << 18)
            keys, words = filled(sink, 1 << 18, count, cupy)
            target.words[:] = words
            if keys is not None:
                target.keys[:] = keys
            made = target.fetch(launcher.compact).grouped
            wanted = compaction.rows_to_groups(sink, compaction.compact_groups(*filled(sink, 1 << 18, count, np)))
            same = all(map(np.array_equal, made.words, wanted.words)) and np.array_equal(made.groups, wanted.groups)
            if not same:
                wrong.append(f"{count} groups gathered from {form} slots")
    return wrong


def main() -> None:
    from benchmarks.fused.roofline import stub_packages

    stub_packages()
    from gpudb.engine.gpu.fused.cuda import nvrtc
    from gpudb.engine.gpu.fused.cuda.launch import Launcher

    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--apart", action="store_true")
    asked = parser.parse_args()
    if asked.apart:
        import cupy

        cupy.cuda.set_allocator(None)
        nvrtc.OPTIONS = (*nvrtc.OPTIONS, "--generate-line-info")
    launcher = Launcher()
    begun = time.perf_counter()
    kept = pickle.loads(lzma.decompress(asked.file.read_bytes()))[:: asked.every]
    wrong = ran = 0
    for name, *given in kept:
        if time.perf_counter() - begun > asked.seconds:
            break
        ran += 1
        try:
            good = compared(launcher, *given)
        except Exception as error:
            good = False
            print(type(error).__name__, str(error)[:500])
        if not good:
            wrong += 1
            print("WRONG", name)
    for name in gathered(launcher):
        wrong += 1
        print("WRONG", name)
    slowest = max((each.milliseconds for each in launcher.loaded_kernels()), default=0)
    registers = max((each.registers for each in launcher.loaded_kernels()), default=0)
    print(
        f"{ran - wrong} of {ran} kernels equal the NumPy backend, of {len(kept)} recorded ones; slowest compile {slowest:.0f} ms, "
        f"most registers {registers}"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
