"""COPY of TPC-H's lineitem by the server alone, and by 1, 2, 4 … processes: one client and 24, beside PostgreSQL.

    python -m benchmarks.bench_copy_processes [--scale 0.5] [--clients 24] [--runs 3] [--processes 0 1 2] [--save]

The files are those of `bench_concurrent_copies`; all systems take turns, so that they meet the same load. Beside the
rates it prints the processor time of the server's own process per million rows: what one interpreter, and the locks of
one process, can be asked for at most. With --save results are written to results/copy_processes.MACHINE.json.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.bench_concurrent_copies import copy_files, write_files
from benchmarks.harness import Row, make_row, save_results
from benchmarks.systems import Wire, gpudb_server, postgres

MILLION = 1e6


def list_counts(processors: int) -> list[int]:
    """Returns 0, and the powers of two up to the processors."""
    return [0, *(1 << power for power in range(processors.bit_length()) if 1 << power <= processors)]


def processor_seconds(pid: int) -> float:
    """Returns the processor time of a process, without its children's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(systems: list[Wire], options: argparse.Namespace) -> tuple[list[Row], dict[tuple[str, str], float]]:
    """Copies in turns; returns the times, and the processor seconds of each server's process per million rows."""
    whole, parts, rows = write_files(options.scale, options.clients, options.data)
    cases = {"one COPY": [whole], f"{options.clients} COPY": parts}
    times: dict[tuple[str, str], list[float]] = {}
    spent: dict[tuple[str, str], list[float]] = {}
    for system in systems:
        copy_files(system, [parts[0]] * 2)  # starts the processes
    for _ in range(options.runs):
        for case, paths in cases.items():
            for system in systems:
                before = processor_seconds(system.pid) if system.pid else 0.0
                times.setdefault((case, system.name), []).append(copy_files(system, paths))
                if system.pid:
                    spent.setdefault((case, system.name), []).append(processor_seconds(system.pid) - before)
                assert system.query("SELECT count(*) FROM lineitem") == [(rows,)]
    size = whole.stat().st_size
    found = [make_row(case, name, each, rows, bytes=size) for (case, name), each in times.items()]
    return found, {key: statistics.median(each) * MILLION / rows for key, each in spent.items()}


def main() -> int:
    """Measures, prints ratios, and writes the results."""
    parser = argparse.ArgumentParser(description="COPY by processes")
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=list_counts(os.cpu_count() or 1))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--without-peer", action="store_true", help="only gpudb")
    parser.add_argument("--machine", help="the results' label")
    parser.add_argument("--save", action="store_true", help="write results under the label")
    options = parser.parse_args()
    with ExitStack() as stack:
        systems: list[Wire] = []
        for count in options.processes:
            server = stack.enter_context(gpudb_server(load_processes=count))
            server.name = f"gpudb, {count} processes" if count else "gpudb, in the server"
            systems.append(server)
        if not options.without_peer:
            systems.append(stack.enter_context(postgres()))
        rows, spent = measure(systems, options)
    for row in rows:
        assert row.median_s is not None
        own = spent.get((row.case, row.system))
        shown = "" if own is None else f"   the server's own processor time {own:5.2f} s a million rows"
        print(f"{row.case:10} {row.system:22} {row.table_rows / row.median_s / 1e3:9.0f} thousand rows/s{shown}")
    _print_ratios(rows)
    if options.save:
        save_results("copy_processes", rows, {}, options.machine, "bench_copy_processes")
    return 0


def _print_ratios(rows: list[Row]) -> None:
    medians = {(row.case, row.system): row.median_s or 0.0 for row in rows}
    one, many = dict.fromkeys(row.case for row in rows)
    for system in dict.fromkeys(row.system for row in rows):
        line = f"{system}: {many} {medians[one, system] / medians[many, system]:.2f} times as fast as one"
        if ("one COPY", "postgresql") in medians:
            ratios = (medians[case, "postgresql"] / medians[case, system] for case in (one, many))
            line += "; beside PostgreSQL {:.2f} and {:.2f} times".format(*ratios)
        print(line)


if __name__ == "__main__":
    sys.exit(main())
