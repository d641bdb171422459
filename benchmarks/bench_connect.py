"""asv: seconds that a new Python process takes to import gpudb, to connect to a new embedded database, and to query it.

`python -m benchmarks.bench_connect` prints the medians of ten processes, one step after another.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

PROCESSES = 10
STEPS = ("import", "connect", "first query", "second query")
_PROGRAM = """
import time
marks = [time.perf_counter()]
import gpudb
marks.append(time.perf_counter())
db = gpudb.connect()
marks.append(time.perf_counter())
for _ in range(2):
    db.sql("SELECT n, n * 2 AS twice FROM generate_series(1, 10) AS t(n)").fetchall()
    marks.append(time.perf_counter())
import json
print(json.dumps([after - before for before, after in zip(marks, marks[1:])]))
"""


class Connect:
    """Whole processes' work without Python's own start; the files are in the system's cache."""

    repeat = PROCESSES
    number = 1

    def timeraw_import(self) -> str:
        """Imports the package."""
        return "import gpudb"

    def timeraw_connect(self) -> tuple[str, str]:
        """Connects to a new temporary database."""
        return "gpudb.connect()", "import gpudb"


def measure() -> list[float]:
    """Returns the seconds of each step in a new process."""
    out = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    times: list[float] = json.loads(out.stdout)
    return times


def main() -> int:
    """Prints the median of each step, in milliseconds."""
    measure()  # fills the system's cache and compiles the package
    runs = [measure() for _ in range(PROCESSES)]
    for step, times in zip(STEPS, zip(*runs)):
        print(f"{step:14}{1000 * statistics.median(times):8.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
