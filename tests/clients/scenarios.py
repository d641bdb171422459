"""Scenarios: found in their families' folders, started, and their output read into results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.clients.matrix import Check, Result, shorten

HERE = Path(__file__).parent
TIMEOUT_S = 900.0


class MissingError(Exception):
    """A client cannot be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario's source. Its first line is `NAME: what it does`, in a comment or a docstring."""

    family: str
    source: Path

    @property
    def client(self) -> str:
        """The client's name."""
        with self.source.open(encoding="utf-8") as lines:
            first = next(line for line in lines if line.strip(' #/!*"\n') and not line.startswith("#!"))
        return first.strip(' #/!*"\n').partition(": ")[0]

    @property
    def name(self) -> str:
        """Its name in commands: of its file, or of its folder where each has a main file."""
        return self.source.parent.name if self.source.stem == "main" else self.source.stem

    @property
    def database(self) -> str:
        """The name of its database."""
        return f"{self.family}_{self.name}".lower()


def run(scenario: Scenario, command: list[str], environment: Mapping[str, str], folder: Path) -> Result:
    """Runs a scenario in a folder of its own. An end by an error or without a check is a failed check."""
    with (folder / "errors").open("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=dict(environment),
            cwd=folder,
        )
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
            end = None if process.returncode == 0 else f"exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            end = f"did not end within {TIMEOUT_S:.0f} s"
        errors.seek(0)
        said = errors.read().strip()
    version, checks, notes, skipped = parse(output)
    if skipped is not None:
        return Result(scenario.client, scenario.family, skipped=shorten(skipped))
    if end is None and not checks:
        end = "ended without a check"
    if end is not None:
        last = said.splitlines()[-1] if said else ""
        checks.append(Check("connect", "the scenario ends", shorten(f"{end}: {last}".rstrip(": "))))
    return Result(scenario.client, scenario.family, version, None, checks, notes)


class Said(NamedTuple):
    """What a scenario's output says: the client's version, its checks, notes, and why it did not run."""

    version: str
    checks: list[Check]
    notes: list[str]
    skipped: str | None = None


def parse(output: str) -> Said:
    """Reads a scenario's output; lines that are no JSON objects are the client's own."""
    version, skipped = "", None
    checks: list[Check] = []
    notes: list[str] = []
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if "version" in said:
            version = said["version"]
        elif "skipped" in said:
            skipped = said["skipped"]
        elif "note" in said:
            notes.append(said["note"])
        elif "feature" in said:
            error = said["error"]
            checks.append(Check(said["feature"], said["check"], None if error is None else shorten(error)))
    return Said(version, checks, notes, skipped)
