"""The committed page: what its sources build, small, and without addresses of others."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

from tests.console.tools import CONSOLE, STATIC, find_node

MOST_BYTES = 3_000_000
_BUILD_S = 120


def list_files(folder: Path) -> dict[str, bytes]:
    """Returns the files below a folder by their names."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_is_what_the_sources_build(tmp_path: Path) -> None:
    node = find_node()
    vite = CONSOLE / "node_modules" / "vite" / "bin" / "vite.js"
    command = [node, str(vite), "build", "--logLevel", "warn", "--outDir", str(tmp_path)]
    subprocess.run(command, cwd=CONSOLE, check=True, capture_output=True, timeout=_BUILD_S)
    built, committed = list_files(tmp_path), list_files(STATIC)
    assert sorted(built) == sorted(committed), "run `make console`"
    assert [name for name in built if built[name] != committed[name]] == [], "run `make console`"


def test_sources_have_the_right_types() -> None:
    node = find_node()
    compiler = CONSOLE / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([node, str(compiler), "--noEmit"], cwd=CONSOLE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_is_small() -> None:
    assert sum(len(gzip.compress(content)) for content in list_files(STATIC).values()) < MOST_BYTES


def test_has_no_inline_scripts() -> None:
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", index) == []
    assert re.findall(r"\son\w+=|<style", index) == []


def test_lock_has_no_addresses() -> None:
    lock = json.loads((CONSOLE / "package-lock.json").read_text(encoding="utf-8"))
    named = {name for package in lock["packages"].values() for name in ("resolved", "funding") if name in package}
    assert named == set()
