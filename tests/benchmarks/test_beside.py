"""Short statements beside a long one: figures of two clients' runs, and wrong answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import harness, report, tables
from benchmarks.gpu import beside
from benchmarks.gpu.beside import ALONE, BESIDE, LONG, ClientRuns, Statement
from benchmarks.harness import Row, save_results
from benchmarks.systems import gpudb_server
from tests.support.sessions import wait_until


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for results."""
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    return tmp_path


def test_statements_are_timed_alone_and_side_by_side(results: Path) -> None:
    lines, wide = tables.ssb_lines(0.01, results), tables.exchange(0.01, results)
    asked = beside.statements(60_000, 60_000, 2_000)
    rows: list[Row] = []
    with gpudb_server(results / "db") as system:
        beside.create_tables(system, [lines, wide], 2_000)
        alone = beside.measure(system, asked, 0.2, lambda found: rows.__setitem__(slice(None), found))
    beside.check_answers(rows, asked, alone, results / "db")
    save_results("beside", rows, {}, "here")
    report.main()
    found = {
        (row["case"], row["system"]): row for row in json.loads((results / "beside.here.json").read_text())["rows"]
    }
    short = [name for name in asked if name != LONG]
    assert set(found) == {(name, ALONE) for name in asked} | {
        (case, BESIDE) for name in short for case in (name, f"{LONG} beside {name}")
    }
    assert all(row["answers_agree"] for row in found.values())
    assert all(row["runs"] >= 1 and row["median_s"] > 0 for row in found.values())
    assert [found[name, BESIDE]["result_rows"] > 1 for name in short] == [False, True, True]
    assert "## Short statements beside a long one, through a client, on here" in (results / "README.md").read_text()


def test_wrong_answers_are_told(results: Path) -> None:
    """Tampers with two answers: one changes from run to run, one differs from the embedded engine's."""
    asked = {"one": Statement("SELECT 1", 1), "same": Statement("SELECT 2", 1, "SELECT 3")}
    runs = {"one": ClientRuns([(1,)]), "same": ClientRuns([(2,)])}
    runs["one"].add(0.1, [(1,)])
    runs["one"].add(0.1, [(2,)])
    runs["same"].add(0.1, [(2,)])
    rows = [beside.result_row(name, ALONE, each, 1) for name, each in runs.items()]
    assert [row.answers_agree for row in rows] == [False, None]
    with gpudb_server(results / "db"):
        pass
    beside.check_answers(rows, asked, runs, results / "db")
    assert [row.answers_agree for row in rows] == [False, False]


def test_another_client_runs_until_the_end_and_tells_why_it_failed(results: Path) -> None:
    import psycopg

    with gpudb_server(results / "db") as system:
        runs = ClientRuns()
        with beside.concurrent_client(system.dsn, "SELECT 7", runs):
            beside.repeat(lambda: system.query("SELECT 8"), 0.3, ClientRuns())
            wait_until(lambda: len(runs.seconds) > 1, "the other client has run twice")
        assert runs.answer == [(7,)]
        with (
            pytest.raises(psycopg.errors.DivisionByZero),
            beside.concurrent_client(system.dsn, "SELECT 1 / 0", ClientRuns()),
        ):
            pass


def test_the_slowest_runs_are_told() -> None:
    times = [0.001 * each for each in range(1, 101)]
    assert beside.quantile(times, 0.95) == pytest.approx(0.096)
    assert beside.quantile([0.5], 0.95) == 0.5
