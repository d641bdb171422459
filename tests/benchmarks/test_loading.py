"""Breakdown of a call's time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from benchmarks.gpu.loading import _ON_GPU, _ON_HOST, _PACKAGE, _PACKING
from benchmarks.gpu.spent import Breakdown, timed_functions
from gpudb.engine import gpu


def test_a_function_s_time_is_without_that_of_those_in_it() -> None:
    spent = Breakdown()
    inner = spent.wrap("inner", lambda: time.sleep(0.05))
    outer = spent.wrap("outer", lambda: (inner(), inner(), time.sleep(0.01)))
    begun = time.perf_counter()
    outer()
    assert sum(spent.seconds.values()) <= time.perf_counter() - begun
    assert spent.calls == {"inner": 2, "outer": 1}
    assert spent.seconds["inner"] >= 0.1
    assert spent.seconds["outer"] >= 0.01
    assert "inner" in spent.summary()


def test_functions_are_themselves_again_whatever_happens() -> None:
    before, spent = json.dumps, Breakdown()
    with pytest.raises(TypeError), timed_functions({"dumps": "json:dumps"}, spent):
        json.dumps(object())
    assert json.dumps is before
    assert spent.calls == {"dumps": 1}


@pytest.mark.parametrize("place", [*_PACKING.values(), *_ON_HOST.values()])
def test_the_functions_that_packing_is_timed_by_are_there(place: str) -> None:
    with timed_functions({"it": _PACKAGE + place}, Breakdown()):
        pass


@pytest.mark.parametrize("place", _ON_GPU.values())
def test_those_on_a_gpu_are_in_its_modules(place: str) -> None:
    # These import packages that only a GPU machine has.
    module, _, path = place.partition(":")
    text = Path(gpu.__file__).parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
    name = path.rpartition(".")[2]
    assert f"def {name}(" in text or f"    {name},\n" in text or f"import {name}\n" in text
