"""Where the time of a call goes."""

from __future__ import annotations

import json
import time

import pytest

from benchmarks.gpu.loading import _ON_GPU, _ON_HOST, _PACKING
from benchmarks.gpu.spent import Spent, timed_functions
from gpudb.engine.gpu.fused import packed, resident


def test_a_function_s_time_is_without_that_of_those_in_it() -> None:
    spent = Spent()
    inner = spent.of("inner", lambda: time.sleep(0.05))
    outer = spent.of("outer", lambda: (inner(), inner(), time.sleep(0.01)))
    begun = time.perf_counter()
    outer()
    assert sum(spent.seconds.values()) <= time.perf_counter() - begun
    assert spent.calls == {"inner": 2, "outer": 1}
    assert spent.seconds["inner"] >= 0.1
    assert spent.seconds["outer"] >= 0.01
    assert "inner" in spent.told()


def test_functions_are_themselves_again_whatever_happens() -> None:
    before, spent = json.dumps, Spent()
    with pytest.raises(TypeError), timed_functions({"dumps": "json:dumps"}, spent):
        json.dumps(object())
    assert json.dumps is before
    assert spent.calls == {"dumps": 1}


def test_the_functions_that_packing_is_timed_by_are_there() -> None:
    before = packed.zones_of, resident.pack
    with timed_functions(_PACKING | _ON_HOST, Spent()):
        assert (packed.zones_of, resident.pack) != before
    assert (packed.zones_of, resident.pack) == before
    assert all(place.startswith("gpudb.engine.gpu.cudf.") for place in _ON_GPU.values())
