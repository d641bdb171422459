"""All measurements of the fused kernels on a GPU in one run: correctness first, then speed.

python -m benchmarks.fused.device prepare FOLDER    writes the inputs: pipelines of the corpus and benchmarks (no GPU)
python -m benchmarks.fused.device run FOLDER MACHINE [STEP …]    runs them on one GPU and writes results/*.MACHINE.json

A step that fails or exceeds its time does not stop the others; the exit status reports it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.fused import files
from benchmarks.gpu import bounded

SEEDS = ("1", "2", "3")


def preparation_steps(folder: Path) -> list[tuple[str, list[str], int]]:
    """Preparation: each step's name, arguments to Python, and time limit in seconds."""
    return [
        ("corpus", ["-m", "tests.engine.gpu.fused.recorded_pipelines", str(folder / "corpus.xz"), *SEEDS], 900),
        ("cases", ["-m", "benchmarks.fused.cases", str(folder / "tables"), str(folder / "cases.xz")], 1800),
    ]


def gpu_steps(folder: Path, machine: str) -> list[tuple[str, list[str], int]]:
    """Steps on the GPU."""
    full, groups = str(folder / "roofline.json"), str(folder / "groups.json")
    wire, around = ["-m", "benchmarks.fused.wire"], ["-m", "benchmarks.fused.around"]
    more = ["--machine", machine, "--folder", str(folder)]
    tests, corpus = "tests/engine/gpu/fused", str(folder / "corpus.xz")
    return [
        ("kernels", [f"{tests}/compare_kernels.py", corpus], 240),
        ("sanitizer", [f"{tests}/sanitize_kernels.py", corpus, str(folder / "sanitizer"), "90", machine], 340),
        ("roofline", ["-m", "benchmarks.fused.roofline", str(folder / "cases.xz"), full], 300),
        ("groups", ["-m", "benchmarks.fused.groups", groups], 120),
        ("keep", ["-m", "benchmarks.fused.keep", full, groups, machine], 30),
        ("taxi", [*wire, "taxi", *more], 420),
        ("ssb", [*wire, "ssb", *more], 420),
        ("peers", ["-m", "benchmarks.fused.peers", str(folder), "--machine", machine], 240),
        ("around-taxi", [*around, "taxi", str(folder / f"taxi-{files.RIDES}"), "--profile"], 180),
        ("around-ssb", [*around, "ssb", str(folder / f"ssb-{files.LINES}"), "--profile"], 180),
    ]


def run_step(name: str, arguments: list[str], seconds: int, folder: Path) -> bool:
    """Runs a step; returns whether it succeeded. Its output goes to FOLDER/NAME.txt; the end of it is printed."""
    log = folder / f"{name}.txt"
    log.unlink(missing_ok=True)
    try:
        ended = bounded.run(name, {log: [sys.executable, *arguments]}, seconds, lambda: None)
    finally:
        print(log.read_text(errors="replace"), flush=True)
    print(f"== {name}: {ended}", flush=True)
    return ended.succeeded


def main() -> None:
    """Prepares or runs."""
    action, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    steps = preparation_steps(folder) if action == "prepare" else gpu_steps(folder, sys.argv[3])
    wanted = sys.argv[3 if action == "prepare" else 4 :] or [name for name, *_ in steps]
    succeeded = [run_step(*each, folder) for each in steps if each[0] in wanted]
    sys.exit(not all(succeeded))


if __name__ == "__main__":
    main()
