"""Processors and memory that control groups leave to a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudb.processes.limits import count_processors, get_total_memory, read_memory_limit

GROUPS = "sys/fs/cgroup"


def _write(root: Path, **files: str) -> None:
    """Writes files of control groups; `__` in a name separates folders."""
    for name, text in files.items():
        path = root / GROUPS / name.replace("__", "/").replace("memory_max", "memory.max").replace("cpu_max", "cpu.max")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(autouse=True)
def _processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def test_without_control_groups(tmp_path: Path) -> None:
    assert count_processors(tmp_path) == 8
    assert read_memory_limit(tmp_path) is None
    assert get_total_memory(tmp_path) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_a_container(tmp_path: Path) -> None:
    """Its limits are at the top; "max" is none."""
    _write(tmp_path, memory_max="max\n", cpu_max="max 100000\n")
    assert (count_processors(tmp_path), read_memory_limit(tmp_path)) == (8, None)
    _write(tmp_path, memory_max="4096000\n", cpu_max="250000 100000\n")
    assert (count_processors(tmp_path), get_total_memory(tmp_path)) == (3, 4096000)
    _write(tmp_path, cpu_max="10000 100000\n")
    assert count_processors(tmp_path) == 1
    _write(tmp_path, cpu_max="6400000 100000\n")
    assert count_processors(tmp_path) == 8


def test_a_service_within_a_slice(tmp_path: Path) -> None:
    """The least of its own group's limits and of those around it."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/other\n0::/a.slice/b.service\n")
    _write(tmp_path, a__memory_max="1\n", a__cpu_max="100000 100000\n")
    _write(tmp_path, **{"a.slice__b.service__memory_max": "3000000\n", "a.slice__memory_max": "2000000\n"})
    _write(tmp_path, **{"a.slice__b.service__cpu_max": "200000 100000\n", "a.slice__cpu_max": "max 100000\n"})
    assert (count_processors(tmp_path), read_memory_limit(tmp_path)) == (2, 2000000)


def test_version_1(tmp_path: Path) -> None:
    folder = tmp_path / GROUPS
    for name in ("cpu", "memory"):
        (folder / name).mkdir(parents=True)
    (folder / "cpu/cpu.cfs_period_us").write_text("100000\n")
    for quota, processors in (("-1\n", 8), ("150000\n", 2)):
        (folder / "cpu/cpu.cfs_quota_us").write_text(quota)
        assert count_processors(tmp_path) == processors
    for limit, found in (("9223372036854771712\n", None), ("5000\n", 5000)):
        (folder / "memory/memory.limit_in_bytes").write_text(limit)
        assert read_memory_limit(tmp_path) == found
