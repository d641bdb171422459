"""The forkserver starts with the environment of Dask's workers, and leaves this process's environment unchanged."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import os
import time
from multiprocessing import forkserver
from pathlib import Path
from gpudb.engine.gpu.cluster.forkserver import begin

before = dict(os.environ)
begin()
assert dict(os.environ) == before
told = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/environ")
ends = time.monotonic() + 60
# Until it has begun its own program it has this process's environment, or for a moment none.
while b"OMP_NUM_THREADS=1" not in (held := told.read_bytes().split(b"\\0")) and time.monotonic() < ends:
    time.sleep(0.01)
assert b"OMP_NUM_THREADS=1" in held, held
assert b"MALLOC_TRIM_THRESHOLD_=4096" in held, held
"""


def test_it_has_the_environment_of_workers() -> None:
    given = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    given["MALLOC_TRIM_THRESHOLD_"] = "4096"
    subprocess.run([sys.executable, "-c", PROGRAM], env=given, check=True, timeout=200)
