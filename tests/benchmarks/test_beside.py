"""Short statements beside a long one: figures of two clients' runs, and wrong answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import harness, report, tables
from benchmarks.gpu import beside
from benchmarks.gpu.beside import ALONE, BESIDE, LONG, Statement, Told
from benchmarks.harness import Row, save
from benchmarks.systems import gpudb_server


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
        beside.made(system, [lines, wide], 2_000)
        alone = beside.measured(system, asked, 0.2, lambda found: rows.__setitem__(slice(None), found))
    beside.checked(rows, asked, alone, results / "db")
    save("beside", rows, {}, "here")
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
    told = {"one": Told([(1,)]), "same": Told([(2,)])}
    told["one"].add(0.1, [(1,)])
    told["one"].add(0.1, [(2,)])
    told["same"].add(0.1, [(2,)])
    rows = [beside.row(name, ALONE, each, 1) for name, each in told.items()]
    assert [row.answers_agree for row in rows] == [False, None]
    with gpudb_server(results / "db"):
        pass
    beside.checked(rows, asked, told, results / "db")
    assert [row.answers_agree for row in rows] == [False, False]


def test_another_client_runs_until_the_end_and_tells_why_it_failed(results: Path) -> None:
    import psycopg

    with gpudb_server(results / "db") as system:
        told = Told()
        with beside.another(system.dsn, "SELECT 7", told):
            beside.repeated(lambda: system.query("SELECT 8"), 0.3, Told())
        assert len(told.seconds) > 1
        assert told.answer == [(7,)]
        with pytest.raises(psycopg.errors.DivisionByZero), beside.another(system.dsn, "SELECT 1 / 0", Told()):
            pass


def test_the_slowest_runs_are_told() -> None:
    times = [0.001 * each for each in range(1, 101)]
    assert beside.within(times, 0.95) == pytest.approx(0.096)
    assert beside.within([0.5], 0.95) == 0.5
