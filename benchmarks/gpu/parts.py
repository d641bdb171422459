"""Measurements on one GPU and on two: a list of parts for each, with their programs and limits."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gpu.bounded import Command
from benchmarks.harness import visible_gpus

SERVED_START_S = 120.0
"""Time of `served` besides its clients: two starts, every query once, and loading."""
BEYOND_STATEMENT_S = 40
"""Time for a statement of `beyond`: a window of one partition takes half of it beside other work."""


Options = argparse.Namespace
"""Options: folders for `data` and for programs' `output`, the `machine`'s label, the number of `gpus`, whether
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
    commands: Callable[[Options, float], list[Command]]
    files: tuple[str, ...] = ()


def module(name: str, *arguments: object) -> Command:
    """A command that runs a module of this project."""
    return [sys.executable, "-W", "ignore", "-m", name, *map(str, arguments)]


def _gpu_counts(options: Options) -> list[int]:
    """Numbers of GPUs, from the largest on."""
    return list(range(options.gpus, 0, -1))


def _where(options: Options) -> list[object]:
    return ["--gpus", *visible_gpus(options.gpus).split(",")] if options.gpu else ["--workers", options.gpus]


def _common_arguments(options: Options) -> list[object]:
    return ["--data", options.data, "--machine", options.machine]


def _data(options: Options, _: float) -> list[Command]:
    """Files that several parts read: the host's processors generate TPC-H's, a GPU the others."""
    return [module("benchmarks.tables", suite, f"{options.scale:g}", options.data) for suite in ("tpch", "ssb_lines")]


def _large_files(options: Options, _: float) -> list[Command]:
    """Generates the files of the large TPC-H by the host's processors, while parts run that need few of them."""
    return [module("benchmarks.tables", "tpch", f"{options.large:g}", options.data)]


def _device_step(step: str) -> Callable[[Options, float], list[Command]]:
    """Steps that run prepared inputs on a GPU."""

    def commands(options: Options, _: float) -> list[Command]:
        line = ["run", options.data, options.machine, step]
        return [module("benchmarks.fused.device", *line)] if options.gpu else []

    return commands


def _wire(suite: str) -> Callable[[Options, float], list[Command]]:
    def commands(options: Options, _: float) -> list[Command]:
        sizes = ["--rows", options.rows] if options.rows else []
        engine = [] if options.gpu else ["--engine", "twin"]
        chosen = [suite, "--machine", options.machine, "--folder", options.data]
        return [module("benchmarks.fused.wire", *chosen, *sizes, *engine)]

    return commands


def _peers(options: Options, seconds: float) -> list[Command]:
    if options.gpu:
        return _device_step("peers")(options, seconds)
    sizes = ["--rows", options.rows] if options.rows else []
    return [module("benchmarks.fused.peers", options.data, "--engine", "twin", "--machine", options.machine, *sizes)]


def _power(large: bool) -> Callable[[Options, float], list[Command]]:
    def commands(options: Options, seconds: float) -> list[Command]:
        scale = options.large if large else options.scale
        output = options.output / f"power-{scale:g}"
        sizes = ["--scale", f"{scale:g}", "--runs", 3, "--check", "--seconds", f"{0.9 * seconds:.0f}", "--out", output]
        return [module("benchmarks.gpu.power", *sizes, *_common_arguments(options))]

    return commands


def _beyond(options: Options, _: float) -> list[Command]:
    rows = ["--rows", options.rows] if options.rows else []
    twin = [] if options.gpu else ["--twin"]
    arguments = [options.output / "beyond.json", "--machine", options.machine, "--each", BEYOND_STATEMENT_S]
    return [module("tests.engine.gpu.larger_than_memory", *arguments, *rows, *twin)]


def _suites(options: Options) -> list[object]:
    """Returns the folder of small suites generated elsewhere, which TPC-DS needs without a network."""
    return ["--data", options.data] if (options.data / "tpcds-0.01").exists() else []


def _survey(options: Options, seconds: float) -> list[Command]:
    arguments = ["--machine", options.machine, "--processes", options.processes, "--seconds", f"{0.85 * seconds:.0f}"]
    arguments += _suites(options)
    twin = [] if options.gpu else ["--twin"]
    return [module("tests.engine.gpu.device", options.output, "--only", "survey", *arguments, *twin)]


