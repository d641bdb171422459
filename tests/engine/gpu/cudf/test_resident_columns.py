"""Resident columns of tables in a GPU's memory while the tables' files change."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

pytestmark = pytest.mark.gpu


def test_files_come_and_go(frames: Any) -> None:
    from gpudb.engine.gpu.cudf.resident_columns import CudfTableCache

    lab = Lab()
    tables = CudfTableCache(2**30, frames)
    try:
        lab.run("CREATE TABLE r AS SELECT i AS id, 'n' || i AS name FROM generate_series(1, 50) i")
        for change in (
            "SELECT 1",
            "INSERT INTO r VALUES (51, 'new'), (52, NULL)",
            "DELETE FROM r WHERE id < 10",
            "UPDATE r SET name = 'changed' WHERE id > 48",
            "DELETE FROM r WHERE id > 50",
            "DELETE FROM r",
            "INSERT INTO r VALUES (1, 'again')",
        ):
            lab.run(change)
            for sql in ("SELECT id, name FROM r", "SELECT name FROM r WHERE id > 51"):
                request = lab.request(sql)
                wanted = sorted_rows(embedded(lab, request))
                for workers, chunks in ((1, 1), (2, 1), (1, 3)):
                    given = local_stages.rows(request, workers, lab.database.cpu, None, frames, tables, chunks=chunks)
                    assert sorted_rows(given) == wanted, (change, sql)
    finally:
        lab.close()
