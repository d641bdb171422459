"""Kernels under compute-sanitizer, on a GPU machine: python sanitize_kernels.py FILE OUT [SECONDS [MACHINE]].

FILE is written by `kept`. Pipelines that add a new kind of step, sink or column run first, so that a run that ends
early has covered all kinds; each tool has a time limit. Every array is a separate allocation, so that reads beyond its
end are detected. OUT.TOOL.txt has all output of a tool; with MACHINE its findings are written to
benchmarks/results/sanitizer/MACHINE.json.
"""

from __future__ import annotations

import lzma
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))

TOOLS = ("memcheck", "racecheck")
SECONDS = 100
FOUND = 9
"""The tool's exit status if it reports findings."""
_SUMMARY = re.compile(r"========= (ERROR SUMMARY|RACECHECK SUMMARY): (.*)")
_FOUND = re.compile(r"^========= (?:Error|Warning|Invalid|Race)[^\n]*(?:\n=========   +[^\n]*){0,6}", re.MULTILINE)
"""A finding of a tool with its location."""
_OTHERS = re.compile(r"Race reported between \w+ access at cupy_\w+")
"""Findings in CuPy's kernels, with which this program checks results: `nonzero` reads what other threads write."""
_CALLS = re.compile(
    r"\b(?:Counts|Sums|Distances<\d>|Reals|Leasts\d+|Mosts\d+|like<\w+>|load<\d, \d+>|load_row|load_valid|probe"
    r"|next_place|group_slot_together<\d>|lanes_with|block_put|copy_words|shared_add)(?!\w)"
)
_PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")


def kinds(pipeline: Any) -> set[str]:
    """Returns the building blocks of a pipeline's kernel."""
    from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
    from gpudb.engine.gpu.fused.ir.pipeline import Lookup

    source = generate_kernel(pipeline).source
    calls = set(_CALLS.findall(source))
    for step in pipeline.steps:
        if isinstance(step, Lookup):
            calls.add(f"{step.kind} lookup, unique {step.unique}, bitmap {step.presence}, asked {bool(step.condition)}")
    return calls


def ordered(kept: Sequence[Any]) -> list[Any]:
    """Pipelines with rows, in an order in which the first ones cover every kind."""
    left = [(kinds(each[1]), each) for each in kept if any(segment.rows for segment in each[2])]
    found: list[Any] = []
    while left:
        waiting = set().union(*(each for each, _ in left))
        rest = []
        for each, given in sorted(left, key=lambda pair: -len(pair[0])):
            if each & waiting:
                waiting -= each
                found.append(given)
            else:
                rest.append((each, given))
        left = rest if len(rest) < len(left) else []
    return found


def checked(tool: str, file: Path, seconds: float, log: Path) -> dict[str, Any]:
    """Runs a tool with a time limit; returns its findings."""
    program = shutil.which("compute-sanitizer") or next(
        (str(Path(place) / "compute-sanitizer") for place in _PLACES if (Path(place) / "compute-sanitizer").exists()),
        None,
    )
    if program is None:
        return {"tool": tool, "status": "compute-sanitizer is not installed"}
    command = [program, "--tool", tool, "--error-exitcode", str(FOUND), sys.executable]
    command += [str(Path(__file__).with_name("compare_kernels.py")), str(file), "--seconds", str(seconds), "--apart"]
    begun = time.perf_counter()
    with log.open("w") as out:
        try:
            code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=seconds + 60).returncode
        except subprocess.TimeoutExpired:
            code = 124
    said = log.read_text(errors="replace")
    return {"tool": tool, **judged(code, said), "seconds": round(time.perf_counter() - begun, 1)}


def judged(code: int, said: str) -> dict[str, Any]:
    """Evaluates a tool's exit status and output: whether our kernels are clean, and the findings in them."""
    summary = [" ".join(each) for each in _SUMMARY.findall(said)]
    kernels = re.findall(r"(\d+) of (\d+) kernels equal the NumPy backend", said)
    reports = _FOUND.findall(said)
    found = [each[:1000] for each in reports if not _OTHERS.search(each)]
    ended = code == 0 or (code == FOUND and bool(reports) and not found)
    clean = ended and bool(kernels) and bool(summary)
    status = "clean" if clean else "found something" if code == FOUND else f"status {code}: {said[-600:]}"
    ran = [int(each) for each in kernels[-1]] if kernels else []
    others = len(reports) - len(found)
    return {"status": status, "summary": summary, "found": found[:5], "in others": others, "kernels": ran}


def main() -> None:
    """Runs each tool; returns status 1 unless all are clean."""
    from benchmarks.fused.roofline import stub_packages
    from benchmarks.harness import RESULTS, describe_run, write_json

    stub_packages()
    out, seconds = Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else SECONDS
    machine = sys.argv[4] if len(sys.argv) > 4 else None
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ordered.xz"
        kept = pickle.loads(lzma.decompress(Path(sys.argv[1]).read_bytes()))
        file.write_bytes(lzma.compress(pickle.dumps(ordered(kept), protocol=5), preset=1))
        for tool in TOOLS:
            found.append(checked(tool, file, seconds, out.with_suffix(f".{tool}.txt")))
            print(found[-1], flush=True)
            if machine is not None:
                write_json(
                    RESULTS / "sanitizer" / f"{machine}.json",
                    {**describe_run("sanitize_kernels.py", machine), "tools": found},
                )
    sys.exit(any(each["status"] != "clean" for each in found))


if __name__ == "__main__":
    main()