def _random_statements(options: Options, seconds: float) -> list[Command]:
    # Processes on one GPU take turns: many of them wait long for every few rows.
    arguments = [
        "--machine",
        options.machine,
        "--processes",
        min(options.processes, 4),
        "--seconds",
        f"{0.9 * seconds:.0f}",
    ]
    twin = [] if options.gpu else ["--twin"]
    return [module("tests.engine.gpu.device", options.output, "--only", "drawn", *arguments, *twin)]


def _cluster(options: Options, seconds: float) -> list[Command]:
    where = ["--gpus", *visible_gpus(options.gpus).split(",")] if options.gpu else ["--workers", options.gpus, "--fuse"]
    where += _suites(options)
    arguments = [
        "--json",
        options.output / "clustered.json",
        "--machine",
        options.machine,
        "--seconds",
        f"{0.85 * seconds:.0f}",
    ]
    return [module("tests.engine.gpu.compare_on_cluster", *where, *arguments)]


def _tests(*tests: str) -> Callable[[Options, float], list[Command]]:
    def commands(options: Options, seconds: float) -> list[Command]:
        arguments = [
            "--machine",
            options.machine,
            "--processes",
            options.processes,
            "--seconds",
            f"{0.9 * seconds:.0f}",
        ]
        chosen = ["--tests", *tests] if tests else []
        return [module("tests.engine.gpu.device", options.output, "--only", "tests", *arguments, *chosen)]

    return commands


def _compare(
    suite: str, *more: object, large: bool = False, both: bool = False
) -> Callable[[Options, float], list[Command]]:
    def commands(options: Options, _: float) -> list[Command]:
        scale = options.large if large else options.scale
        counts = _gpu_counts(options) if both else [options.gpus]
        chosen = ["--only", suite, "--scale", f"{scale:g}", "--workers", *counts, *more]
        runs = ["--runs", 3, "--warm", 2, "--explain", options.output / "explain"]
        return [module("benchmarks.compare", *chosen, *runs, *_common_arguments(options))]

    return commands


def _general(options: Options, _: float) -> list[Command]:
    sizes = [
        "--scale",
        f"{options.scale:g}",
        "--workers",
        *_gpu_counts(options),
        "--runs",
        2,
        "--warm",
        2,
        "--budget",
        6,
    ]
    chosen = ["--only", "tpch", "ssb-lines", "--general", "--without", "duckdb", "cudf-polars"]
    sizes += ["--explain", options.output / "explain-general"]
    return [module("benchmarks.compare", *chosen, *sizes, *_common_arguments(options))]


def _served(options: Options, seconds: float) -> list[Command]:
    minutes = max(min(options.minutes, (seconds - SERVED_START_S) / 60), 0.2)
    sizes = ["--scale", f"{options.scale:g}", "--workers", options.gpus, "--minutes", f"{minutes:.2f}", "--runs", 2]
    return [module("benchmarks.gpu.served", "--suite", "ssb-lines", *sizes, *_common_arguments(options))]


def _loading(options: Options, _: float) -> list[Command]:
    disk = ["--disk", Path(tempfile.gettempdir()) / "gpudb-loading"]
    return [module("benchmarks.gpu.loading", "--scale", f"{options.scale:g}", *disk, *_common_arguments(options))]


def _file_scans(options: Options, seconds: float) -> list[Command]:
    sizes = ["--scale", f"{options.scale:g}", "--seconds", f"{0.85 * seconds:.0f}", "--out", options.output / "files"]
    sizes += ["--csv-rows", options.rows] if options.rows else []
    return [module("benchmarks.gpu.files", *sizes, *_common_arguments(options))]


def _scheduled(options: Options, _: float) -> list[Command]:
    sizes = ["--scale", f"{options.scale:g}", "--workers", options.gpus]
    return [module("benchmarks.gpu.scheduled", *sizes, *_common_arguments(options))]


