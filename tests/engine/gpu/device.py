"""All that one GPU has to tell of the general engine, by one command; each part has a time limit, and none stops another.

    python -m tests.engine.gpu.device OUT [--processes 12] [--seconds 100] [--only survey tests memory] [--data DIR]

OUT gets `survey.json` (the shares and reasons, see `survey`), `found.json` (every statement's outcome), `tests.txt`
(pytest's), `memory.json` (data beyond the GPU's memory, memory that runs out, a lost worker). Where no network gives
DuckDB its generator of TPC-DS, DIR has the suites' data, made elsewhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.engine.gpu.survey import merged
from tests.engine.gpu.test_benchmarks import SUITES

_TESTS = ("tests/engine/gpu/cudf/test_frames.py", "tests/engine/gpu/cudf/test_served.py")
_MINUTES = 4.0


def surveyed(folder: Path, out: Path, processes: int, seconds: float, data: Path | None = None) -> None:
    """The survey, in so many processes that share the GPU."""
    jobs = [(f"cases{n}", ["--only", "cases", "--part", f"{n}/{processes}"]) for n in range(1, processes + 1)]
    jobs += [(name, ["--only", name, *(["--data", str(data)] if data else [])]) for name in SUITES]
    running = []
    for name, chosen in jobs:
        path = folder / f"{name}.json"
        command = [sys.executable, "-W", "ignore", "-m", "tests.engine.gpu.survey", *chosen, "--seconds", str(seconds)]
        with (folder / f"{name}.txt").open("wb") as log:
            made = subprocess.Popen([*command, "--json", str(path)], stdout=log, stderr=subprocess.STDOUT)
        running.append((name, made))
    ends = time.monotonic() + seconds + 60
    for name, process in running:
        try:
            process.wait(max(ends - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            process.kill()
            print(f"{name} did not end", flush=True)
        print(f"---- {name}: {(folder / f'{name}.txt').read_text(errors='replace')[-600:]}", flush=True)
    paths = [folder / f"{name}.json" for name, _ in running if (folder / f"{name}.json").exists()]
    (out / "survey.json").write_text(json.dumps(merged(paths), indent=1) + "\n")
    (out / "found.json").write_text(json.dumps({path.stem: json.loads(path.read_text()) for path in paths}, indent=0))


def tested(out: Path) -> None:
    """The tests that need a GPU, but for the suites, which are surveyed."""
    with (out / "tests.txt").open("wb") as log:
        _limited([sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider", *_TESTS], log)
    print((out / "tests.txt").read_text(errors="replace")[-3000:], flush=True)


def memory(out: Path) -> None:
    """What `beyond` tells."""
    with (out / "memory.txt").open("wb") as log:
        _limited([sys.executable, "-W", "ignore", "-m", "tests.engine.gpu.beyond", str(out / "memory.json")], log)
    print((out / "memory.txt").read_text(errors="replace")[-5000:], flush=True)


def _limited(command: list[str], log: object) -> None:
    try:
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, timeout=60 * _MINUTES, check=False)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        print(f"{command[3]} did not end", flush=True)


def main() -> None:
    """Runs the parts: the survey beside the others, which need one server on the GPU after the other."""
    parser = argparse.ArgumentParser(description="all that one GPU has to tell of the general engine")
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--only", nargs="+", default=["survey", "tests", "memory"])
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="survey-"))
    beside = None
    if "survey" in options.only:
        chosen = (folder, options.out, options.processes, options.seconds, options.data)
        beside = threading.Thread(target=surveyed, args=chosen)
        beside.start()
    if "memory" in options.only:
        memory(options.out)
    if "tests" in options.only:
        tested(options.out)
    if beside is not None:
        beside.join()


if __name__ == "__main__":
    main()
