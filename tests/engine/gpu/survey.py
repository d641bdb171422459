"""Statements of the suites that run on a GPU with the embedded engine's answers, and the others by reason.

    python -m tests.engine.gpu.survey [--only cases tpch ssb taxi tpcds drawn] [--workers 1 2] [--frames] [--json FILE]
        [--seconds N] [--seed N] [--twin]
    python -m tests.engine.gpu.survey --merge FILE… --json SUMMARY    # of several runs' files, the first one counts

Stages run in this process, as `local_stages` runs them, and then once more with kernels for all that can be fused.
`--frames` computes each lazy frame by Polars too and reports differences: the wrong operator, not only the statement.
`drawn` is an endless sequence of random statements (see `drawn`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, describe_run, write_json
from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.fused import runner
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import KernelRunner, NumpyRunner
from gpudb.engine.gpu.stage.stage_executor import TableSource
from gpudb.engine.protocol import Request
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from tests.support import case_files
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, outcome, selected, stopped_after
from tests.support.gpu.random_statements import drawn
from tests.support.gpu.random_tables import LONG_S
from tests.support.gpu.suites import SUITES, loaded
from tests.support.lab import Lab

EVERY_S = 3.0
"""Interval at which findings are written."""
_ROOM = 2**32


@dataclass
class Found:
    """Outcomes of the statements: names by outcome, and reasons."""

    right: list[str] = field(default_factory=list)
    partly: dict[str, list[str]] = field(default_factory=dict)
    """Right, with the reasons of their host operators."""
    lacking: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    fused: list[str] = field(default_factory=list)
    """Right, and partly computed by a kernel if tables of any size are worth one."""

    def told(self) -> str:
        """Formats the shares, and the reasons by frequency."""
        total = sum(map(len, (self.right, self.partly, self.lacking, self.wrong, self.broken)))
        carried = total - len(self.lacking)
        lines = [
            f"{total} statements: {carried} carried; of these {len(self.right)} on the GPU alone, {len(self.partly)}"
            f" with steps on the host, {len(self.wrong)} wrong, {len(self.broken)} broken; {len(self.fused)} by kernels"
        ]
        groups = (
            ("on the host", [reason for reasons in self.partly.values() for reason in reasons]),
            ("not carried", list(self.lacking.values())),
            ("broken", [each.split("\n")[0][:160] for each in self.broken.values()]),
        )
        for name, reasons in groups:
            lines += [f"  {name}: {count} × {reason[:200]}" for reason, count in Counter(reasons).most_common(25)]
        lines += [f"  wrong: {name}: {told[:400]}" for name, told in list(self.wrong.items())[:40]]
        return "\n".join(lines)


def statements(
    only: list[str], folder: Path, part: tuple[int, int] = (0, 1), seed: int = 0
) -> Iterator[tuple[str, Lab, Request]]:
    """Yields the statements of the suites, each with the database that has its tables; `part` selects a part of the
    case files and of each suite's queries.
    """
    if "cases" in only:
        files = case_files.read_all()
        for name in list(files)[part[0] :: part[1]]:
            lab = Lab()
            try:
                for statement in files[name]:
                    request = None if statement.setup else selected(lab, statement.sql)
                    if request is not None:
                        yield f"{name}:{statement.name}", lab, request
                        continue
                    with contextlib.suppress(GpudbError, AssertionError):
                        for result in lab.session.run(statement.sql):
                            for _ in result.batches or ():
                                pass
            finally:
                lab.close()
    if "drawn" in only:
        yield from drawn(f"{seed}.{part[0]}")
    for name in SUITES:
        if name in only:
            suite = SUITES[name](folder)
            with loaded(suite) as lab:
                for query, text in list(suite.queries.items())[part[0] :: part[1]]:
                    yield f"{name}:{query}", lab, lab.request(text)


def on_device() -> Backend:
    """Returns the backend of this process's GPU."""
    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.memory.device_memory import open_device

    print(open_device().name, flush=True)
    return CudfBackend()


