"""On a GPU: every kernel of the corpus equals the NumPy backend; or of a recorded file, with NumPy and CuPy alone."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.engine.gpu.fused import recorded_pipelines
from tests.engine.gpu.fused.compare_kernels import compared, gathered

FILE = os.environ.get("GPUDB_KEPT")


@pytest.fixture(scope="module")
def launcher() -> Any:
    if FILE:
        from benchmarks.fused.roofline import stub_packages

        stub_packages()
    from gpudb.engine.gpu.fused.cuda.launch import Launcher

    return Launcher()


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kernels_equal_their_twin(launcher: Any, seed: int) -> None:
    given = recorded_pipelines.read(FILE)[seed - 1 :: 3] if FILE else recorded_pipelines.recorded([seed])
    assert given
    wrong: list[str] = []
    for query, *rest in given:
        try:
            if not compared(launcher, *rest):
                wrong.append(query)
        except Exception as error:
            wrong.append(f"{query}: {type(error).__name__} {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.gpu
def test_groups_are_gathered_as_by_the_twin(launcher: Any) -> None:
    assert gathered(launcher) == []
