"""Timed runs, the comparison of answers, and result files."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudb.cli.machine import Gpus

RESULTS = Path(__file__).parent / "results"
COMMIT_VARIABLE = "GPUDB_BENCHMARK_COMMIT"
"""Environment variable for the commit."""
TOLERANCE = 1e-9
"""Relative tolerance between numbers: sums of floats depend on their order, and peers average in floats."""
SYSTEM_TOLERANCES = {"cudf-polars": 1e-6}
"""Larger tolerance by system name prefix: Polars rounds a product of decimals to its factors' scale."""

Answer = list[tuple[Any, ...]]


@dataclass(slots=True)
class Row:
    """One case on one system, in seconds; `bytes` is the size of the transferred data if the transfer is timed."""

    case: str
    system: str
    median_s: float | None
    min_s: float | None
    runs: int
    table_rows: int
    result_rows: int | None = None
    bytes: int | None = None
    answers_agree: bool | None = None
    note: str | None = None


def time_runs(
    run: Callable[[], Any], *, warm: int = 2, runs: int = 5, budget_s: float = 60.0
) -> tuple[list[float], Any]:
    """Runs `warm` times untimed, then up to `runs` times within `budget_s`. Returns the times and the last result."""
    started = time.perf_counter()
    for _ in range(warm):
        result = run()
        if time.perf_counter() - started > budget_s / 3:
            break
    times = []
    for _ in range(runs):
        at = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - at)
        if time.perf_counter() - started > budget_s:
            break
    return times, result


def make_row(case: str, system: str, times: Sequence[float], table_rows: int, **more: Any) -> Row:
    """Builds a row with the median and the minimum of some times."""
    return Row(case, system, statistics.median(times), min(times), len(times), table_rows, **more)


def answers_equal(one: Answer, other: Answer, tolerance: float = TOLERANCE) -> bool:
    """Returns whether answers are equal multisets, with numbers to a tolerance and texts without char's padding."""
    if len(one) != len(other):
        return False
    return all(_rows_equal(a, b, tolerance) for a, b in zip(_sort_rows(one), _sort_rows(other), strict=True))


def _sort_rows(answer: Answer) -> Answer:
    return sorted((tuple(_normalize(value) for value in row) for row in answer), key=_key)


def _normalize(value: object) -> object:
    if isinstance(value, str):
        return value.rstrip(" ")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return value


def _key(row: tuple[object, ...]) -> list[tuple[str, object]]:
    """A sort key that places numbers with rounding differences at the same position."""
    return [(type(v).__name__, float(f"{v:.7g}") if isinstance(v, float) else str(v)) for v in row]


def _rows_equal(one: tuple[object, ...], other: tuple[object, ...], tolerance: float) -> bool:
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if isinstance(a, float) and isinstance(b, float):
            if not (math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))):
                return False
        elif a != b:
            return False
    return True


def check_answers(rows: Iterable[Row], answers: dict[tuple[str, str], Answer], trusted: str) -> None:
    """Marks each row by whether its answer is the `trusted` system's, with a note if only rounded answers agree."""
    for row in rows:
        expected, actual = answers.get((row.case, trusted)), answers.get((row.case, row.system))
        if expected is None or actual is None:
            continue
        row.answers_agree = answers_equal(actual, expected)
        tolerance = next((each for name, each in SYSTEM_TOLERANCES.items() if row.system.startswith(name)), TOLERANCE)
        if not row.answers_agree and answers_equal(actual, expected, tolerance):
            row.answers_agree = True
            row.note = f"the answer to {tolerance:g} alone, since its products of decimals are rounded"


def save_results(
    name: str, rows: Sequence[Row], versions: dict[str, str], machine: str | None = None, program: str = "compare"
) -> Path:
    """Writes results/NAME.MACHINE.json; `program` is the benchmark that ran, or a module of tests."""
    result = describe_run(program if program.startswith("tests.") else f"benchmarks.{program}", machine)
    result["versions"] |= versions
    result["rows"] = [{key: value for key, value in asdict(row).items() if value is not None} for row in rows]
    return write_json(RESULTS / f"{name}.{result['machine']}.json", result)


def describe_run(program: str, machine: str | None = None) -> dict[str, Any]:
    """Returns the head of a result file: the machine, the commit, the command and the date."""
    return {
        "machine": machine or default_machine(),
        "processor": _processor(),
        "threads": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "gpus": gpu_names(),
        "versions": {"python": platform.python_version()},
        "commit": measured_commit(),
        "command": " ".join(["python", "-m", program, *sys.argv[1:]]).replace(f"{Path(__file__).parents[1]}/", ""),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }


def write_json(path: Path, content: Any) -> Path:
    """Writes a JSON file atomically: a killed process leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def default_machine() -> str:
    """Returns `cpu2`, or with GPUs `h200x1`: their model, and how many this process may use."""
    names = gpu_names()
    if not names:
        return f"cpu{len(os.sched_getaffinity(0))}"
    model = next((word for word in names[0].split() if any(map(str.isdigit, word))), names[0].replace(" ", "-"))
    return f"{model.lower()}x{len(names)}"


@cache
def _gpus() -> Gpus:
    from gpudb.cli import machine

    return machine.query_gpus()


def gpu_names() -> list[str]:
    """Returns the names of the GPUs that this process may use, by nvidia-smi."""
    from gpudb.cli import machine

    found = _gpus()
    by_index = {str(gpu.index): gpu.name for gpu in found.gpus}
    return [by_index.get(each, found.gpus[0].name) for each in machine.list_visible_gpus(found) if found.gpus]


def visible_gpus(count: int) -> str:
    """Returns the first `count` GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; raises ValueError
    if there are fewer.
    """
    from gpudb.cli import machine

    visible = machine.list_visible_gpus(_gpus())
    if len(visible) < count:
        raise ValueError(f"{count} GPUs are wanted, of {len(visible)} that this process may use")
    return ",".join(visible[:count])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def measured_commit() -> str:
    """Returns the measured commit, with + if files were changed. GPUDB_BENCHMARK_COMMIT names it if the files are
    outside of their repository.
    """
    return os.environ.get(COMMIT_VARIABLE) or _head_commit()


@cache
def _head_commit() -> str:
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, timeout=20)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, timeout=20
        )
    except OSError:
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "") if head.returncode == 0 else "unknown"