def resident(frames: Any, **packing: Any) -> tuple[TableSource, NumpyRunner]:
    """Returns new caches of a database's tables, for frames and for kernels with compilation in the foreground: another
    database has other tables under the same OIDs. `packing` has arguments for `PackedTables`. With the host's backend
    the kernels are the NumPy backend.
    """
    if isinstance(frames, HostBackend):
        return ResidentTables(_ROOM), NumpyRunner(PackedTables(_ROOM, **packing))
    from gpudb.engine.gpu.cudf.files.column_chunks import CudfChunkReader
    from gpudb.engine.gpu.cudf.kernel_results import ResultFrameBuilder
    from gpudb.engine.gpu.cudf.resident_columns import CudfTableCache

    packed = PackedTables(_ROOM, CudfChunkReader(), **packing)
    kernels = KernelRunner(packed, ResultFrameBuilder(frames))
    runner.GENERAL_ROWS = 1  # every run waits for its kernels
    return CudfTableCache(_ROOM, frames, packed), kernels


def run(
    found: Found,
    name: str,
    lab: Lab,
    request: Request,
    frames: Backend,
    tables: TableSource,
    workers: list[int],
    kernels: NumpyRunner | None = None,
) -> None:
    """Runs a statement on the embedded engine and by each number of workers, and then fused by each."""
    with stopped_after(request, LONG_S) if name.startswith("drawn:") else contextlib.nullcontext():
        wanted = outcome(lambda: embedded(lab, request))
    if wanted == "0A000" or request.cancel.reason is not None:
        return  # needs a session's state, which these requests lack, or is too large
    frames.take_host_steps()
    before = kernels.ran if kernels is not None else 0
    ways: list[tuple[int, Costs | None, NumpyRunner | None]] = [(count, None, None) for count in workers]
    if kernels is not None:
        ways += [(count, EVERY, kernels) for count in workers]
    for count, costs, fused in ways:
        told = f"{count}, fused" if fused is not None else f"{count}"
        try:
            given = outcome(
                lambda c=count, e=costs, k=fused: local_stages.rows(request, c, lab.database.cpu, e, frames, tables, k)
            )
        except NotSupportedOnWorkers as lacking:
            found.lacking[name] = lacking.construct
            return
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            found.broken[name] = f"on {told}: {type(error).__name__}: {str(error)[:300]} [{where}]"
            return
        if given != wanted and not (name.startswith("drawn:") and _equal(given) == _equal(wanted)):
            found.wrong[name] = f"on {told}: {given!r:.180} where {wanted!r:.180}"
            return
    if kernels is not None and kernels.ran > before:
        found.fused.append(name)
    reasons = list(frames.take_host_steps())
    if reasons:
        found.partly[name] = reasons
    else:
        found.right.append(name)


def _equal(rows: Any) -> Any:
    """Comparable rows: any of several equal numbers may be returned, such as `0`, `-0` and `0.00` as the key of one
    group.
    """
    return sorted(tuple(map(_number, row)) for row in rows) if isinstance(rows, list) else rows


def _number(text: str) -> str:
    with contextlib.suppress(InvalidOperation):
        value = Decimal(text)
        return str(value.normalize() if value else 0)
    return text


