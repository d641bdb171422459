"""Peers of the star schema benchmark: their frames answer like the queries' SQL, and totals state their extent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import tables
from benchmarks.fused import device, files, peer, peers, wire
from benchmarks.gpu import bounded
from benchmarks.harness import Row, answers_equal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ssb")
    files.write_files("ssb", made, 60_000, np, file_rows=20_000)
    return made


def test_frames_of_polars_answer_as_sql(folder: Path) -> None:
    held = peer.list_files(folder, 1)
    assert len(held["lineorder"]) == 3
    one, other = peer.polars(held), peer.duckdb(held)
    answers = {name: (one(sql), other(sql)) for name, sql in tables.queries("ssb").items()}
    assert [name for name, both in answers.items() if not answers_equal(*both)] == []
    assert sum(len(wanted) > 1 for _, wanted in answers.values()) >= 8


def test_rows_over_a_part_of_the_lines(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "save_results", lambda *given: tmp_path)
    run = peers.Run(folder, 60_000, 100.0, None)
    run.rows = [Row(f"ssb {name}", wire.LIBPQ, 0.5, 0.5, 1, 60_000) for name in tables.queries("ssb")]
    run.answers = {"q1.1": [(7,)], "q1.2": [(8,)]}
    told = {
        "q1.1": {"times": [0.1], "answer": [[7]]},
        "q1.2": {"times": [0.1], "answer": [[9]]},
        "q1.3": {"error": "no"},
    }
    run._add_rows("cudf-polars", 1, told)
    run._add_rows("duckdb", 4, told)
    run.add_totals()
    found = {(row.case, row.system): row for row in run.rows}
    assert found["ssb q1.1", "cudf-polars"].answers_agree is True
    assert found["ssb q1.2", "cudf-polars"].answers_agree is False
    part = "duckdb, 4 times its time over 15,000 lines"
    assert found["ssb q1.1", part].median_s == pytest.approx(0.4)
    assert found["ssb q1.1", part].answers_agree is None
    assert found["total", part].note == "of 2 queries"
    assert found["total", wire.LIBPQ].median_s == pytest.approx(6.5)


def test_a_step_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bounded, "GRACE_S", 1.0)
    assert not device.run_step(
        "sleeper", ["-c", "import time; print('begun', flush=True); time.sleep(600)"], 5, tmp_path
    )
    assert device.run_step("quick", ["-c", "print('done')"], 60, tmp_path)
    said = capsys.readouterr().out
    assert "begun" in said
    assert "done" in said
