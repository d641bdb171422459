"""IS DISTINCT FROM between date, timestamp and timestamptz, in the session's time zone, on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.protocol import Settings
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.lab import Lab

SETUP = """
CREATE TABLE ma (id int, d date, ts timestamp, tz timestamptz);
INSERT INTO ma VALUES
    (1, '2024-02-29', '2024-02-29', '2024-02-29 00:00+00'), (2, '2024-02-29', '2024-02-29 05:00', '2024-02-29 05:00+00'),
    (4, NULL, NULL, NULL), (8, '2024-02-29', NULL, NULL), (16, 'infinity', 'infinity', 'infinity')
"""
SAME = {
    "UTC": {"d, ts": "21", "ts, d": "21", "d, tz": "21", "tz, d": "21", "ts, tz": "31", "tz, ts": "31"},
    "America/New_York": {"d, ts": "21", "d, tz": "22", "tz, d": "22", "ts, tz": "28", "tz, ts": "28"},
}
"""The sum of the rows whose values are equal."""


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("zone", "pair"), [(zone, pair) for zone, pairs in SAME.items() for pair in pairs])
def test_they_are_the_same_moment(lab: Lab, zone: str, pair: str, fused: bool) -> None:
    one, other = pair.split(", ")
    request = lab.request(f"SELECT sum(id) FROM ma WHERE {one} IS NOT DISTINCT FROM {other}")
    request = replace(request, settings=Settings(timezone=zone))
    kinds = [column.type for column in request.query.columns]
    assert local_stages.as_text(lab.database.cpu.run(request), kinds) == [(SAME[zone][pair],)]
    costs, kernels = (Costs(scan=0), NumpyRunner(local_stages.PACKED)) if fused else (None, None)
    try:
        assert local_stages.rows(request, 2, lab.database.cpu, costs, kernels=kernels) == [(SAME[zone][pair],)]
    except NotSupportedOnWorkers:
        assert zone != "UTC"
