"""The search for first rows, with NumPy in CuPy's place, and kernels that the host runs: what it leaves out is not among
the first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpudb
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers, read_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from tests.support.fused.hosted import COMPILER, HostedFile

BLOCKS = 2


@pytest.fixture(scope="module")
def find_first(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """The function, from a module whose imports of CUDA packages are empty modules."""
    if COMPILER is None:
        pytest.skip("needs g++")
    kernels = HostedFile(read_source("top_rows.cu"), (), tmp_path_factory.mktemp("top_rows"))

    def start(name: str, blocks: int, arguments: tuple[Any, ...]) -> None:
        assert blocks > 0
        kernels(name, BLOCKS, arguments)

    path = Path(gpudb.__file__).parent / "engine/gpu/cudf/algorithms/top_rows.py"
    source = path.read_text().replace("import cupy\n", "").replace("import pylibcudf as plc\n", "")
    source = source.replace("from gpudb.engine.gpu.cudf.columns.arrays import validity_mask, values_array\n", "")
    module = ModuleType("top_rows")
    exec(compile(source, str(path), "exec"), module.__dict__)
    return partial(module.__dict__["find_first"], np, start)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("count", [1, 10, 500])
def test_first_rows_are_among_those_found(find_first: Callable[..., Any], descending: bool, count: int) -> None:
    draw = np.random.default_rng(count)
    for values, valid in (
        (draw.standard_normal(200_000), None),
        (draw.standard_normal(200_003), draw.random(200_003) < 0.9),
        (draw.integers(0, 5000, 200_000).astype(np.float64), None),
        (np.where(draw.random(150_000) < 0.01, np.nan, draw.random(150_000)), None),
    ):
        keys = -values if descending else values
        places = find_first(values, None if valid is None else valid.astype(np.uint8), count, descending=descending)
        if descending and np.isnan(values).any():
            assert places is None
            continue
        known = np.where(np.isnan(keys), np.inf, keys) if valid is None else np.where(valid, keys, np.inf)
        assert places is not None
        assert set(np.argsort(known, kind="stable")[:count]) <= set(places.tolist())
        assert len(places) <= len(values) / 4
        assert (np.diff(places) > 0).all()


def test_many_equal_rows_are_left_to_a_sort(find_first: Callable[..., Any]) -> None:
    assert find_first(np.zeros(150_000), None, 10, descending=False) is None
    assert find_first(np.full(150_000, np.nan), None, 10, descending=False) is None
    few = (np.arange(150_000) < 5).astype(np.uint8)
    assert find_first(np.ones(150_000), few, 10, descending=False) is None


def test_the_kernels_compile(tmp_path: Path) -> None:
    made = nvrtc.compile_source(read_source("top_rows.cu"), load_headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled == 0
