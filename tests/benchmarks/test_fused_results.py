"""Committed kernel figures: each one below half of the roofline has a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.fused.keep import HALF
from benchmarks.harness import RESULTS


@pytest.mark.parametrize("path", sorted(RESULTS.glob("fused.*.json")), ids=lambda path: path.name)
def test_what_bounds_a_slow_kernel_is_told(path: Path) -> None:
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    copied = {row["case"]: row["median_s"] for row in rows if row["system"] == "copying its bytes"}
    kernels = {row["case"]: row for row in rows if row["system"] == "kernel"}
    assert kernels.keys() == copied.keys()
    slow = {name for name, row in kernels.items() if copied[name] < HALF * row["median_s"]}
    assert {name for name, row in kernels.items() if row.get("note", "").startswith(("bound by", "reads "))} >= slow
