"""All that a machine of several GPUs has to tell, by one command; each part has a time limit, and none stops another.

    python -m benchmarks.gpu.several OUT [--scale 30] [--workers 2 1] [--only ssb tpch …] [--data DIR] [--machine NAME]

Parts, in this order: `data` makes the files; `served` starts a server, loads, and has clients while a worker is killed;
`loading` tells what loading's time goes to; `scheduled` is a server on workers that `dask cuda worker` has started;
`ssb` and `tpch` compare on each count of GPUs with DuckDB and cudf-polars. OUT gets each part's log, EXPLAIN ANALYZE of
the queries, and the results. Without GPUs it runs the engine twin.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import report
from benchmarks.harness import RESULTS, default_machine

LIMITS = {"data": 60, "served": 110, "loading": 40, "scheduled": 50, "ssb": 110, "tpch": 200}
"""Seconds for each part."""
ENDING_S = 20
"""How long a part that was interrupted may take to end."""
TAIL = 1800
"""Characters of a part's log that are printed once it has ended."""
_MARK = "GPUDB_BENCHMARK_PART"


def commands(options: argparse.Namespace) -> dict[str, list[list[str]]]:
    """The commands of each part, which run side by side."""
    scale, data, most = f"{options.scale:g}", str(options.data), str(max(options.workers))
    counts = list(map(str, options.workers))
    measured = ["--data", data, "--machine", options.machine]
    compared = ["benchmarks.compare", "--scale", scale, "--workers", *counts, *measured]
    compared += ["--runs", "3", "--warm", "2", "--budget", "6", "--explain", str(options.out / "explain")]
    served = ["--scale", scale, "--workers", most, "--minutes", f"{options.minutes:g}", "--runs", "2", *measured]
    made = "import sys; from pathlib import Path; from benchmarks import tables; " + (
        "getattr(tables, sys.argv[1])(float(sys.argv[2]), Path(sys.argv[3]))"
    )
    python, module = [sys.executable, "-W", "ignore"], [sys.executable, "-W", "ignore", "-m"]
    return {
        "data": [[*python, "-c", made, suite, scale, data] for suite in ("tpch", "ssb_lines")],
        "ssb": [[*module, *compared, "--only", "ssb-lines"]],
        "tpch": [[*module, *compared, "--only", "tpch"]],
        "served": [[*module, "benchmarks.gpu.served", "--suite", "ssb-lines", *served]],
        "loading": [[*module, "benchmarks.gpu.loading", "--scale", scale, *measured]],
        "scheduled": [
            [*module, "benchmarks.gpu.scheduled", "--scale", scale, "--workers", most, "--data", data],
        ],
    }


def run(name: str, lines: list[list[str]], out: Path, seconds: float) -> bool:
    """Runs a part's commands, side by side, for so long at most; whether all of them ended well."""
    began = time.monotonic()
    print(f"==== {name}: at most {seconds:.0f} s", flush=True)
    mark = f"{os.getpid()}-{name}"
    log = out / f"{name}.txt"
    with log.open("wb") as written:
        environment = {**os.environ, _MARK: mark, "PYTHONUNBUFFERED": "1"}
        running = [
            subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT, env=environment)
            for line in lines
        ]
        late = [each for each in running if not _ended(each, began + seconds)]
        for each in late:
            each.send_signal(signal.SIGINT)  # what it has measured it keeps
        for each in late:
            if not _ended(each, time.monotonic() + ENDING_S):
                each.kill()
                each.wait()
    left = end_marked(mark)
    statuses = [each.returncode for each in running]
    took = time.monotonic() - began
    print(log.read_text(errors="replace")[-TAIL:].strip(), flush=True)
    ending = "over its time" if late else f"status {statuses}"
    print(f"==== {name}: {ending}, {took:.0f} s{f', {left} processes were left' if left else ''}\n", flush=True)
    return not late and not any(statuses)


def _ended(process: subprocess.Popen[bytes], by: float) -> bool:
    try:
        process.wait(max(by - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return False
    return True


def end_marked(mark: str) -> int:
    """Ends the processes that a part has left, known by a variable of their environment; how many there were."""
    wanted = f"{_MARK}={mark}".encode()
    found = 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)
                found += 1
    return found


def main(arguments: list[str] | None = None) -> int:
    """Status 1 if a part failed or ran over its time."""
    parser = argparse.ArgumentParser(description="all that several GPUs have to tell")
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 1])
    parser.add_argument("--minutes", type=float, default=0.5, help="of many clients")
    parser.add_argument("--only", nargs="+", choices=LIMITS, default=list(LIMITS), metavar="PART")
    parser.add_argument("--limits", type=float, default=1.0, help="a factor for the parts' limits")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine", default=default_machine())
    options = parser.parse_args(arguments)
    for folder in (options.out, options.data):
        folder.mkdir(parents=True, exist_ok=True)
    lines = commands(options)
    well = {name: run(name, lines[name], options.out, options.limits * LIMITS[name]) for name in options.only}
    report.main()
    for path in RESULTS.glob(f"*.{options.machine}.*"):
        shutil.copy(path, options.out)
    print("parts:", ", ".join(f"{name} {'well' if each else 'NOT WELL'}" for name, each in well.items()), flush=True)
    return 0 if all(well.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