def _scaling(options: Options, _: float) -> list[Command]:
    sizes = ["--rows", options.rows, "--file-rows", max(options.rows // 8, 1)] if options.rows else []
    engine = [] if options.gpu else ["--engine", "twin"]
    chosen = [
        "--gpus",
        *reversed(_gpu_counts(options)),
        "--folder",
        options.data,
        "--machine",
        options.machine,
        "--unchecked",
    ]
    return [module("benchmarks.fused.scaling", *chosen, *sizes, *engine)]


def _speedup(options: Options, _: float) -> list[Command]:
    each = max((options.rows or 0) // 8, 1)
    sizes = ["--lines", options.rows, "--rides", options.rows, "--file-rows", each] if options.rows else []
    engine = [] if options.gpu else ["--engine", "twin"]
    chosen = ["--gpus", *reversed(_gpu_counts(options)), "--folder", options.data, "--machine", options.machine]
    return [module("benchmarks.fused.speedup", *chosen, *sizes, *engine)]


def _beside(options: Options, _: float) -> list[Command]:
    sizes = ["--rows", options.rows, "--small", options.rows] if options.rows else []
    return [
        module("benchmarks.gpu.beside", "--scale", f"{min(options.scale, 10):g}", *sizes, *_common_arguments(options))
    ]


def _dispatch(options: Options, _: float) -> list[Command]:
    return [module("benchmarks.bench_dispatch", *_where(options), "--machine", options.machine)]


def _trace(options: Options, _: float) -> list[Command]:
    sizes = ["--rows", options.rows] if options.rows else []
    return [module("benchmarks.gpu.exchange_trace", *_where(options), "--machine", options.machine, *sizes)]


def _kills(options: Options, _: float) -> list[Command]:
    sizes = ["--rows", options.rows] if options.rows else []
    arguments = [options.output, *_where(options), "--machine", options.machine, *sizes]
    return [module("tests.engine.gpu.kills_in_exchanges", *arguments)]


ONE: dict[str, Part] = {
    "kernels": Part(60, 240, _device_step("kernels")),
    "beyond": Part(150, 260, _beyond),
    "files": Part(120, 240, _large_files, ("tpch-100",)),
    "survey": Part(300, 400, _survey),
    "drawn": Part(240, 270, _random_statements),
    "tests": Part(150, 180, _tests()),
    "served": Part(420, 440, _served),
    "power-30": Part(110, 150, _power(large=False)),
    "taxi": Part(90, 240, _wire("taxi"), ("taxi-*",)),
    "ssb": Part(120, 240, _wire("ssb"), ("ssb-600000000",)),
    "beside": Part(80, 150, _beside, ("ssb-60000000", "exchange-*")),
    "peers": Part(150, 240, _peers, ("ssb-600000000",)),
    "power-100": Part(200, 360, _power(large=True), ("tpch-100",)),
    "roofline": Part(120, 300, _device_step("roofline")),
    "groups": Part(60, 120, _device_step("groups")),
    "keep": Part(5, 30, _device_step("keep")),
    "sanitizer": Part(200, 345, _device_step("sanitizer")),
    "file-scans": Part(150, 290, _file_scans, ("files-*",)),
}
"""Parts for one GPU."""
TWO: dict[str, Part] = {
    "data": Part(30, 60, _data),
    "tpch": Part(200, 260, _compare("tpch", "--budget", 6, both=True)),
    "ssb": Part(100, 130, _compare("ssb-lines", "--budget", 6, both=True)),
    "exchange": Part(90, 130, _compare("exchange", "--budget", 10, "--without", "duckdb", large=True), ("exchange-*",)),
    "trace": Part(60, 150, _trace),
    "kills": Part(90, 200, _kills),
    "scheduled": Part(60, 120, _scheduled),
    "served": Part(420, 440, _served),
    "loading": Part(60, 120, _loading),
    "dispatch": Part(40, 80, _dispatch),
    "scaling": Part(120, 200, _scaling, ("scaling-*",)),
    "speedup": Part(230, 300, _speedup, ("speedup-*",)),
    "general": Part(150, 200, _general),
    "survey": Part(350, 450, _survey),
    "clustered": Part(170, 240, _cluster),
    "tests": Part(60, 120, _tests("tests/engine/gpu/cudf/test_server.py", "tests/engine/test_engines.py")),
}
"""Parts for several GPUs."""
ORDER = {
    1: "kernels+beyond+files survey+tests power-100 power-30 taxi peers".split()
    + "beside served file-scans roofline groups keep sanitizer ssb".split(),
    2: "data tpch ssb exchange trace kills scheduled served".split()
    + "loading dispatch scaling speedup general clustered tests".split(),
}
"""Default parts for one GPU and for several; those that do not disturb each other run side by side."""
