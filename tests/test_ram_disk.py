"""Temporary files of a run: in memory unless configured otherwise, and deleted at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support import ram_disk


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of /dev/shm; restores the run's TMPDIR afterwards."""
    monkeypatch.setattr(ram_disk, "_DISK", tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("TMPDIR", raising=False)
    return tmp_path


def test_temporary_files_are_there_until_the_end(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ram_disk, "_LEAST_FREE", 0)
    folder = ram_disk.enter()
    assert folder == disk / f"gpudb-tests-{os.getpid()}"
    with tempfile.NamedTemporaryFile() as file:
        assert Path(file.name).parent == folder
    ram_disk.leave()
    assert list(disk.iterdir()) == []
    assert "TMPDIR" not in os.environ


def test_what_killed_runs_left_is_deleted(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ram_disk, "_LEAST_FREE", 0)
    killed, running = disk / "gpudb-tests-4194305", disk / f"gpudb-tests-{os.getppid()}"  # above Linux's largest pid
    for each in (killed, running):
        each.mkdir()
    folder = ram_disk.enter()
    assert folder is not None
    assert not killed.exists()
    assert running.exists()
    ram_disk.leave()


def test_a_full_disk_or_a_users_choice_is_left_alone(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ram_disk, "_LEAST_FREE", 1 << 62)
    assert ram_disk.enter() is None
    monkeypatch.setattr(ram_disk, "_LEAST_FREE", 0)
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert ram_disk.enter() is None
    assert list(disk.iterdir()) == []
