"""Headline figures of the README and of the guide's benchmarks page: they are those of committed results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.guide_blocks import DOCS, ROOT

RESULTS = ROOT / "benchmarks/results"
README, PAGE = ROOT / "README.md", DOCS / "benchmarks.md"


def medians(file: str, system: str) -> list[float]:
    """A system's medians in seconds by case, without the total."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / file).read_text(encoding="utf-8"))["rows"]
    return [row["median_s"] for row in rows if row["system"] == system and row["case"] != "total"]


TOTALS = [
    ("peers-ssb.h200x1.json", "gpudb by libpq", lambda value: f"{1000 * value:.0f} ms", (README, PAGE)),
    ("peers-ssb.h200x1.json", "its kernel", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("peers-ssb.h200x1.json", "duckdb", lambda value: f"{value:.1f} s", (README, PAGE)),
    ("peers-ssb.h200x1.json", "cudf-polars", lambda value: f"{value:.2f} s", (PAGE,)),
    ("power-100.h200x1.json", "gpudb gpu", lambda value: f"{1000 * value:.0f} ms", (README, PAGE)),
    ("power-100.h200x1.json", "duckdb, one run over the files", lambda value: f"{value:.0f} s", (README, PAGE)),
    ("scaling-ssb.h200x2.json", "gpudb by libpq on 1 GPU", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("scaling-ssb.h200x2.json", "gpudb by libpq on 2 GPUs", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("exchange.h200x2.json", "gpudb 2 GPUs", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("exchange.h200x2.json", "cudf-polars 2 GPUs", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("tpch.h200x2.json", "gpudb 1 GPU", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("tpch.h200x2.json", "gpudb 2 GPUs", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("ssb-lines.h200x2.json", "gpudb 1 GPU", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("ssb-lines-general.h200x2.json", "gpudb 2 GPUs", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("power-tpcds-10.h100x1.json", "gpudb gpu", lambda value: f"{value:.1f} s", (PAGE,)),
    ("power-tpcds-10.h100x1.json", "duckdb", lambda value: f"{value:.1f} s", (PAGE,)),
    ("power-groupby_join-100.h100x1.json", "gpudb gpu", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("power-groupby_join-100.h100x1.json", "duckdb", lambda value: f"{value:.1f} s", (PAGE,)),
    ("power-asof-100.h100x1.json", "gpudb gpu", lambda value: f"{1000 * value:.0f} ms", (PAGE,)),
    ("power-asof-100.h100x1.json", "duckdb", lambda value: f"{value:.1f} s", (PAGE,)),
    ("copy.cpu2.json", "gpudb server", lambda value: f"{value:.1f} s", (PAGE,)),
    ("copy.cpu2.json", "postgresql", lambda value: f"{value:.1f} s", (PAGE,)),
]


@pytest.mark.parametrize(("file", "system", "text", "pages"), TOTALS, ids=[f"{each[0]} {each[1]}" for each in TOTALS])
def test_totals(file: str, system: str, text: Callable[[float], str], pages: tuple[Path, ...]) -> None:
    shown = text(sum(medians(file, system)))
    for page in pages:
        assert f" {shown} " in page.read_text(encoding="utf-8").replace(";", " ").replace(",", " "), (page.name, shown)


@pytest.mark.parametrize("suite", ["ssb", "tpch"])
def test_on_two_cores(suite: str) -> None:
    rows = json.loads((RESULTS / f"{suite}.cpu2.json").read_text(encoding="utf-8"))["rows"]
    for system in {row["system"] for row in rows} & {"gpudb", "duckdb", "postgresql"}:
        value = sum(medians(f"{suite}.cpu2.json", system))
        for page in (README, PAGE):
            text = page.read_text(encoding="utf-8")
            assert any(f"| {shown} |" in text for shown in (f"{value:.2f} s", f"{value:.1f} s")), (system, value)


def test_taxi() -> None:
    shown = ", ".join(f"{1000 * value:.1f}" for value in medians("wire-taxi.h200x1.json", "gpudb by libpq"))
    kernels = ", ".join(f"{1000 * value:.1f}" for value in medians("wire-taxi.h200x1.json", "its kernel"))
    assert f"{shown} ms" in README.read_text(encoding="utf-8")
    assert f"{shown} ms | {kernels} ms" in PAGE.read_text(encoding="utf-8")
