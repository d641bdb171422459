"""Measurements on one GPU and on two: a list of parts for each, with their programs and limits."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.bounded import Command
from benchmarks.harness import visible

STARTING_S = 120.0
"""Time of `served` besides its clients: two starts, every query once, and loading."""
EACH_S = 40
"""Time for a statement of `beyond`: a window of one partition takes half of it beside other work."""


Given = argparse.Namespace
"""Options: folders for `data` and for programs' output (`told`), the `machine`'s label, the number of `gpus`, whether
there is a `gpu` (otherwise the engine twin runs), `scale` and `large` scale, `rows` of the large tables instead, the
`minutes` of many clients, and the `processes` that share a GPU.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A part's usual and maximum seconds; its programs, by options and remaining seconds; and the files in the data
    folder that only it uses.
    """

    expected: float
    limit: float
    commands: Callable[[Given, float], list[Command]]
    files: tuple[str, ...] = ()


def module(name: str, *arguments: object) -> Command:
    """A command that runs a module of this project."""
    return [sys.executable, "-W", "ignore", "-m", name, *map(str, arguments)]


def _counts(given: Given) -> list[int]:
    """Numbers of GPUs, from the largest on."""
    return list(range(given.gpus, 0, -1))


def _measured(given: Given) -> list[object]:
    return ["--data", given.data, "--machine", given.machine]


def _made(given: Given, _: float) -> list[Command]:
    """Files that several parts read: the host's processors generate TPC-H's, a GPU the others."""
    return [module("benchmarks.tables", suite, f"{given.scale:g}", given.data) for suite in ("tpch", "ssb_lines")]


def _large_files(given: Given, _: float) -> list[Command]:
    """Generates the files of the large TPC-H by the host's processors, while parts run that need few of them."""
    return [module("benchmarks.tables", "tpch", f"{given.large:g}", given.data)]


def _prepared(step: str) -> Callable[[Given, float], list[Command]]:
    """Steps that run prepared inputs on a GPU."""

    def commands(given: Given, _: float) -> list[Command]:
        line = ["run", given.data, given.machine, step]
        return [module("benchmarks.fused.device", *line)] if given.gpu else []

    return commands


def _wire(suite: str) -> Callable[[Given, float], list[Command]]:
    def commands(given: Given, _: float) -> list[Command]:
        sizes = ["--rows", given.rows] if given.rows else []
        engine = [] if given.gpu else ["--engine", "twin"]
        chosen = [suite, "--machine", given.machine, "--folder", given.data]
        return [module("benchmarks.fused.wire", *chosen, *sizes, *engine)]

    return commands


def _peers(given: Given, seconds: float) -> list[Command]:
    if given.gpu:
        return _prepared("peers")(given, seconds)
    sizes = ["--rows", given.rows] if given.rows else []
    return [module("benchmarks.fused.peers", given.data, "--engine", "twin", "--machine", given.machine, *sizes)]


def _power(large: bool) -> Callable[[Given, float], list[Command]]:
    def commands(given: Given, seconds: float) -> list[Command]:
        scale = given.large if large else given.scale
        told = given.told / f"power-{scale:g}"
        sizes = ["--scale", f"{scale:g}", "--runs", 3, "--check", "--seconds", f"{0.9 * seconds:.0f}", "--out", told]
        return [module("benchmarks.gpu.power", *sizes, *_measured(given))]

    return commands


def _beyond(given: Given, _: float) -> list[Command]:
    rows = ["--rows", given.rows] if given.rows else []
    twin = [] if given.gpu else ["--twin"]
    kept = [given.told / "beyond.json", "--machine", given.machine, "--each", EACH_S]
    return [module("tests.engine.gpu.beyond", *kept, *rows, *twin)]


def _suites(given: Given) -> list[object]:
    """Returns the folder of small suites generated elsewhere, which TPC-DS needs without a network."""
    return ["--data", given.data] if (given.data / "tpcds-0.01").exists() else []


