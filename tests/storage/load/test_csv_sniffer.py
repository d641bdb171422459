"""Csv files as people have them: FROM and `gpudb load` find the same delimiter and header, and lose no row or zero."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpudb.catalog.file_tables import FileRequest
from gpudb.cli import sources
from gpudb.storage.files.schema import open_file_table

FILES = {
    "1,a,01234\n2,b,00456\n": (",", False, ["bigint", "text", "text"]),
    "id,plz\n1,01234\n2,99999\n": (",", True, ["bigint", "text"]),
    "1\n2\n": (",", False, ["bigint"]),
    "n\n1\n2\n": (",", True, ["bigint"]),
    "id;v;d\n1;1,5;31.12.2024\n2;2,5;01.02.2024\n": (";", True, ["bigint", "text", "text"]),
    "a|b\n1|2\n": ("|", True, ["bigint", "bigint"]),
    "1\t2.5\n3\t4\n": ("\t", False, ["bigint", "double precision"]),
    '"a, x";"b"\n"1, 2";2\n': (";", True, ["text", "bigint"]),
    "name,city\nann,rome\n": (",", True, ["text", "text"]),
    "name,2019,2020\nx,1.5,2\ny,2.5,3\n": (",", True, ["text", "double precision", "bigint"]),
    "x,2019,2021\ny,2.5,3\n": (",", False, ["text", "double precision", "bigint"]),
    "a,b\n1,NA\n2,3\n": (",", True, ["bigint", "text"]),
    "day,n\n2024-01-31,\n,2\n": (",", True, ["date", "bigint"]),
    "only,names\n": (",", True, ["text", "text"]),
    "a note, with commas | and bars\nx,\n": (",", True, ["text", "text"]),
    "1,2.5\n3,4\n": (",", False, ["bigint", "double precision"]),
}


@pytest.mark.parametrize("text", FILES)
def test_what_a_file_says(text: str, tmp_path: Path) -> None:
    delimiter, header, types = FILES[text]
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="utf-8")
    (source,) = sources.find_sources([str(path)], None)
    assert sources.start_csv(source, {}).options["delimiter"] == delimiter
    found = open_file_table(FileRequest((str(path),)))
    assert (found.options["delimiter"], found.options["header"]) == (delimiter, header)
    assert [str(column.type) for column in found.columns] == types
    assert sources.describe_csv(source, {}).columns == found.columns
    packed = tmp_path / "file.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert open_file_table(FileRequest((str(packed),))).columns == found.columns


def test_what_is_said_is_not_sought(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("1;2\n3;4\n", encoding="utf-8")
    given = {"header": True, "delimiter": ","}
    assert [each.name for each in open_file_table(FileRequest((str(path),), options=given)).columns] == ["1;2"]
    found = open_file_table(FileRequest((str(path),), options={"header": True}))
    assert ([each.name for each in found.columns], found.options["delimiter"]) == (["1", "2"], ";")
    assert open_file_table(FileRequest((str(path),), options={"delimiter": ","})).options["header"] is True
