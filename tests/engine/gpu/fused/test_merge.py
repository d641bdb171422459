"""Two workers of which only one has its kernel compiled: their rows are merged, so they have the same form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpudb.plan.physical.exchange_planning import Costs
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

COLUMNS = {
    "i2": "i::int2", "i4": "i * 3", "i8": "i * 5000000000", "f4": "i * 0.5::float4", "f8": "i * 0.25::float8",
    "n": "i * 0.37", "t": "'t' || i % 9", "b": "i % 2 = 0",
    "d": "date '2020-01-01' + i", "s": "timestamp '2020-01-01' + i * interval '1 hour'", "c": "'c' || i % 4",
}  # fmt: skip
DECLARED = {"n": "::numeric(9, 2)", "c": "::char(5)"}
SETUP = "CREATE TABLE h AS SELECT i AS id, i % 5 AS k, {} FROM generate_series(1, 3000) i".format(
    ", ".join(
        f"(CASE WHEN i % 7 > 0 THEN {made} END){DECLARED.get(name, '')} AS {name}" for name, made in COLUMNS.items()
    )
)
AGGREGATES = [
    *(f"{call}({name})" for call in ("min", "max", "count") for name in COLUMNS if name != "b"),
    *(f"{call}({name})" for call in ("sum", "avg") for name in ("i2", "i4", "i8", "f4", "f8", "n")),
    *(f"{call}(b)" for call in ("bool_and", "bool_or", "every", "count")),
    "count(*)",
    "sum(f8) FILTER (WHERE i4 > 30)",
    "sum(n) FILTER (WHERE false)",
]


class Halves(Recording):
    """A NumPy backend that the second worker lacks."""

    def __call__(self, node: Any, builds: Any, share: Any, *more: Any) -> Any:
        return None if share.index else super().__call__(node, builds, share, *more)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(SETUP)
    made.run("CREATE TABLE g AS SELECT i AS k, 'g' || i % 3 AS g, i * 3 AS x FROM generate_series(1, 40) i")
    yield made
    made.close()


def _same(lab: Lab, sql: str) -> None:
    kernels = Halves()
    request = lab.request(sql)
    rows = local_stages.rows(request, 2, lab.database.cpu, Costs(scan=0), kernels=kernels)
    assert sorted_rows(rows) == sorted_rows(embedded(lab, request)), sql
    assert kernels.prepared, sql


@pytest.mark.parametrize("call", AGGREGATES)
def test_states_of_kernels_and_of_frames_are_one_kind(lab: Lab, call: str) -> None:
    _same(lab, f"SELECT {call} FROM h WHERE id > 5")
    _same(lab, f"SELECT k, {call} FROM h GROUP BY k")


@pytest.mark.parametrize("name", COLUMNS)
def test_keys_and_rows_of_kernels_and_of_frames_are_one_kind(lab: Lab, name: str) -> None:
    if name not in {"f4", "f8"}:
        _same(lab, f"SELECT {name}, count(*) FROM h GROUP BY 1")
        _same(lab, f"SELECT g, {name}, sum(x) FROM h JOIN g USING (k) WHERE id > 7 GROUP BY 1, 2")
    _same(lab, f"SELECT id, {name} FROM h WHERE i4 < 60")
    _same(lab, f"SELECT id, {name} FROM h ORDER BY i4 DESC NULLS LAST, id LIMIT 7")
