"""The distribution's name: pages, hints and notebooks install gpudb-sql, not the other project that is named gpudb."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import gpudb
from gpudb.distribution import DISTRIBUTION, render_install

ROOT = Path(__file__).parents[1]
_OTHER = re.compile(
    r"""(?:pip|uv|pipx|uvx)\s(?!uninstall)[^\n]*?(?:install|add|run)?\s['"]?gpudb(?:\[|['"\s]|$)|(?<![-\w./])gpudb\[[a-z]""",
    re.M,
)
_TEXTS = ("*.md", "*.py", "*.toml", "*.ipynb", "*.yaml", "*.yml", "*.tsx", "Makefile", "Containerfile")


def test_the_project_has_this_name_and_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert metadata.version(DISTRIBUTION) == gpudb.__version__
    extras = [each for listed in project["optional-dependencies"].values() for each in listed]
    assert not [each for each in extras if each.startswith("gpudb") and not each.startswith(DISTRIBUTION)]


def test_the_pattern_finds_the_other_name() -> None:
    for text in ("pip install 'gpudb[plot]'", "pip install gpudb", "Install gpudb[delta].", "uv add gpudb"):
        assert _OTHER.search(text), text
    for text in (render_install("plot"), "pip install gpudb-sql", "run gpudb serve"):
        assert not _OTHER.search(text), text


def test_nothing_tells_a_user_to_install_the_other_project() -> None:
    listed = subprocess.run(["git", "ls-files", *_TEXTS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.splitlines() if Path(name) != Path(__file__).relative_to(ROOT)]
    assert len(files) > 1000
    named = {file: _OTHER.findall(file.read_text(encoding="utf-8")) for file in files if file.exists()}
    assert not {str(file): found for file, found in named.items() if found}


def test_files_of_the_other_project_are_noticed(tmp_path: Path) -> None:
    package = tmp_path / "gpudb"
    package.mkdir()
    for name in ("__init__.py", "distribution.py", "slim_imports.py"):
        shutil.copy(ROOT / "gpudb" / name, package / name)
    (package / "gpudb.py").write_text("")
    run = subprocess.run([sys.executable, "-c", "import gpudb"], cwd=tmp_path, capture_output=True, text=True)
    assert "ImportError: the distribution 'gpudb' of the package index is another project" in run.stderr


def test_deferred_functions_of_arrow_are_there_for_all_threads() -> None:
    program = """
import gpudb, threading
import pyarrow as pa, pyarrow.compute as pc
assert "index_in" not in vars(pc)
sums, barrier = [], threading.Barrier(16)
def add():
    barrier.wait()
    sums.append(pc.sum(pa.array([1, 2])).as_py())
threads = [threading.Thread(target=add) for _ in range(16)]
[each.start() for each in threads], [each.join() for each in threads]
from pyarrow.compute import index_in
assert sums == [3] * 16 and pa.compute.index_in is index_in and not hasattr(pc, "nothing")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