def _surveyed(given: Given, seconds: float) -> list[Command]:
    kept = ["--machine", given.machine, "--processes", given.processes, "--seconds", f"{0.85 * seconds:.0f}"]
    kept += _suites(given)
    twin = [] if given.gpu else ["--twin"]
    return [module("tests.engine.gpu.device", given.told, "--only", "survey", *kept, *twin)]


def _drawn(given: Given, seconds: float) -> list[Command]:
    # Processes on one GPU take turns: many of them wait long for every few rows.
    kept = ["--machine", given.machine, "--processes", min(given.processes, 4), "--seconds", f"{0.9 * seconds:.0f}"]
    twin = [] if given.gpu else ["--twin"]
    return [module("tests.engine.gpu.device", given.told, "--only", "drawn", *kept, *twin)]


def _clustered(given: Given, seconds: float) -> list[Command]:
    where = ["--gpus", *visible(given.gpus).split(",")] if given.gpu else ["--workers", given.gpus, "--fuse"]
    where += _suites(given)
    kept = ["--json", given.told / "clustered.json", "--machine", given.machine, "--seconds", f"{0.85 * seconds:.0f}"]
    return [module("tests.engine.gpu.clustered", *where, *kept)]


def _tested(*tests: str) -> Callable[[Given, float], list[Command]]:
    def commands(given: Given, seconds: float) -> list[Command]:
        kept = ["--machine", given.machine, "--processes", given.processes, "--seconds", f"{0.9 * seconds:.0f}"]
        chosen = ["--tests", *tests] if tests else []
        return [module("tests.engine.gpu.device", given.told, "--only", "tests", *kept, *chosen)]

    return commands


def _compared(
    suite: str, *more: object, large: bool = False, both: bool = False
) -> Callable[[Given, float], list[Command]]:
    def commands(given: Given, _: float) -> list[Command]:
        scale = given.large if large else given.scale
        counts = _counts(given) if both else [given.gpus]
        chosen = ["--only", suite, "--scale", f"{scale:g}", "--workers", *counts, *more]
        runs = ["--runs", 3, "--warm", 2, "--explain", given.told / "explain"]
        return [module("benchmarks.compare", *chosen, *runs, *_measured(given))]

    return commands


def _general(given: Given, _: float) -> list[Command]:
    sizes = ["--scale", f"{given.scale:g}", "--workers", *_counts(given), "--runs", 2, "--warm", 2, "--budget", 6]
    chosen = ["--only", "tpch", "ssb-lines", "--general", "--without", "duckdb", "cudf-polars"]
    sizes += ["--explain", given.told / "explain-general"]
    return [module("benchmarks.compare", *chosen, *sizes, *_measured(given))]


def _served(given: Given, seconds: float) -> list[Command]:
    minutes = max(min(given.minutes, (seconds - STARTING_S) / 60), 0.2)
    sizes = ["--scale", f"{given.scale:g}", "--workers", given.gpus, "--minutes", f"{minutes:.2f}", "--runs", 2]
    return [module("benchmarks.gpu.served", "--suite", "ssb-lines", *sizes, *_measured(given))]


def _loaded(given: Given, _: float) -> list[Command]:
    disk = ["--disk", Path(tempfile.gettempdir()) / "gpudb-loading"]
    return [module("benchmarks.gpu.loading", "--scale", f"{given.scale:g}", *disk, *_measured(given))]


def _scheduled(given: Given, _: float) -> list[Command]:
    sizes = ["--scale", f"{given.scale:g}", "--workers", given.gpus]
    return [module("benchmarks.gpu.scheduled", *sizes, *_measured(given))]


