"""Files on a disk that have to be read from the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.gpu import disk
from benchmarks.gpu.disk import Disk


@pytest.mark.parametrize("size", [0, 1, 4096, (1 << 24) + 5])
def test_a_file_that_is_written_anew_is_the_same(size: int, tmp_path: Path) -> None:
    path, held = tmp_path / "a.parquet", os.urandom(size)
    path.write_bytes(held)
    before = path.stat().st_ino
    disk.rewrite(path)
    assert path.read_bytes() == held
    assert path.stat().st_ino != before
    assert [*tmp_path.iterdir()] == [path]


def test_what_the_page_cache_has_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(bytes(1 << 22))
    assert disk.cached_share([path]) in (None, 1.0)  # not every file system reports it
    left = disk.evict([path])
    assert left is None or 0 <= left <= 1


def test_steps_from_a_disk_are_timed_and_what_came_from_it_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(bytes(1 << 22))
    times, told = Disk([path]).time_cold(path.read_bytes, runs=2)
    assert len(times) == 2
    assert told.count("were cached before") == 2


def test_files_that_cannot_be_forgotten_are_written_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(bytes(1 << 16))
    monkeypatch.setattr(disk, "evict", lambda _: 1.0)
    before = path.stat().st_ino
    timed = Disk([path])
    _, told = timed.time_cold(path.read_bytes, runs=1)
    written = path.stat().st_ino
    assert written != before
    assert "100% were cached before" in told
    timed.time_cold(path.read_bytes, runs=1)
    assert path.stat().st_ino == written
