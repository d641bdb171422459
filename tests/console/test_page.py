"""The page in Chromium: a browser runs all scenarios against one server, and each of them is a test here."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from gpudb.demo.statements import read_create_table
from gpudb.demo.taxi import generate_csv
from tests.console.tools import find_chromium, find_node
from tests.support.server_program import Program

BROWSER = Path(__file__).parent / "browser"
NAMES = re.findall(r'^  async "([^"]+)"\(', (BROWSER / "scenarios.mjs").read_text(encoding="utf-8"), re.MULTILINE)
PASSWORD = "geheim"
RIDES = 32_768
_BROWSER_S = 480


def load_rides(dsn: str, rides: int = RIDES) -> None:
    """Makes the demonstration's table, and gives the role gpudb a password."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(read_create_table())
        with connection.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as copy:
            for piece in generate_csv(rides, 7):
                copy.write(piece)
        connection.execute(f"ALTER ROLE gpudb PASSWORD '{PASSWORD}'")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong in each scenario; empty texts are good ones."""
    node, chromium = find_node(), find_chromium()
    with Program(tmp_path_factory.mktemp("console") / "data", "--engine", "cpu", "--http-port", "0") as server:
        load_rides(server.dsn)
        command = [node, str(BROWSER / "main.mjs"), server.http, "gpudb", PASSWORD]
        variables = {**os.environ, "CHROMIUM": chromium}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=_BROWSER_S)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert found, done.stderr
    return {each["name"]: each["problem"] for each in found}


@pytest.mark.timeout(_BROWSER_S + 120)
@pytest.mark.parametrize("name", NAMES)
def test_scenario(told: dict[str, str], name: str) -> None:
    assert name in told, "the browser ended before"
    assert not told[name], told[name]


def test_there_are_scenarios() -> None:
    assert len(NAMES) > 15
