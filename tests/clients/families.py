"""Families of clients: where their scenarios are, how they are installed, and how one is started.

Everything that is installed goes into the folder CACHE, by the ordinary tools of each language and with the versions that
the scenarios' own files name. A tool that is missing raises MissingError.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.clients.matrix import ROOT
from tests.clients.scenarios import HERE, MissingError, Scenario

CACHE = ROOT / ".cache" / "clients"
INSTALL_S = 1800.0


class Family(ABC):
    """The clients of one language."""

    name: str
    pattern: str
    """Where the scenarios are, below the family's folder."""

    def scenarios(self) -> list[Scenario]:
        """The family's scenarios."""
        return [Scenario(self.name, source) for source in sorted((HERE / self.name).glob(self.pattern))]

    @abstractmethod
    def command(self, scenario: Scenario) -> list[str]:
        """Installs what a scenario needs; returns the command that runs it. Raises MissingError."""


class Python(Family):
    """A file names its packages (PEP 723); uv builds an environment for each."""

    name, pattern = "python", "*_client.py"

    def command(self, scenario: Scenario) -> list[str]:
        uv = Path(sys.executable).with_name("uv")
        source = str(scenario.source)
        environment = {"UV_CACHE_DIR": str(CACHE / "uv"), "UV_PYTHON_DOWNLOADS": "never"}
        install([str(uv), "sync", "--quiet", "--script", source], environment)
        found = install([str(uv), "python", "find", "--script", source], environment)
        return [found.strip(), source]


class Node(Family):
    """One package.json and its lock for all; the scenarios run beside node_modules."""

    name, pattern = "node", "*_client.mjs"

    def command(self, scenario: Scenario) -> list[str]:
        folder = self._folder()
        return [tool("node"), str(folder / scenario.source.name)]

    @cache  # noqa: B019 - there is one
    def _folder(self) -> Path:
        npm = tool("npm")
        tool("node")
        folder = CACHE / "node"
        shutil.copytree(HERE / "node", folder, dirs_exist_ok=True)
        stamp, wanted = folder / "node_modules" / ".wanted", (folder / "package-lock.json").read_bytes()
        if not stamp.exists() or stamp.read_bytes() != wanted:
            install([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], {}, folder)
            stamp.write_bytes(wanted)
        return folder


FAMILIES: Sequence[Family] = (Python(), Node())


def tool(name: str) -> str:
    """The path of a program. Raises MissingError."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed")
    return found


def install(command: list[str], environment: dict[str, str], folder: Path = ROOT) -> str:
    """Runs an installer, returns its output. Raises MissingError with the end of its messages."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=INSTALL_S,
    )
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise MissingError(f"{Path(command[0]).name} {command[1]} failed: {' '.join(lines[-3:])}")
    return done.stdout
