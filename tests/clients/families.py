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


class Programs(Family):
    """Programs of PostgreSQL and around it that are installed already; the scenarios are in Python."""

    name, pattern = "programs", "*_client.py"

    def command(self, scenario: Scenario) -> list[str]:
        name = scenario.name.removesuffix("_client")
        variables = [f"PYTHONPATH={HERE / 'python'}"]
        if name == "postgres_fdw":
            variables.append(f"PG_BIN={postgresql_with(name)}")
        else:
            tool(name)
        return [tool("env"), *variables, sys.executable, str(scenario.source)]


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


class Go(Family):
    """One module with its checksums for all; each scenario is a program of it."""

    name, pattern = "go", "*/main.go"

    def command(self, scenario: Scenario) -> list[str]:
        program = CACHE / "go" / scenario.name
        build = [tool("go"), "build", "-p", "2", "-o", str(program), f"./{scenario.name}"]
        install(build, {"GOFLAGS": "-mod=readonly -buildvcs=false"}, HERE / "go")
        return [str(program)]


class Java(Family):
    """One pom.xml a folder; Maven copies the libraries, and a scenario is compiled beside what all share."""

    name, pattern = "java", "**/*Client.java"

    def command(self, scenario: Scenario) -> list[str]:
        java, compiler, maven = tool("java"), tool("javac"), tool("mvn")
        folder = scenario.source.parent
        libraries, classes = CACHE / "java" / folder.name, CACHE / "java" / scenario.name
        stamp, wanted = libraries / ".wanted", (folder / "pom.xml").read_bytes()
        if not stamp.exists() or stamp.read_bytes() != wanted:
            copy = ["-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={libraries}"]
            install([maven, *copy], {}, folder)
            stamp.write_bytes(wanted)
        path = f"{classes}:{libraries}/*"
        shared = HERE / "java" / "Scenario.java"
        install([compiler, "-d", str(classes), "-cp", path, str(shared), str(scenario.source)], {})
        return [java, "-Xmx1g", *_OPENED, "-cp", path, scenario.name]


# Spark reaches into these packages of Java; its own start script opens them.
_OPENED = [
    part
    for package in (
        "java.lang",
        "java.lang.invoke",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
        "sun.nio.ch",
        "sun.util.calendar",
    )
    for part in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")
]


class Rust(Family):
    """One Cargo.toml for all; each scenario is a program of it."""

    name, pattern = "rust", "src/bin/*.rs"

    def command(self, scenario: Scenario) -> list[str]:
        target = CACHE / "rust"
        build = [tool("cargo"), "build", "--quiet", "--bin", scenario.name]
        shutil.copytree(HERE / "rust", target / "source", dirs_exist_ok=True)
        install(build, {"CARGO_TARGET_DIR": str(target / "target"), "CARGO_BUILD_JOBS": "2"}, target / "source")
        return [str(target / "target" / "debug" / scenario.name)]


FAMILIES: Sequence[Family] = (Programs(), Python(), Node(), Go(), Java(), Rust())


def tool(name: str) -> str:
    """The path of a program. Raises MissingError."""
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed")
    return found


def postgresql_with(extension: str) -> Path:
    """The folder of the programs of a PostgreSQL that has an extension. Raises MissingError."""
    found = [Path(each).parent for each in (shutil.which("postgres"),) if each]
    for programs in (*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)):
        settings = programs / "pg_config"
        if settings.exists() and (programs / "initdb").exists():
            shared = subprocess.check_output([settings, "--sharedir"], text=True).strip()
            if (Path(shared) / "extension" / f"{extension}.control").exists():
                return programs
    raise MissingError(f"no PostgreSQL with the extension {extension} is installed")


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
