"""Node.js, Chromium and the packages of console/, where they are there; tests are skipped where they are not."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "console"
STATIC = ROOT / "gpudb" / "server" / "http" / "console" / "static"
_INSTALL_S = 300
_failed: list[str] = []
"""Why npm could not install in this process; it is not asked again."""


def find_node() -> str:
    """Returns the program node with the console's packages installed; skips the test where one of them lacks."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("needs Node.js 20 or later")
    installed = CONSOLE / "node_modules" / ".installed"
    with (ROOT / "console" / "package.json").open("rb") as lock:  # one test process installs
        fcntl.flock(lock, fcntl.LOCK_EX)
        needed = max((CONSOLE / name).stat().st_mtime for name in ("package.json", "package-lock.json"))
        if not installed.exists() or installed.stat().st_mtime < needed:
            command = [npm, "ci", "--silent", "--prefer-offline"]
            problem = _failed or _install(command)
            if problem:
                _failed.append(problem[0])
                pytest.skip(f"npm cannot install the console's packages: {problem[0]}")
            installed.touch()
    return node


def _install(command: list[str]) -> list[str]:
    """Installs the packages; returns what went wrong, in a list of one, if something did."""
    try:
        done = subprocess.run(command, cwd=CONSOLE, capture_output=True, text=True, timeout=_INSTALL_S)
    except subprocess.TimeoutExpired:
        return [f"no answer in {_INSTALL_S} s"]
    return [(done.stderr or done.stdout)[-300:]] if done.returncode else []


def find_chromium() -> str:
    """Returns Debian's Chromium, or the one that the variable CHROMIUM names; skips the test where it lacks."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.skip("needs Chromium (Debian's package chromium, or CHROMIUM=path)")
    return found
