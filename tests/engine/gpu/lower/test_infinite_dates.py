"""Comparison of infinite dates and timestamps, and their addition of days that may be NULL."""

from __future__ import annotations

import pytest

from tests.support.gpu.lowering import lowered
from tests.support.lab import Lab

SETUP = """
CREATE TABLE el (id int, d date, ts timestamp, tz timestamptz, i int);
INSERT INTO el VALUES
    (1, 'infinity', 'infinity', 'infinity', NULL), (2, '-infinity', '-infinity', '-infinity', NULL),
    (3, 'infinity', '-infinity', '9999-12-31', 5), (4, '-infinity', '0044-03-15 BC', 'infinity', -5),
    (5, '2024-02-29', '2024-02-29', '2024-02-29', 1), (6, NULL, NULL, NULL, NULL), (7, '2024-02-29', NULL, NULL, NULL)
"""
LOWERED = (
    "d + i, d - i, i + d, d + i IS NULL",
    "d = ts, ts = d, d <> ts, d < ts, ts <= d, d >= ts, ts > d",
    "d IS DISTINCT FROM ts, ts IS NOT DISTINCT FROM d, d::timestamp = ts, ts::date = d",
)


@pytest.mark.parametrize("outputs", LOWERED)
def test_the_answer_is_the_embedded_engine_s(lab: Lab, outputs: str) -> None:
    lowered(lab, lab.request(f"SELECT id, {outputs} FROM el"))
