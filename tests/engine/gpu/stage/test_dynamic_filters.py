"""Dynamic filters: the same answers on any number of workers, from fewer files and rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.figures import NarrowedScan
from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.stage import dynamic_filters as worker_filters
from gpudb.plan.optimize import dynamic_filters
from tests.support.gpu import local_stages
from tests.support.lab import Lab

FILES, ROWS = 4, 300


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(
        "CREATE TABLE rides (id int, day date, at timestamptz, zone text, price numeric(8,2), big bigint, small int2)"
    )
    for number in range(FILES):
        first = number * ROWS
        made.run(
            f"INSERT INTO rides SELECT i, date '2024-01-01' + i, timestamptz '2024-01-01 00:00+00' + i * interval '1 h',"
            f" CASE WHEN i % 9 > 0 THEN 'zone ' || lpad((i / 10)::text, 4, '0') END, i / 4.0, i * 10, i % 50"
            f" FROM generate_series({first}, {first + ROWS - 1}) i"
        )
    made.run(
        "CREATE TABLE days AS SELECT id, id AS num, day, at, zone, price, big, small::bigint AS small, id % 7 AS k FROM rides"
    )
    made.run("ANALYZE")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_filters, "MIN_ROWS", 100)


class _Joining(HostBackend):
    """A backend that joins rows faster than it compares them, as a GPU does."""

    prefilters_joins = False


def _narrowed(lab: Lab, sql: str, workers: int, frames: Backend = local_stages.FRAMES) -> list[NarrowedScan]:
    request = lab.request(sql)
    kinds = [each.type for each in request.query.columns]  # type: ignore[union-attr]
    wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
    told: list[NarrowedScan] = []
    given = local_stages.rows(request, workers, lab.database.cpu, frames=frames, narrowed=told)
    assert sorted(map(repr, given)) == sorted(map(repr, wanted))
    return told


_KEYS = {
    # For each key type: few values, of which some files have none.
    "id": "days.num = rides.id",
    "day": "days.day = rides.day",
    "at": "days.at = rides.at",
    "zone": "days.zone = rides.zone",
    "price": "days.price = rides.price",
    "big": "days.big = rides.big",
}


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", _KEYS)
def test_few_values(lab: Lab, name: str, workers: int) -> None:
    sql = f"SELECT rides.*, days.k FROM rides JOIN days ON {_KEYS[name]} WHERE days.id IN (310, 1100)"
    told = _narrowed(lab, sql, workers)
    assert {(each.read, each.skipped, each.compared) for each in told} == {(2, 2, True)}
    assert sum(each.rows for each in told) == 2 * ROWS


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", _KEYS)
def test_where_rows_are_joined_sooner_files_alone_are_left_out(lab: Lab, name: str, workers: int) -> None:
    sql = f"SELECT rides.*, days.k FROM rides JOIN days ON {_KEYS[name]} WHERE days.id IN (310, 1100)"
    told = _narrowed(lab, sql, workers, _Joining())
    assert {(each.read, each.skipped, each.compared) for each in told} == {(2, 2, False)}


def test_where_no_file_can_be_left_out_keys_are_looked_at_to_compare_alone(lab: Lab) -> None:
    lab.run("CREATE TABLE mixed AS SELECT * FROM rides ORDER BY small, id")
    sql = "SELECT m.*, d.k FROM mixed m JOIN days d ON d.num = m.id WHERE d.id IN (310, 1100)"
    assert {each.compared for each in _narrowed(lab, sql, 2)} == {True}
    assert _narrowed(lab, sql, 2, _Joining()) == []
    lab.run("DROP TABLE mixed")


@pytest.mark.parametrize("name", ["id", "day", "at", "price", "big"])
def test_of_many_keys_the_ends_are_known(lab: Lab, name: str) -> None:
    sql = f"SELECT rides.*, days.k FROM rides JOIN days ON {_KEYS[name]} WHERE days.num - 310 BETWEEN 0 AND 280"
    for workers in (1, 2):
        assert {(each.read, each.skipped) for each in _narrowed(lab, sql, workers)} == {(1, 3)}


@pytest.mark.parametrize(
    ("sql", "read", "keys"),
    [
        # Nothing received: nothing is read.
        ("SELECT * FROM rides JOIN days ON num = rides.id WHERE days.id < 0", 0, "id: none"),
        # Numbers of another width, some of which the column cannot represent.
        ("SELECT * FROM rides r JOIN days d ON d.big = r.small WHERE d.id IN (1, 2, 1000)", 4, "10000 (3 values)"),
        (
            "SELECT * FROM rides r JOIN (SELECT big * 100 AS b FROM days WHERE id = 700) d ON d.b = r.small",
            0,
            "(1 values)",
        ),
        # Semi-joins, and keys under other joins and outer ones.
        ("SELECT * FROM rides WHERE day IN (SELECT day FROM days WHERE id < 20)", 1, "(20 values)"),
        (
            "SELECT count(*) FROM rides r LEFT JOIN days e ON e.id = r.id JOIN days d ON d.num = r.id WHERE d.id > 1190",
            1,
            "(9 values)",
        ),
    ],
)
def test_shapes(lab: Lab, sql: str, read: int, keys: str) -> None:
    for workers in (1, 2, 4):
        told = _narrowed(lab, sql, workers)
        assert {each.read for each in told} == {read}
        assert all(keys in each.keys for each in told)


def test_groups_of_few_keys(lab: Lab) -> None:
    lab.run("CREATE TABLE spread DISTRIBUTE BY HASH (id) AS SELECT id, price FROM rides")
    groups = "(SELECT id, sum(price) AS p FROM spread GROUP BY id)"
    sql = f"SELECT * FROM {groups} r JOIN days d ON r.id = d.num WHERE d.day < '2024-01-04'"
    for frames in (local_stages.FRAMES, _Joining()):
        assert {each.compared for each in _narrowed(lab, sql, 2, frames)} == {True}


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_moments_beyond_pythons_calendar_narrow_nothing(lab: Lab, kind: str) -> None:
    some = "CASE WHEN i = 7 THEN '20000-01-01' WHEN i = 8 THEN '4000-01-01 BC' END"
    lab.run(
        f"CREATE TABLE far AS SELECT i, coalesce({some}::{kind}, '2024-01-01'::{kind}) AS v FROM generate_series(1, 200) i"
    )
    for condition in ("i BETWEEN 6 AND 7", "i = 8"):
        sql = f"SELECT f.i, g.i FROM far f JOIN (SELECT * FROM far WHERE {condition}) g ON f.v = g.v"
        assert _narrowed(lab, sql, 2) == []
    lab.run("DROP TABLE far")


def test_many_values_by_the_least_and_the_greatest(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_filters, "MAX_VALUES", 5)
    for key in ("d.num = r.id", "d.at = r.at", "d.price = r.price"):
        told = _narrowed(lab, f"SELECT * FROM rides r JOIN days d ON {key} WHERE d.id BETWEEN 600 AND 700", 2)
        assert {(each.read, each.skipped, each.compared) for each in told} == {(1, 3, True)}
    # Most of the range: files are skipped, rows are not compared.
    told = _narrowed(lab, "SELECT * FROM rides r JOIN days d ON d.num = r.id WHERE d.id > 310 AND d.k = 1", 2)
    assert {(each.read, each.skipped, each.compared) for each in told} == {(3, 1, False)}
    assert _narrowed(lab, "SELECT * FROM rides r JOIN days d ON d.zone = r.zone WHERE d.k = 1 AND d.id < 100", 2) == []
    monkeypatch.setattr(worker_filters, "MAX_ROWS", 5)
    assert _narrowed(lab, "SELECT * FROM rides r JOIN days d ON d.num = r.id WHERE d.id < 10", 2) == []


@pytest.mark.parametrize(
    "sql",
    [
        # All rows of the other side are needed, or those without a partner.
        "SELECT * FROM rides r LEFT JOIN days d ON d.num = r.id AND d.id < 9",
        "SELECT * FROM rides r FULL JOIN (SELECT * FROM days WHERE id < 9) d ON d.num = r.id",
        "SELECT * FROM rides r WHERE NOT EXISTS (SELECT FROM days d WHERE d.num = r.id AND d.id < 9)",
        "SELECT id, (SELECT k FROM days d WHERE d.num = r.id AND d.id < 9) FROM rides r",
        # As many keys as there are values.
        "SELECT count(*) FROM rides r JOIN days d ON d.num = r.id",
    ],
)
def test_joins_that_narrow_nothing(lab: Lab, sql: str) -> None:
    assert _narrowed(lab, sql, 2) == []
