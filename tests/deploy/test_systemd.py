"""The unit for systemd: systemd reads it, and its commands are those of the program."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from gpudb.cli.main import app

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "gpudb.service"


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    program = tmp_path / "gpudb"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/opt/gpudb/bin/gpudb", str(program)), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert "gpudb.service" not in done.stderr, done.stderr


def test_the_units_options_are_the_commands() -> None:
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(UNIT, encoding="utf-8")
    _, command, *arguments = parsed["Service"]["ExecStart"].split()
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    known = {option for each in parameters for option in each.opts}
    assert {each for each in arguments if each.startswith("--")} <= known
    assert "-HUP" in parsed["Service"]["ExecReload"]
