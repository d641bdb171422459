"""Constructs that the CPU engine's DuckDB lacks are refused by name, with SQLSTATE 0A000."""

from __future__ import annotations

import pytest

from gpudb.errors import GpudbError
from tests.support.lab import Lab


def test_limits_of_correlated_subqueries_are_plain_constants() -> None:
    lab = Lab()
    lab.run("CREATE TABLE r (id int); INSERT INTO r VALUES (1), (2)")
    rows = "SELECT r.id, z.id FROM r LEFT JOIN LATERAL (SELECT id FROM r AS y WHERE y.id >= r.id ORDER BY 1 LIMIT {}) z ON true"
    with pytest.raises(GpudbError, match="LIMIT that is no plain constant") as error:
        for _ in lab.database.cpu.run(lab.request(rows.format("0.1::numeric(3,3)"))):
            pass
    assert error.value.sqlstate == "0A000"
    batches = list(lab.database.cpu.run(lab.request(rows.format("1"))))
    assert sum(batch.num_rows for batch in batches) == 2
    lab.close()
