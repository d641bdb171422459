"""Keeps what `roofline` and `groups` measured: python -m benchmarks.fused.keep FULL.json GROUPS.json MACHINE."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.fused.roofline import RUNS
from benchmarks.harness import RESULTS, commit

BOUND = {
    "taxi q1": "bound by one shared-memory atomic a row, not by its one byte",
    "tpch q01": "bound by shared-memory atomics, one for each of its counts and two for each of its sums, a row",
    "ranges": "bound by shared-memory atomics of the rows that its conditions leave, which differ from lane to lane",
    "first": "reads the columns of its condition and its first key twice: to count rows by the key, and for the rows",
    "join": "bound by reads of 8 bytes at random from L2, and by sums of floats in shared memory",
}
"""Of kernels below half of the roofline, what keeps them there."""


def main() -> None:
    """Writes results/fused.MACHINE.json: kernels, and beside each the time in which its bytes could be copied."""
    full, groups = (json.loads(Path(each).read_text(encoding="utf-8")) for each in sys.argv[1:3])
    machine = sys.argv[3]
    rows: list[dict[str, Any]] = []
    for each in full["rows"]:
        kernel = {
            "case": each["case"], "system": "kernel", "median_s": each["median_ms"] / 1000,
            "min_s": each["min_ms"] / 1000, "runs": RUNS, "table_rows": each["table_rows"],
            "result_rows": each["groups"], "bytes": each["bytes"],
            "answers_agree": each["equals_twin"] and each["ways_agree"], "compile_ms": each["compile_ms"],
            "registers": each["registers"],
        }  # fmt: skip
        if each["case"] in BOUND:
            kernel["note"] = BOUND[each["case"]]
        seconds = each["roofline_ms"] / 1000
        roof = {"case": each["case"], "system": "copying its bytes", "median_s": seconds, "min_s": seconds, "runs": 10,
                "table_rows": each["table_rows"], "result_rows": each["groups"]}  # fmt: skip
        rows += [kernel, roof]
    for each in groups["rows"]:
        name = f"{each['groups']:,} groups" + (", one has 90%" if each["skewed"] else "")
        row = {
            "case": name, "system": "kernel", "median_s": each["median_ms"] / 1000, "min_s": each["min_ms"] / 1000,
            "runs": 10, "table_rows": round(each["rows_per_s"] * each["median_ms"] / 1000),
            "result_rows": each["groups"], "bytes": each["bytes"], "answers_agree": each["equals_cupy"],
        }  # fmt: skip
        roof = {"case": name, "system": "copying its bytes", "median_s": each["roofline_ms"] / 1000,
                "min_s": each["roofline_ms"] / 1000, "runs": 10, "table_rows": row["table_rows"],
                "result_rows": each["groups"]}  # fmt: skip
        rows += [row, roof]
    found = {
        "machine": machine,
        "gpus": [full["gpu"]],
        "versions": full["versions"],
        "commit": commit(),
        "command": "python -m benchmarks.fused.roofline",
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "copy_bytes_per_s": full["copy_bytes_per_s"],
        "rows": rows,
    }
    path = RESULTS / f"fused.{machine}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