def merged(paths: list[Path]) -> dict[str, Any]:
    """Merges several runs: the shares of all statements by suite, and the reasons of the others by frequency."""
    outcomes: dict[str, tuple[str, list[str]]] = {}
    fused: set[str] = set()
    for path in paths:
        held = json.loads(path.read_text())
        fused.update(held["fused"])
        for kind in ("right", "partly", "lacking", "wrong", "broken"):
            for name in held[kind]:
                told = held[kind][name] if isinstance(held[kind], dict) else []
                outcomes.setdefault(name, (kind, [told] if isinstance(told, str) else list(dict.fromkeys(told))))
    suites: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {"lacking": Counter(), "partly": Counter()}
    for name, (kind, told) in outcomes.items():
        suite = name.partition(":")[0]
        count = suites.setdefault(suite if suite in {*SUITES, "drawn"} else "cases", Counter())
        count[kind] += 1
        count["fused"] += name in fused
        if kind in reasons:
            reasons[kind].update(" ".join(each.split())[:120] for each in told)
    shares = {
        suite: {
            "statements": (total := count.total() - count["fused"]),
            "carried": total - count["lacking"],
            "wholly on the GPU": count["right"],
            "with steps on the host": count["partly"],
            "by kernels too": count["fused"],
            "wrong": count["wrong"],
            "broken": count["broken"],
        }
        for suite, count in suites.items()
    }
    faulty = {name: told for name, (kind, told) in outcomes.items() if kind in {"wrong", "broken"}}
    listed = {"not carried": reasons["lacking"].most_common(), "on the host": reasons["partly"].most_common()}
    return {"suites": shares, **listed, "wrong or broken": faulty}


def keep(paths: list[Path], folder: str, machine: str | None, program: str, **more: object) -> None:
    """Writes the findings of some runs' files to MACHINE.json in a folder of benchmarks/results."""
    head = describe_run(program, machine)
    told = merged(paths)
    write_json(RESULTS / folder / f"{head['machine']}.json", {**head, **more, **told})


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer is wrong or a statement breaks."""
    parser = argparse.ArgumentParser(description="statements of the suites that run on a GPU")
    parser.add_argument("--only", nargs="+", default=["cases", *SUITES])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9, help="time limit; findings so far are kept")
    parser.add_argument("--part", default="1/1", help="part of the case files and of each suite's queries, such as 2/3")
    parser.add_argument("--seed", type=int, default=0, help="seed of random statements")
    parser.add_argument("--twin", action="store_true", help="on the host, to try this file")
    parser.add_argument("--merge", nargs="+", type=Path, help="merge the files of several runs")
    options = parser.parse_args(arguments)
    if options.merge:
        options.json.write_text(json.dumps(merged(options.merge), indent=1) + "\n")
        return 0
    part, parts = int(options.part.split("/")[0]) - 1, int(options.part.split("/")[1])
    frames = HostBackend() if options.twin else on_device()
    differing: dict[str, str] = {}
    if options.frames:
        from tests.support.gpu.frame_comparison import compare

        compare(frames, differing)
    started = kept = time.monotonic()
    found = Found()

    def keep(ended: bool) -> None:
        if options.json is not None:
            write_json(options.json, {**vars(found), "differing": differing, "ended": ended})

    ended = False
    with tempfile.TemporaryDirectory() as made:
        folder = options.data or Path(made)
        lab_before: Lab | None = None
        for name, lab, request in statements(options.only, folder, (part, parts), options.seed):
            if lab is not lab_before:
                (tables, kernels), lab_before = resident(frames), lab
            # Compilation takes longer than all else; and the NumPy backend holds every pair of rows of a join at once.
            fused = kernels if name.startswith("drawn:star") or not name.startswith("drawn:") else None
            run(found, name, lab, request, frames, tables, options.workers, fused)
            if time.monotonic() > kept + EVERY_S:
                keep(ended=False)
                kept = time.monotonic()
            if time.monotonic() - started > options.seconds:
                print(f"ended after {options.seconds} s, at {name}", flush=True)
                ended = name.startswith("drawn:")
                break
        else:
            ended = True
    print(found.told(), flush=True)
    print(f"{len(differing)} lazy frames differ; {time.monotonic() - started:.0f} s", flush=True)
    for plan, told in list(differing.items())[:25]:
        print("----", told[:700], "\n", plan[:900], flush=True)
    keep(ended)
    return 1 if found.wrong or found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
