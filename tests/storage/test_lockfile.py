"""Lock files: a GPU's may be opened by every user, a data directory's by its owner."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpudb.errors import GpudbError
from gpudb.storage.lockfile import LockFile

NOBODY = 65534


@pytest.fixture
def everyones() -> Iterator[Path]:
    """A folder with the permissions of /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:  # all users may enter it, unlike the tests' own folder
        folder = Path(made)
        folder.chmod(0o1777)
        yield folder


@contextmanager
def another_user() -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_gpu_is_held_by_one_user_at_a_time(everyones: Path, umask: int) -> None:
    path = everyones / "gpu.lock"
    before = os.umask(umask)
    try:
        held = LockFile(path, "GPU 0")
    finally:
        os.umask(before)
    with another_user():
        with pytest.raises(GpudbError, match="GPU 0 is in use by another gpudb") as refused:
            LockFile(path, "GPU 0")
        assert refused.value.sqlstate == "55006"
        assert refused.value.detail == f"Its process ID is {os.getpid()}."
        held.close()
        theirs = LockFile(path, "GPU 0")
    with pytest.raises(GpudbError, match="in use"):
        LockFile(path, "GPU 0")
    theirs.close()


def test_a_lock_that_may_not_be_opened_is_told(everyones: Path) -> None:
    path = everyones / "lock"
    LockFile(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    with another_user(), pytest.raises(GpudbError, match="permission denied for lock file") as refused:
        LockFile(path)
    assert refused.value.sqlstate == "42501"


def test_a_lock_is_no_link_to_another_file(everyones: Path) -> None:
    kept = everyones / "kept"
    kept.write_text("kept")
    (everyones / "lock").symlink_to(kept)
    with pytest.raises(OSError, match="symbolic links"):
        LockFile(everyones / "lock", "GPU 0")
    assert kept.read_text() == "kept"
