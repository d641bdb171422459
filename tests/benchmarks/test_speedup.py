"""Scaling on more workers: both suites' queries on each count, speed-ups, and differing answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import harness, report
from benchmarks.fused import speedup, wire
from benchmarks.harness import Row


@pytest.mark.timeout(300)
def test_each_count_of_workers_has_all_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (harness, report):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    for name in ("RUNS", "WARM"):
        monkeypatch.setattr(wire, name, 2)
    sizes = ["--lines", "8000", "--rides", "9600", "--file-rows", "1000", "--engine", "twin"]
    assert speedup.main([*sizes, "--gpus", "2", "1", "--folder", str(tmp_path), "--machine", "here", "--checked"]) == 0
    rows = json.loads((tmp_path / "results" / "speedup.here.json").read_text())["rows"]
    systems = [f"{system} on {gpus}" for gpus in ("1 GPU", "2 GPUs") for system in (wire.LIBPQ, wire.PSYCOPG, "kernel")]
    assert list(dict.fromkeys(row["system"] for row in rows)) == systems
    assert {row["table_rows"] for row in rows} == {8000, 9600}
    for system in systems:
        cases = [row["case"] for row in rows if row["system"] == system]
        assert sum(case.startswith("ssb q") for case in cases) == 13
        assert sum(case.startswith("taxi q") for case in cases) == 4
        assert {"ssb in all", "taxi in all"} < set(cases)
    assert all(row["answers_agree"] for row in rows if not row["case"].endswith("in all"))
    notes = [row.get("note", "") for row in rows if row["system"] == systems[-1]]
    assert all(" times as fast" in note for note in notes)
    segments = {
        row["system"]: row["note"].split()[0] for row in rows if row["case"] == "taxi q1" and "kernel" in row["system"]
    }
    assert segments == {"kernel on 1 GPU": "1", "kernel on 2 GPUs": "2"}
    assert not list(tmp_path.glob("*/on-*"))


def test_an_answer_that_differs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row(f"ssb {name}", wire.LIBPQ, 0.5, 0.5, 1, 10) for name in ("q1.1", "q1.2")]
    speedup.check_answers(rows, {"ssb": {"q1.1": [(1,)], "q1.2": [(2,)]}}, {"ssb": {"q1.1": [(1,)], "q1.2": [(3,)]}})
    assert [row.answers_agree for row in rows] == [True, False]
    assert "ssb q1.2 DIFFERS" in capsys.readouterr().out


def test_the_speed_up_is_of_the_same_case_and_client() -> None:
    few = [Row("q", f"{system} on 1 GPU", seconds, seconds, 1, 10) for system, seconds in (("a", 0.6), ("b", 0.9))]
    more = [Row("q", f"{system} on 2 GPUs", 0.3, 0.3, 1, 10, note="first") for system in ("a", "b")]
    speedup.add_speedups(few, more)
    assert [row.note for row in more] == ["first; 2.00 times as fast", "first; 3.00 times as fast"]
