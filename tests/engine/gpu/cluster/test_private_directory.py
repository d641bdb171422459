"""Private directories: their mode, and what is left of a killed process, which alone is removed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import dask
import pytest

from gpudb.engine.gpu.cluster.private_directory import PrivateDirectory

PROGRAM = """
import os, signal, sys
import dask
from gpudb.engine.gpu.cluster.private_directory import PrivateDirectory
dask.config.set({"temporary-directory": sys.argv[1]})
made = PrivateDirectory()
(made.path / "left").write_text("x")
print(made.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    unlike = parent / "gpudb-workers-data"  # without our mark
    unlike.mkdir(mode=0o700)
    (unlike / "lock").write_text("")
    with dask.config.set({"temporary-directory": str(parent)}):
        living = PrivateDirectory()
        assert stat.S_IMODE(living.path.stat().st_mode) == 0o700
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(parent)], capture_output=True, text=True, timeout=100)
        left = Path(done.stdout.strip())
        assert left.parent == parent, done.stderr
        assert (left / "left").exists()
        link = parent / "gpudb-workers-link"
        link.symlink_to(tmp_path)
        (tmp_path / "made-by-gpudb").write_text("")
        other = PrivateDirectory()
        assert not left.exists()
        assert living.path.exists()
        assert (unlike / "lock").exists()
        assert link.exists()
        assert (tmp_path / "made-by-gpudb").exists()
        other.close()
        other.close()
        assert not other.path.exists()
        living.close()
        assert sorted(each.name for each in parent.iterdir()) == ["gpudb-workers-data", "gpudb-workers-link"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a directory to another user")
def test_what_belongs_to_others_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "gpudb-workers-theirs"
    theirs.mkdir(mode=0o700)
    (theirs / "made-by-gpudb").write_text("")
    os.chown(theirs, 65534, 65534)
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        PrivateDirectory().close()
    assert (theirs / "made-by-gpudb").exists()
