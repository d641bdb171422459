"""A mixed load on served databases: answers stay right, and after a while the servers grow no more.

By default until each engine has performed every step; with --soak an hour of both at once, or `--soak-seconds`.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.harness import describe_run, write_json
from gpudb.storage.backup.manifest import list_manifests
from gpudb.storage.backup.restore import verify
from gpudb.storage.recovery.check import check
from tests.support.mixed_load import LOST_WORKER, MixedLoad
from tests.support.resources import Sample, Sampler, curve, quarter_medians
from tests.support.server_program import Program

ENGINES = {"cpu": ("--engine", "cpu"), "twin": ("--engine", "twin", "--workers", "2")}
MEMORY = {"cpu": "400MB", "twin": "1600MB"}
MARGINS = {
    "resident": (1.15, 64 << 20),
    "descriptors": (1.1, 16),
    "threads": (1.1, 16),
    "data_bytes": (1.25, 16 << 20),
    "data_files": (1.25, 200),
    "spill_bytes": (1.25, 64 << 20),
    "spill_files": (1.25, 8),
    "backup_bytes": (1.25, 16 << 20),
}
"""How far the last quarter's median may exceed the second quarter's: by a factor, and by a number beside it."""
RESULTS_SECONDS = 60.0
LOST_WORKERS = {"cpu": 0, "twin": 3}
"""How often a statement may lose its worker, which ends where its memory does not suffice, in an hour."""
EXTRA_SECONDS = 240.0
STEPS = {
    "COPY", "DELETE", "UPDATE", "MERGE", "INSERT", "CREATE TABLE", "DROP TABLE", "SELECT", "sort", "VACUUM", "ANALYZE",
    "connection", "check of COPY", "check of UPDATE", "check of MERGE", "check of INSERT",
    "check of the past",
}  # fmt: skip


class _Served:
    """A server under load, sampled."""

    def __init__(self, folder: Path, engine: str, *, lines: int, interval: float, pause: float) -> None:
        self.engine = engine
        self.data, self.backups = folder / f"data-{engine}", folder / f"backups-{engine}"
        environment = {
            "GPUDB_MEMORY_LIMIT": MEMORY[engine],
            "GPUDB_BACKUP_DIR": str(self.backups),
            "GPUDB_BACKUP_INTERVAL": "10",
            "GPUDB_BACKUP_KEEP": "3",
            "GPUDB_SNAPSHOT_RETENTION": "20",
            "GPUDB_SNAPSHOT_LIMIT": "10",
        }
        self.server = Program(self.data, *ENGINES[engine], environment=environment)
        self.load = MixedLoad(self.server.dsn, 7, pause=pause)
        self.sampler = Sampler(self.server.process.pid, self.data, self.backups, interval)
        self._lines = lines

    def start(self) -> None:
        self.load.prepare(self._lines)
        self.load.start()
        self.sampler.start()

    def has_done_all(self) -> bool:
        """Whether the load has performed every step and the server has made a backup."""
        return self.load.performed.keys() >= STEPS and any(self.backups.glob("backups/*.json"))

    def end(self) -> None:
        """Ends the load and the server, and verifies what they leave on the disk."""
        self.sampler.stop()
        self.load.stop()
        assert self.load.wrong == []
        with psycopg.connect(self.server.dsn, autocommit=True) as connection:
            connection.execute("VACUUM")
        self.server.stop()
        log = self.server.read_log()
        assert "Traceback" not in log, log[-4000:]
        assert "failed" not in log, log[-4000:]
        assert not check(self.data, deep=True).problems
        assert not list(verify(self.backups))
        assert len(list_manifests(self.backups)) <= 4


def _find_growth(samples: list[Sample]) -> list[str]:
    """Returns a sentence for each figure whose last quarter exceeds its second quarter by more than the margin."""
    found = []
    for name, medians in quarter_medians(samples).items():
        factor, beside = MARGINS[name]
        if medians[3] > medians[1] * factor + beside:
            found.append(f"{name} grew from {medians[1]:,.0f} to {medians[3]:,.0f}")
    return found


def _run(served: dict[str, _Served], seconds: float, results: Path | None = None) -> None:
    """Runs the load, and longer until each server has done all; writes the figures so far every minute."""
    for each in served.values():
        each.start()
    ends = time.monotonic() + seconds
    latest = ends + EXTRA_SECONDS
    following = time.monotonic() + RESULTS_SECONDS
    while (now := time.monotonic()) < ends or (
        now < latest and not all(each.has_done_all() for each in served.values())
    ):
        time.sleep(0.2)
        if results is not None and time.monotonic() > following:
            following += RESULTS_SECONDS
            write_json(results, _describe(served, seconds))
        for each in served.values():
            assert each.load.is_running, each.load.wrong
            assert each.load.wrong == []
            assert each.server.process.poll() is None


def _describe(served: dict[str, _Served], seconds: float) -> dict[str, Any]:
    figures = {
        engine: {
            "memory limit": MEMORY[engine],
            "steps": dict(sorted(each.load.performed.items())),
            "retried": dict(each.load.retried),
            "wrong": each.load.wrong,
            "quarters": quarter_medians(each.sampler.samples) if len(each.sampler.samples) > 3 else {},
            "growth": _find_growth(each.sampler.samples) if len(each.sampler.samples) > 3 else [],
            "curve": curve(each.sampler.samples),
        }
        for engine, each in served.items()
    }
    return {**describe_run("pytest"), "seconds": seconds, "engines": figures}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.timeout(600)
def test_answers_stay_right_under_a_mixed_load(tmp_path: Path, engine: str) -> None:
    served = _Served(tmp_path, engine, lines=50_000, interval=0.5, pause=0.05)
    with served.server:
        _run({engine: served}, 5)
        served.end()
    assert set(served.load.performed) >= STEPS
    assert len(served.sampler.samples) > 5
    assert all(sample.resident > 0 and sample.data_bytes > 0 for sample in served.sampler.samples)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_memory_and_disk_stay_flat_under_a_mixed_load(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getoption("--soak-seconds"))
    option = request.config.getoption("--soak-results")
    results = None if option is None else Path(option)
    interval = max(2.0, seconds / 720)
    with ExitStack() as servers:
        served = {}
        for engine in ENGINES:
            served[engine] = _Served(tmp_path, engine, lines=2_000_000, interval=interval, pause=0.5)
            servers.enter_context(served[engine].server)
        try:
            _run(served, seconds, results)
        finally:
            if results is not None:
                write_json(results, _describe(served, seconds))
        for each in served.values():
            each.end()
            assert set(each.load.performed) >= STEPS
            assert max(sample.spill_bytes for sample in each.sampler.samples) > 0
            assert each.load.retried[LOST_WORKER] <= LOST_WORKERS[each.engine]
    assert {engine: _find_growth(each.sampler.samples) for engine, each in served.items()} == {"cpu": [], "twin": []}


def test_growth_is_found() -> None:
    flat = [Sample(float(i), 10**9, 100, 50, 10**8, 500, 0, 0, 10**8) for i in range(40)]
    grown = [Sample(float(i), 10**9 + i * 3 * 10**7, 100 + i * 2, 50, 10**8, 500, 0, 0, 10**8) for i in range(40)]
    assert _find_growth(flat) == []
    assert [sentence.split()[0] for sentence in _find_growth(grown)] == ["resident", "descriptors"]
