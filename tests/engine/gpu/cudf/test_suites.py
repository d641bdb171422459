"""The suites on a GPU: every statement that workers carry has the embedded engine's answer there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.gpu.survey import Found, run, statements
from tests.engine.gpu.test_benchmarks import SUITES

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]


def _surveyed(only: list[str], frames: Any, folder: Path) -> Iterator[Found]:
    from gpudb.engine.gpu.cudf.resident import CudfTables

    found = Found()
    before = tables = None
    for name, lab, request in statements(only, folder):
        if lab is not before:
            tables, before = CudfTables(2**32, frames), lab
        run(found, name, lab, request, frames, tables, [1, 2])
    yield found


@pytest.mark.parametrize("name", ["cases", *SUITES])
def test_answers_are_the_embedded_engines(name: str, frames: Any, tmp_path: Path) -> None:
    (found,) = _surveyed([name], frames, tmp_path)
    print(found.told())
    assert not found.wrong
    assert not found.broken
    if name in {"tpch", "ssb", "taxi"}:
        assert not found.lacking
