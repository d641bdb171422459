"""File pruning: files without a matching row are not read, and all others are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gpudb.catalog.tables import Table
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.cpu.loaded_tables import LoadedTables
from gpudb.engine.cpu.statement import statement_sql
from tests.support.lab import Lab, answer

# File n contains i = 10n … 10n + 9.
FILES = 5


@pytest.fixture(scope="module")
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    made = CpuEngine(spill=lab.database.store.spill)
    made.instance.loaded = LoadedTables(made.instance.connection, 0)
    lab.run(
        "CREATE TABLE parts (i int, b bigint, t text, v varchar(20), n numeric(10, 2), d date, ts timestamp,"
        " tz timestamptz, u uuid, f float8, c char(5), o int)"
    )
    for number in range(FILES):
        low = number * 10
        lab.run(
            f"""INSERT INTO parts SELECT i, i, 'k' || lpad(i::text, 3, '0'), 'k' || lpad(i::text, 3, '0'), i + 0.25,
            date '2024-01-01' + i, timestamp '2024-01-01 12:00' + i * interval '1 day',
            timestamptz '2024-01-01 12:00+00' + i * interval '1 day', ('00000000-0000-0000-0000-0000000000' || lpad(i::text, 2, '0'))::uuid,
            i + 0.5, 'c' || i, CASE WHEN i < 20 THEN NULL ELSE i END FROM generate_series({low}, {low + 9}) i"""
        )
    yield made
    made.close()


def _read(cpu: CpuEngine, lab: Lab, where: str, parameters: tuple[object, ...] = ()) -> set[int]:
    """Returns the numbers of the files that a query over `parts` reads."""
    table = lab.database.store.catalog().relation("public", "parts")
    assert isinstance(table, Table)
    order = {file.path: int(str(file.minimums[1])) // 10 for file in table.files}
    request = lab.request(f"SELECT count(*) FROM parts WHERE {where}", parameters)
    with cpu.instance.loaded.open_reader() as reading:
        text = statement_sql(cpu.instance, request, reading).text
    return {order[path] for path in re.findall(r"'([^']*\.parquet)'", text)}


PRUNED = {
    "i = 25": {2},
    "25 = i": {2},
    "i > 38": {3, 4},
    "i >= 39 AND i < 41": {3, 4},
    "i > 39": {4},
    "40 > i AND i >= 30": {3},
    "i BETWEEN 11 AND 12": {1},
    "i IN (3, 12)": {0, 1},
    "i IN (3, 47)": {0, 4},
    "i = 99": set(),
    "i = 5 AND i = 45": set(),
    "b <= 9": {0},
    "t = 'k027'": {2},
    "t < 'k010'": {0},
    "v >= 'k045'": {4},
    "v::varchar >= 'k045'": {4},
    "n::numeric > 40.00": {4},
    "n > 40.00": {4},
    "n = 12.25": {1},
    "d = date '2024-01-15'": {1},
    "d BETWEEN '2024-02-09' AND '2024-02-12'": {3, 4},
    "ts >= timestamp '2024-02-12 12:00'": {4},
    "tz < timestamptz '2024-01-05 00:00+00'": {0},
    "u = '00000000-0000-0000-0000-000000000033'": {3},
    "o IS NOT NULL": {2, 3, 4},
    "o = 25": {2},
    "i = 25 AND t LIKE '%5'": {2},
    "i < 20 AND abs(i) > 3": {0, 1},
}
WHOLE = (
    "i <> 25", "i = 25 OR t = 'k001'", "i + 0 = 25", "NOT i = 25", "i IS NULL", "o IS NULL OR i = 3", "true", "f = 2.5",
    "c = 'c3'", "i = 25.0::float8", "length(t) = 3", "i IN (SELECT 25)", "i = (SELECT 25)", "t ILIKE 'K001'", "t ~ '3$'", "v ~* 'K0'", "i IS NOT DISTINCT FROM 25",
)  # fmt: skip


@pytest.mark.parametrize("where", PRUNED)
def test_files_are_left_out(cpu: CpuEngine, lab: Lab, where: str) -> None:
    assert _read(cpu, lab, where) == PRUNED[where]


@pytest.mark.parametrize("where", WHOLE)
def test_conditions_that_prove_nothing_leave_out_no_file(cpu: CpuEngine, lab: Lab, where: str) -> None:
    assert _read(cpu, lab, where) == set(range(FILES))


def test_parameters_prune_too(cpu: CpuEngine, lab: Lab) -> None:
    assert _read(cpu, lab, "i = $1", (25,)) == {2}
    assert _read(cpu, lab, "i = $1", (None,)) == set(range(FILES))
    assert _read(cpu, lab, "t >= $1 AND i < $2", ("k030", 45)) == {3, 4}


@pytest.mark.parametrize("where", [*PRUNED, *WHOLE])
def test_the_answer_is_the_one_without_pruning(cpu: CpuEngine, lab: Lab, where: str) -> None:
    pruned = answer(cpu, lab.request(f"SELECT i FROM parts WHERE {where} ORDER BY i"))
    whole = answer(cpu, lab.request(f"SELECT i FROM (SELECT * FROM parts OFFSET 0) AS p WHERE {where} ORDER BY i"))
    assert pruned == whole


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), count(b.i) FROM parts a LEFT JOIN parts b ON a.i = b.i AND b.i = 25",
        "SELECT count(*) FROM parts a LEFT JOIN parts b ON a.i = b.i AND a.i = 25 WHERE b.i IS NULL",
        "SELECT count(*) FROM parts a FULL JOIN parts b ON a.i = b.i + 45 WHERE b.i = 3",
        "SELECT count(*) FROM parts a RIGHT JOIN parts b ON a.i = b.i AND a.t = 'k005' WHERE b.o = 25",
        "SELECT count(*) FROM parts a WHERE NOT EXISTS (SELECT 1 FROM parts b WHERE b.i = a.i + 40 AND b.i = 45)",
        "SELECT sum(CASE WHEN i = 25 THEN 1 ELSE 0 END) FROM parts",
        "SELECT count(*) FILTER (WHERE i = 25) FROM parts",
        "SELECT max(s) FROM (SELECT i, sum(i) OVER (ORDER BY i) AS s FROM parts) w WHERE i = 25",
    ],
)
def test_joins_and_subqueries_keep_the_rows_they_need(cpu: CpuEngine, lab: Lab, sql: str) -> None:
    """The result over one file equals that over five."""
    lab.run("CREATE TABLE IF NOT EXISTS whole AS SELECT * FROM parts ORDER BY i")
    assert answer(cpu, lab.request(sql)) == answer(cpu, lab.request(sql.replace("parts", "whole")))
