"""Converts the output of `roofline` and `groups` to results.

python -m benchmarks.fused.keep FULL.json GROUPS.json MACHINE
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.fused.roofline import RUNS
from benchmarks.harness import RESULTS, measured_commit

BOUND = {
    "taxi q1": "bound by instructions, 7 for a row of one byte",
    "nulls": "bound by instructions, 14 for a row of three bytes",
    "tpch q01": "bound by instructions, some 115 a row, of them 11 shared-memory atomics for its counts and sums",
    "ranges": "bound by shared-memory atomics of the rows that its conditions leave, which differ from lane to lane",
    "first": "reads the columns of its condition and its first key twice: to count rows by the key, and for the rows",
    "like": "bound by instructions over its bytes, eight at a time, by lanes whose texts end sooner than their warp's",
    "join": "bound by reads of 8 bytes at random from L2, and by sums of floats in shared memory",
}
"""Reasons for kernels below half of the roofline."""


HALF = 0.5
L2_BYTES = 50_000_000
"""Bytes of groups' words that fit into the L2 cache."""
SHARED_MEMORY_GROUPS = 200 * 1024 // 12
"""Groups of a count and a sum that fit into shared memory."""


def explain_limit(groups: int, *, skewed: bool) -> str:
    """Returns why a kernel with so many groups, with one count and one sum, is below half of the roofline."""
    size = 16 * groups
    if groups <= SHARED_MEMORY_GROUPS:
        more = ", where lanes of a warp meet and wait for one another" if skewed else ""
        return f"bound by instructions, and by shared-memory atomics, one for the count and one for the sum a row{more}"
    more = "; lanes that have one group are found and put together first" if skewed else ""
    if size <= L2_BYTES:
        return f"bound by the L2 cache's atomics, two a row, at random over {size / 1e6:.0f} MB{more}"
    return f"bound by the GPU's memory at random: two atomics a row over {size / 1e6:,.0f} MB, more than L2 holds{more}"


def main() -> None:
    """Writes results/fused.MACHINE.json: kernels, each with the time in which its bytes could be copied."""
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
        if each["case"] in BOUND and each["share"] < HALF:
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
        if each["roofline_ms"] < HALF * each["median_ms"]:
            row["note"] = explain_limit(each["groups"], skewed=each["skewed"])
        roof = {"case": name, "system": "copying its bytes", "median_s": each["roofline_ms"] / 1000,
                "min_s": each["roofline_ms"] / 1000, "runs": 10, "table_rows": row["table_rows"],
                "result_rows": each["groups"]}  # fmt: skip
        rows += [row, roof]
    found = {
        "machine": machine,
        "gpus": [full["gpu"]],
        "versions": full["versions"],
        "commit": measured_commit(),
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
