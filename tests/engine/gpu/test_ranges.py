"""An order that all workers make, each a range of it: of every type, whose ends and NULLs are among the values."""

from __future__ import annotations

import pytest

from gpudb.plan.placing import Costs
from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.test_cases import embedded

ALL = Costs(exchange=0, range=0)
SETUP = """
CREATE TABLE t (id int, d date, ts timestamp, tz timestamptz, tm time, n numeric, x float8, i interval, b bytea, c text);
INSERT INTO t VALUES
  (1, '0001-01-01 BC', '0044-03-15 BC', '-infinity', '01:00', 1.5, 'NaN', '1 day', 'a', ''),
  (2, 'infinity', 'infinity', 'infinity', '24:00', 0, '-inf', '-1 mon', 'b', 'é'),
  (3, '-infinity', '-infinity', '2020-01-01', NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '9999-12-31', '294000-12-31', '10000-01-01', '00:00', -100, '-0', '1 year', '', 'A');
INSERT INTO t SELECT 4 * g + id, d, ts, tz, tm, n, x, i, b, c FROM t, generate_series(1, 9) AS s(g);
INSERT INTO t SELECT i, date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 hour',
  timestamptz '2020-01-01 00:00+00' - i * interval '1 day', '02:00', i, i % 4, interval '1 hour' * i, i::text::bytea,
  't' || i FROM generate_series(41, 50) i
"""
COLUMNS = ("d", "ts", "tz", "tm", "n", "x", "i", "b", "c")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("word", ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])
def test_rows_come_in_order(lab: Lab, column: str, word: str) -> None:
    request = lab.request(f"SELECT id, {column} FROM t ORDER BY {column} {word}, id")
    wanted = embedded(lab, request)
    for workers in (2, 5):
        assert local.rows(request, workers, lab.database.cpu, ALL) == wanted
