"""The suites on a GPU, by the general engine and by kernels: supported statements return the embedded answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.gpu.survey import Found, resident, run, statements
from tests.support import case_files
from tests.support.gpu.suites import SUITES

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]


def _surveyed(frames: Any, only: str, folder: Path, part: tuple[int, int] = (0, 1)) -> Found:
    found = Found()
    before = None
    for name, lab, request in statements([only], folder, part):
        if lab is not before:
            (tables, kernels), before = resident(frames), lab
        run(found, name, lab, request, frames, tables, [1, 2], kernels)
    print(found.told())
    assert not found.wrong
    assert not found.broken
    return found


@pytest.mark.parametrize("number", range(len(case_files.read_all())), ids=list(case_files.read_all()))
def test_case_files(number: int, frames: Any, tmp_path: Path) -> None:
    _surveyed(frames, "cases", tmp_path, (number, len(case_files.read_all())))


@pytest.mark.parametrize("name", SUITES)
def test_benchmarks(name: str, frames: Any, tmp_path: Path) -> None:
    found = _surveyed(frames, name, tmp_path)
    assert not found.lacking
