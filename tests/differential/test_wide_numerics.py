"""Numerics without room in 128 bits by way of drivers: parameters, COPY, and columns that become wide on the way."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from tests.support.oracle.server import Oracle

_VALUES = [Decimal(each) for each in ("NaN", "Infinity", "-Infinity", "1e60", "1.50", "1e-45", "9" * 60 + ".123")]
_ROWS = 3000


@pytest.fixture(scope="module")
def connections(
    oracle: Oracle, gpudb_server: str
) -> Iterator[tuple[psycopg.Connection[tuple[object, ...]], psycopg.Connection[tuple[object, ...]]]]:
    """PostgreSQL and gpudb, each with a schema of its own."""
    with psycopg.connect(oracle.dsn, autocommit=True) as one, psycopg.connect(gpudb_server, autocommit=True) as other:
        for each in (one, other):
            each.execute("CREATE SCHEMA wide_numerics")
            each.execute("SET search_path TO wide_numerics")
        yield one, other
        for each in (one, other):
            each.execute("DROP SCHEMA wide_numerics CASCADE")


Pair = tuple[psycopg.Connection[tuple[object, ...]], psycopg.Connection[tuple[object, ...]]]


def _same(connections: Pair, sql: str, values: tuple[object, ...] = (), *, binary: bool = False) -> list[object]:
    found = [[tuple(map(str, row)) for row in each.cursor(binary=binary).execute(sql, values)] for each in connections]
    assert found[0] == found[1]
    return list(found[1])


@pytest.mark.parametrize("value", _VALUES, ids=str)
@pytest.mark.parametrize("form", ["%b", "%t"])
def test_parameters_of_any_size(connections: Pair, value: Decimal, form: str) -> None:
    sql = f"SELECT {form}::numeric, {form}::numeric + 1, {form}::numeric > 5, pg_typeof({form}::numeric)::text"
    for binary in (False, True):
        _same(connections, sql, (value,) * 4, binary=binary)


def test_rows_of_parameters_widen_a_column(connections: Pair) -> None:
    rows = [(number, Decimal(number)) for number in range(5)] + [(5, Decimal("NaN")), (6, Decimal("1e50"))]
    for each in connections:
        each.execute("CREATE TABLE many (id int, n numeric(60, 2), m numeric(8, 2))")
        with each.cursor() as cursor:
            cursor.executemany("INSERT INTO many (id, n) VALUES (%s, %s)", rows)
            cursor.executemany("UPDATE many SET m = %s WHERE id = %s", [(Decimal(1), 1), (Decimal("NaN"), 2)])
    assert len(_same(connections, "SELECT * FROM many ORDER BY id")) == len(rows)


def test_copy_widens_columns_on_the_way(connections: Pair) -> None:
    head = "".join(f"{number}\t{number}.5\t{number % 100}.25\n" for number in range(_ROWS))
    middle = "100001\tNaN\t1.5\n100002\t1e60\tNaN\n100003\t-Infinity\t\\N\n"
    tail = "".join(f"{200_000 + number}\t{number}.5\t{number % 100}.25\n" for number in range(_ROWS))
    written = []
    for each in connections:
        generated = "g numeric GENERATED ALWAYS AS (n * 2) STORED"
        each.execute(f"CREATE TABLE copied (id int, n numeric, p numeric(10, 2), {generated})")
        with each.cursor().copy("COPY copied (id, n, p) FROM STDIN") as copy:
            for part in (head, middle, tail):
                copy.write(part)
        kept = "SELECT n, p, g FROM copied WHERE id BETWEEN 100000 AND 100010 ORDER BY id"
        parts = {}
        for form in ("text", "csv", "binary"):
            with each.cursor().copy(f"COPY ({kept}) TO STDOUT (FORMAT {form})") as copy:
                parts[form] = b"".join(map(bytes, copy))
        each.execute("CREATE TABLE again (n numeric, p numeric(10, 2), g numeric)")
        with each.cursor().copy("COPY again FROM STDIN (FORMAT binary)") as copy:
            copy.write(parts["binary"])
        written.append(parts)
    assert written[0] == written[1]
    finite = "n < 'Infinity' AND n > '-Infinity'"
    _same(connections, f"SELECT count(*), sum(n) FILTER (WHERE {finite}), max(n), min(n), max(p), max(g) FROM copied")
    _same(connections, "SELECT * FROM again ORDER BY n")
    _same(connections, "SELECT id, n FROM copied WHERE n IN ('NaN', 1e60, '-Infinity', 3.5) ORDER BY id", binary=True)


def test_a_column_is_narrow_again_after_rollback(connections: Pair) -> None:
    for each in connections:
        each.execute("CREATE TABLE back (n numeric)")
        each.execute("INSERT INTO back VALUES (1.5)")
        with pytest.raises(psycopg.errors.DivisionByZero), each.transaction():
            each.execute("INSERT INTO back VALUES ('NaN')")
            assert str(each.execute("SELECT sum(n) FROM back").fetchone()) == "(Decimal('NaN'),)"
            each.execute("SELECT 1 / 0")
    _same(connections, "SELECT n, n + 1 FROM back")
    with psycopg.connect(connections[1].info.dsn) as other:
        other.execute("INSERT INTO wide_numerics.back VALUES (2)")
    connections[0].execute("INSERT INTO back VALUES (2)")
    _same(connections, "SELECT * FROM back ORDER BY n")


def test_errors_of_a_value_leave_the_column_as_it_was(connections: Pair) -> None:
    for each in connections:
        each.execute("CREATE TABLE checked (n numeric CHECK (n < 'NaN'), m numeric(5, 1))")
        for values, error in (
            ("('NaN', 1)", psycopg.errors.CheckViolation),
            ("(1, 'Infinity')", psycopg.errors.NumericValueOutOfRange),
            ("(1, 1e5)", psycopg.errors.NumericValueOutOfRange),
        ):
            with pytest.raises(error):
                each.execute(f"INSERT INTO checked VALUES {values}")
        each.execute("INSERT INTO checked VALUES (1e70, 'NaN'), (2, 2.25)")
    _same(connections, "SELECT * FROM checked ORDER BY n")
