"""Kernels and the NumPy backend run with NumPy, CuPy and Arrow alone, as on a machine for measurements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CODE = """
import sys
for name in ("polars", "duckdb", "distributed"):
    sys.modules[name] = None
from benchmarks.fused.roofline import stub_packages
stub_packages()
import benchmarks.fused.data
import benchmarks.fused.outcomes
import gpudb.engine.gpu.fused.cuda.launch
import gpudb.engine.gpu.fused.numpy_backend.executor
"""


def test_kernels_need_no_other_package() -> None:
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", _CODE], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
