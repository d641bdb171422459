"""Relations as files: what each format holds, read by another program, and what stays where none can be written."""

from __future__ import annotations

import csv
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.api import Connection, Relation
from gpudb.errors import GpudbError
from tests.support.command_line import run_in_process

ROWS = """SELECT * FROM (VALUES
    (1, 'a "quoted", text', 1.50::numeric(6, 2), date '2024-02-29', true),
    (2, E'two\\nlines', NULL, NULL, NULL),
    (3, '', -0.05, date '1999-12-31', false)) AS t(id, name, price, day, ok) ORDER BY id"""


@pytest.fixture
def rows(db: Connection) -> Relation:
    return db.sql(ROWS)


def test_csv(rows: Relation, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert rows.to_csv(path) == 3
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "name", "price", "day", "ok"],
            ["1", 'a "quoted", text', "1.50", "2024-02-29", "t"],
            ["2", "two\nlines", "", "", ""],
            ["3", "", "-0.05", "1999-12-31", "f"],
        ]
    assert rows.to_csv(path, delimiter=";", header=False) == 3
    assert path.read_text().startswith('1;"a ""quoted"", text";1.50;')
    assert path.read_text().endswith('3;"";-0.05;1999-12-31;f\n')  # an empty text, not NULL
    with pytest.raises(GpudbError) as caught:
        rows.to_csv(path, delimiter="::")
    assert caught.value.sqlstate == "0A000"
    assert path.read_text().startswith("1;")


def test_json(rows: Relation, tmp_path: Path) -> None:
    assert rows.to_json(tmp_path / "rows.json") == 3
    lines = [json.loads(line, parse_float=Decimal) for line in (tmp_path / "rows.json").read_text().splitlines()]
    assert lines[0] == {
        "id": 1, "name": 'a "quoted", text', "price": Decimal("1.50"), "day": "2024-02-29", "ok": True
    }  # fmt: skip
    assert lines[1] == {"id": 2, "name": "two\nlines", "price": None, "day": None, "ok": None}


def test_arrow(rows: Relation, tmp_path: Path) -> None:
    assert rows.to_arrow(tmp_path / "rows.arrow") == 3
    with pa.ipc.open_file(tmp_path / "rows.arrow") as file:
        found = file.read_all()
    assert found.column_names == ["id", "name", "price", "day", "ok"]
    assert found.column("day").to_pylist() == [dt.date(2024, 2, 29), None, dt.date(1999, 12, 31)]
    assert found.column("price").to_pylist() == [Decimal("1.50"), None, Decimal("-0.05")]


def test_xlsx(rows: Relation, tmp_path: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    assert rows.to_xlsx(tmp_path / "rows.xlsx") == 3
    sheet = calamine.CalamineWorkbook.from_path(tmp_path / "rows.xlsx").get_sheet_by_index(0).to_python()
    assert sheet[0] == ["id", "name", "price", "day", "ok"]
    assert sheet[1] == [1.0, 'a "quoted", text', 1.5, dt.date(2024, 2, 29), True]
    assert sheet[2][:2] == [2.0, "two\nlines"]


@pytest.mark.parametrize("method", ["to_csv", "to_json", "to_arrow", "to_xlsx", "to_parquet"])
def test_a_file_stays_if_there_are_no_rows_for_it(db: Connection, tmp_path: Path, method: str) -> None:
    path = tmp_path / "rows"
    path.write_text("before")
    with pytest.raises(GpudbError):
        getattr(db.sql("SELECT 1 / (i - i) AS a FROM generate_series(1, 3) AS i"), method)(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError):
        getattr(db.sql("SELECT 1 AS a"), method)(tmp_path / "none" / "rows")


def test_formats_of_the_shell(tmp_path: Path) -> None:
    """Binary formats go to a file, as they are."""
    for form in ("parquet", "arrow"):
        path = tmp_path / f"rows.{form}"
        done = run_in_process("sql", tmp_path / "data", "--format", form, "-c", f"SELECT 7 AS a \\g {path}")
        assert (done.returncode, done.stderr) == (0, "")
        if form == "parquet":
            assert pq.read_table(path).to_pydict() == {"a": [7]}
        else:
            with pa.ipc.open_file(path) as file:
                assert file.read_all().to_pydict() == {"a": [7]}
