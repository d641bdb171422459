"""Tests that use the GPUs run one after the other in one xdist process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.lab import ON_GPUS

TESTS = """
import os
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("engine", ["cpu", pytest.param("gpu", marks=pytest.mark.xdist_group({group!r}))])
def test_a_process_is_noted(engine: str, number: int) -> None:
    with Path({seen!r}).open("a") as seen:
        seen.write(f"{{engine}} {{os.getpid()}}\\n")
"""


def test_one_process_holds_the_gpus(tmp_path: Path) -> None:
    (group,) = (mark.args[0] for mark in ON_GPUS if mark.name == "xdist_group")
    seen = tmp_path / "seen"
    (tmp_path / "test_noted.py").write_text(TESTS.format(group=group, seen=str(seen)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "3", "--dist", "loadgroup"]
    subprocess.run([*command, str(tmp_path)], cwd=tmp_path, check=True, timeout=200, stdout=subprocess.DEVNULL)
    lines = seen.read_text().splitlines()
    assert len(lines) == 16
    assert len({line for line in lines if line.startswith("gpu")}) == 1