def _scaled(given: Given, _: float) -> list[Command]:
    sizes = ["--rows", given.rows, "--file-rows", max(given.rows // 8, 1)] if given.rows else []
    engine = [] if given.gpu else ["--engine", "twin"]
    chosen = ["--gpus", *reversed(_counts(given)), "--folder", given.data, "--machine", given.machine, "--unchecked"]
    return [module("benchmarks.fused.scaling", *chosen, *sizes, *engine)]


def _sped_up(given: Given, _: float) -> list[Command]:
    each = max((given.rows or 0) // 8, 1)
    sizes = ["--lines", given.rows, "--rides", given.rows, "--file-rows", each] if given.rows else []
    engine = [] if given.gpu else ["--engine", "twin"]
    chosen = ["--gpus", *reversed(_counts(given)), "--folder", given.data, "--machine", given.machine]
    return [module("benchmarks.fused.speedup", *chosen, *sizes, *engine)]


def _beside(given: Given, _: float) -> list[Command]:
    sizes = ["--rows", given.rows, "--small", given.rows] if given.rows else []
    return [module("benchmarks.gpu.beside", "--scale", f"{min(given.scale, 10):g}", *sizes, *_measured(given))]


def _dispatched(given: Given, _: float) -> list[Command]:
    where = ["--gpus", *visible(given.gpus).split(",")] if given.gpu else ["--workers", given.gpus]
    return [module("benchmarks.bench_dispatch", *where, "--machine", given.machine)]


ONE: dict[str, Part] = {
    "kernels": Part(60, 240, _prepared("kernels")),
    "beyond": Part(150, 260, _beyond),
    "files": Part(120, 240, _large_files, ("tpch-100",)),
    "survey": Part(300, 400, _surveyed),
    "drawn": Part(240, 270, _drawn),
    "tests": Part(150, 180, _tested()),
    "served": Part(420, 440, _served),
    "power-30": Part(110, 150, _power(large=False)),
    "taxi": Part(90, 240, _wire("taxi"), ("taxi-*",)),
    "ssb": Part(120, 240, _wire("ssb"), ("ssb-600000000",)),
    "beside": Part(80, 150, _beside, ("ssb-60000000", "exchange-*")),
    "peers": Part(150, 240, _peers, ("ssb-600000000",)),
    "power-100": Part(200, 360, _power(large=True), ("tpch-100",)),
    "roofline": Part(120, 300, _prepared("roofline")),
    "groups": Part(60, 120, _prepared("groups")),
    "keep": Part(5, 30, _prepared("keep")),
    "sanitizer": Part(200, 345, _prepared("sanitizer")),
}
"""Parts for one GPU."""
TWO: dict[str, Part] = {
    "data": Part(30, 60, _made),
    "tpch": Part(200, 260, _compared("tpch", "--budget", 6, both=True)),
    "ssb": Part(100, 130, _compared("ssb-lines", "--budget", 6, both=True)),
    "exchange": Part(
        90, 130, _compared("exchange", "--budget", 10, "--without", "duckdb", large=True), ("exchange-*",)
    ),
    "scheduled": Part(60, 120, _scheduled),
    "served": Part(420, 440, _served),
    "loading": Part(60, 120, _loaded),
    "dispatch": Part(40, 80, _dispatched),
    "scaling": Part(120, 200, _scaled, ("scaling-*",)),
    "speedup": Part(110, 200, _sped_up, ("speedup-*",)),
    "general": Part(150, 200, _general),
    "survey": Part(350, 450, _surveyed),
    "clustered": Part(170, 240, _clustered),
    "tests": Part(60, 120, _tested("tests/engine/gpu/cudf/test_served.py", "tests/engine/test_engines.py")),
}
"""Parts for several GPUs."""
ORDER = {
    1: "kernels+beyond+files survey+tests power-100 power-30 taxi peers".split()
    + "beside served roofline groups keep sanitizer ssb".split(),
    2: "data tpch ssb exchange scheduled served loading dispatch scaling speedup general clustered tests".split(),
}
"""Default parts for one GPU and for several; those that do not disturb each other run side by side."""
