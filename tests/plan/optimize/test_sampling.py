"""Distinct values estimated by samples of known distributions, and their effect on estimates and plans without
ANALYZE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from gpudb.catalog.tables import Column, Table
from gpudb.plan.cost import sampling
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.cost.profile import profile_table
from gpudb.plan.cost.sampling import Sample
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.nodes import Scan
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.storage.iceberg.samples import sample_column
from tests.support.lab import Lab
from tests.support.plan_text import plan, stages

SETUP = """
CREATE TABLE lines (day int, customer int, part int, mode text, price float8, v int);
INSERT INTO lines SELECT i % 2500, (i * 7919) % 2000, (i * 10473) % 1000,
    (ARRAY['AIR', 'RAIL', 'SHIP', NULL])[i % 4 + 1], (i % 50) / 4.0, i FROM generate_series(1, 40000) i;
CREATE TABLE days (day int PRIMARY KEY, year int);
INSERT INTO days SELECT i, 1992 + i / 365 FROM generate_series(0, 2499) i;
CREATE TABLE customers (customer int PRIMARY KEY, nation text, region text);
INSERT INTO customers SELECT i, 'nation ' || i % 25, 'region ' || i % 5 FROM generate_series(0, 1999) i;
CREATE TABLE parts (part int PRIMARY KEY, maker text);
INSERT INTO parts SELECT i, 'maker ' || i % 5 FROM generate_series(0, 999) i
"""
STAR = (
    "SELECT year, nation, sum(v) FROM lines l, days d, customers c, parts p WHERE l.day = d.day"
    " AND l.customer = c.customer AND l.part = p.part AND region = 'region 1' AND maker IN ('maker 1', 'maker 2')"
    " GROUP BY year, nation"
)


def _of(places: Sequence[Sequence[int]]) -> Sample:
    """Returns the sample of values that were read at several places."""
    times, met = Counter(v for place in places for v in place), Counter(v for place in places for v in set(place))
    once = sum(count == 1 for count in times.values())
    apart = sum(times[v] > 1 and met[v] == 1 for v in times)
    return Sample(sum(times.values()), len(times), once, apart, len(places), sum(met.values()))


def _read(values: npt.NDArray[np.int64], places: int) -> list[list[int]]:
    """Reads 30,000 of a million values, equally many at each place."""
    length = 30_000 // places
    return [values[start : start + length].tolist() for start in range(0, ROWS, ROWS // places)]


ROWS = 1_000_000
_DRAWN = np.random.default_rng(7)
KNOWN = {
    "one value": (np.zeros(ROWS, int), 1),
    "a few": (_DRAWN.integers(0, 7, ROWS), 7),
    "a few, in order": (np.sort(_DRAWN.integers(0, 7, ROWS)), 7),
    "some thousands": (_DRAWN.integers(0, 5000, ROWS), 5000),
    "a tenth": (_DRAWN.integers(0, 100_000, ROWS), 100_000),
    "a tenth, in order": (np.arange(ROWS) // 10, 100_000),
    "unique": (_DRAWN.permutation(ROWS), ROWS),
    "unique, in order": (np.arange(ROWS), ROWS),
}


@pytest.mark.parametrize("places", [2, 8])
@pytest.mark.parametrize("name", KNOWN)
def test_distinct_values_of_known_distributions(name: str, places: int) -> None:
    values, wanted = KNOWN[name]
    if (name, places) == ("a few, in order", 2):
        wanted = 2  # too rare to be sampled
    found = _of(_read(values, places)).estimate_distinct(ROWS)
    assert wanted / 1.5 <= found <= min(wanted * 1.5, ROWS)


def test_a_skewed_column_has_neither_a_few_values_nor_as_many_as_rows() -> None:
    values = np.where(_DRAWN.random(ROWS) < 0.5, 0, _DRAWN.zipf(1.5, ROWS) % 100_000)
    wanted = len(np.unique(values))
    assert wanted / 20 <= _of(_read(values, 8)).estimate_distinct(ROWS) <= wanted * 20


def test_of_two_places_half_of_what_comes_twice_is_at_one_of_them() -> None:
    # Returns a sample of a million random values out of a hundred million rows.
    found = Sample(values=30_000, distinct=29_550, singletons=29_100, clustered=230, places=2, distinct_sum=29_770)
    assert 800_000 < found.estimate_distinct(100 * ROWS) < 1_200_000


def test_a_sample_that_is_all_rows_is_exact_and_one_of_nulls_alone_is_of_one_value() -> None:
    assert _of([[1, 1, 2, 3, 4, 4]]).estimate_distinct(6) == 4
    assert Sample(0, 0, 0).estimate_distinct(1000) == 1


def test_estimates_go_by_samples_where_no_range_tells(lab: Lab) -> None:
    def rows(sql: str) -> int:
        return estimate(plan(lab, sql))

    assert rows("SELECT customer FROM customers WHERE region = 'region 1'") == 400
    assert rows("SELECT nation, count(*) FROM customers GROUP BY nation") == 25
    assert rows("SELECT v FROM lines WHERE mode = 'AIR'") == 10_000
    # A float's range does not bound its distinct values.
    assert rows("SELECT price, count(*) FROM lines GROUP BY price") == 50


def test_what_goes_to_every_worker_is_the_small_side_of_a_join(lab: Lab) -> None:
    def sent() -> set[str]:
        made = stages(lab, STAR, Costs(workers=2, exchange=0))
        every = (node for stage in made if stage.output == "broadcast" for node in walk_nodes(stage.root))
        return {node.table.name for node in every if isinstance(node, Scan)}

    assert sent() == {"customers", "parts", "days"}
    assert 3000 < estimate(plan(lab, STAR.replace("year, nation, sum(v)", "v").partition(" GROUP BY")[0])) < 3400


def test_samples_are_asked_for_only_where_nothing_else_tells(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counting(table: Table, column: Column) -> Sample | None:
        asked.append(column.name)
        return sample_column(table, column)

    monkeypatch.setattr(sampling, "_sampler", counting)
    lab.run("CREATE TABLE told (id text PRIMARY KEY, counted text, ranged int, free text, other text)")
    lab.run(
        "INSERT INTO told SELECT 'id ' || i, 'c' || i % 3, i % 20, 'f' || i % 4, 'o' FROM generate_series(1, 500) i"
    )
    lab.run("ANALYZE told (counted)")
    for _ in range(2):
        made = plan(lab, "SELECT id, counted, ranged, count(*) FROM told WHERE free = 'f1' GROUP BY 1, 2, 3")
        assert estimate(made) == 125
    assert asked == ["free"]
    (scan,) = (node for node in walk_nodes(made) if isinstance(node, Scan))
    columns = profile_table(scan.table, range(4)).columns
    assert [round(each.distinct) for each in columns] == [500, 3, 20, 4]
    lab.release()
