"""Compaction of groups in mostly empty slots: the NumPy counterpart equals the result buffers, in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.cuda import compaction, nvrtc
from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers
from tests.engine.gpu.fused.compare_kernels import filled, sink_of


class _Array(np.ndarray[Any, Any]):
    """An array like CuPy's: data have to be fetched to the host."""

    def get(self) -> np.ndarray[Any, Any]:
        return np.array(self)


class _Device:
    """CuPy implemented by NumPy, as far as result buffers need it."""

    uint64 = np.uint64

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        return lambda *given, **more: function(*given, **more).view(_Array)


@pytest.mark.parametrize("form", ["dense", "hash"])
@pytest.mark.parametrize("count", [0, 1, 500, 20_000, compaction.MAX_GROUPS, compaction.MAX_GROUPS + 1])
def test_a_targets_groups_are_those_that_were_gathered(form: str, count: int) -> None:
    sink = sink_of(form)
    target = ResultBuffers(_Device(), sink, 1 << 18)
    keys, words = filled(sink, 1 << 18, count, np)
    wanted = compaction.rows_to_groups(sink, compaction.compact_groups(keys, words))
    target.words[:] = words
    if keys is not None:
        assert target.keys is not None
        target.keys[:] = keys
    asked: list[ResultBuffers] = []

    def gather(given: ResultBuffers) -> None:
        asked.append(given)
        first, many, there, accumulators, slots, cursor, room, rows = given.compaction_arguments()
        assert (int(many), int(accumulators), int(slots)) == (len(sink.key_words), len(sink.accumulators), 1 << 18)
        made = compaction.compact_groups(first if form == "hash" else None, there)
        cursor[:] = len(made)
        made = np.random.default_rng(3).permutation(made)[: int(room)]
        rows[: made.size] = made.reshape(-1)

    outcome = target.fetch(gather)
    assert asked == [target]
    assert outcome is not None
    assert outcome.grouped is not None
    assert outcome.grouped.groups.shape == (len(sink.key_words), count)
    assert np.array_equal(outcome.grouped.groups, wanted.groups)
    for one, other in zip(outcome.grouped.words, wanted.words, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_the_kernel_compiles(tmp_path: Path) -> None:
    made = nvrtc.compile_source(compaction.compaction_source(), load_headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0
