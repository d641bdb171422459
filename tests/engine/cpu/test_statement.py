"""DuckDB SQL that queries keep: it is rendered again if a table, a parameter or a session value may have changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from gpudb.engine.cpu import statement
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Request, Settings
from tests.support.lab import Lab


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    engine = CpuEngine(spill=lab.database.store.spill)
    lab.run("DROP TABLE IF EXISTS kept; CREATE TABLE kept (a int); INSERT INTO kept VALUES (1), (2)")
    yield engine
    engine.close()


class Rendered(Exception):
    """The renderer was called."""


def _is_kept(cpu: CpuEngine, request: Request, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Returns whether a second run uses the first run's SQL; both runs have the same SQL."""

    def refuse(*_: object, **__: object) -> None:
        raise Rendered

    with cpu.instance.loaded.open_reader() as reading:
        first = statement.statement_sql(cpu.instance, request, reading).text
        with monkeypatch.context() as patched:
            patched.setattr(statement, "QueryRenderer", refuse)
            try:
                assert statement.statement_sql(cpu.instance, request, reading).text == first
            except Rendered:
                return False
    return True


@pytest.mark.parametrize(
    "sql, kept",
    [
        ("SELECT count(*) FROM kept WHERE a > 1", True),
        ("SELECT k.a, l.a FROM kept k JOIN kept l USING (a) WHERE EXISTS (SELECT FROM kept WHERE a > k.a)", True),
        ("SELECT random(), a FROM kept", True),
        ("SELECT now(), a FROM kept", False),
        ("SELECT a FROM kept WHERE current_user = 'x'", False),
        (f"SELECT a FROM (VALUES {', '.join(f'({n})' for n in range(3000))}) v(a)", True),
    ],
)
def test_which_text_is_kept(cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch, sql: str, kept: bool) -> None:
    values = {"now": None, "current_user": "gpudb"}
    request = lab.request(sql, settings=Settings(values=values))
    assert _is_kept(cpu, request, monkeypatch) is kept


@pytest.mark.parametrize(
    "sql, parameters, kept",
    [
        ("SELECT count(*) FROM kept WHERE a > $1::int", (1,), True),
        ("SELECT a, $1::int, $2::text FROM kept WHERE a <> $1::int OR a::text = $2::text", (None, "it's"), True),
        ("SELECT a + $1::int + 5 FROM kept", (2**31 - 3,), False),
        ("SELECT a FROM kept WHERE a::text LIKE $1::text", ("1%",), False),
        ("SELECT $1::timestamp, $2::bytea, $3::float8 FROM kept", (datetime(2024, 1, 2), b"x", -0.5), True),
        ("SELECT a FROM kept WHERE $1::text = $2::text", ("x" * 1000, "y"), False),
        ("SELECT a * $1::numeric FROM kept", (Decimal("1.50"),), False),
        ("SELECT a FROM kept LIMIT $1::bigint", (1,), False),
        ("SELECT current_setting($1::text), a FROM kept", ("x",), False),
    ],
)
def test_with_which_parameters_text_is_kept(
    cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch, sql: str, parameters: tuple[object, ...], kept: bool
) -> None:
    """Text is kept without the parameters, unless more of it than a literal depends on their values."""
    settings = Settings(values={"current_setting": lambda *_: "y"})
    request = replace(lab.request(sql, parameters), settings=settings)
    assert _is_kept(cpu, request, monkeypatch) is kept


@pytest.mark.parametrize("values", [(5, "a"), (-5, "it's \\ %"), (None, None), (2**31 - 1, ""), (0, "x" * 1000)])
def test_kept_text_with_other_values_is_the_text_of_these_values(
    cpu: CpuEngine, lab: Lab, values: tuple[object, ...]
) -> None:
    sql = "SELECT a, $2::text, $1::int FROM kept WHERE a <> $1::int AND $2::text IS NOT NULL AND $2::text > a::text"
    first = lab.request(sql, (1, "one"))
    with cpu.instance.loaded.open_reader() as reading:
        statement.statement_sql(cpu.instance, first, reading)
        kept = statement.statement_sql(cpu.instance, replace(first, parameters=values), reading)
        assert kept == statement.statement_sql(cpu.instance, lab.request(sql, values), reading)


def test_a_parameter_in_a_sum_of_integers_is_no_constant_that_duckdb_folds(lab: Lab) -> None:
    lab.run("DROP TABLE IF EXISTS low; CREATE TABLE low (a int); INSERT INTO low VALUES (-10)")
    request = lab.request("SELECT a + $1::int + 5 FROM low", (2**31 - 3,))
    assert [batch.column(0).to_pylist() for batch in lab.database.cpu.run(request)] == [[2**31 - 8]]


def test_a_changed_table_is_read_anew(cpu: CpuEngine, lab: Lab) -> None:
    request = lab.request("SELECT count(*) FROM kept")
    assert [batch.column(0).to_pylist() for batch in cpu.run(request)] == [[2]]
    lab.run("INSERT INTO kept VALUES (3)")
    later = replace(request, snapshot=lab.request("SELECT FROM kept").snapshot)
    assert [batch.column(0).to_pylist() for batch in cpu.run(later)] == [[3]]
    assert [batch.column(0).to_pylist() for batch in cpu.run(request)] == [[2]]
    lab.run("DELETE FROM kept")
    empty = replace(request, snapshot=lab.request("SELECT FROM kept").snapshot)
    assert [batch.column(0).to_pylist() for batch in cpu.run(empty)] == [[0]]


@pytest.mark.parametrize(
    "sql, macro, most",
    [
        ("SELECT a = ANY ('{int,int8}'::regtype[]) FROM kept", "pg_to_regtype", 1),
        ("SELECT a::oid = ANY ('{int,int8}'::regtype[]::oid[]) FROM kept", "pg_to_regtype", 1),
        ("SELECT pg_get_serial_sequence(a::text, 'a')::regclass || '' FROM kept", "sys_serial_sequence", 1),
        ("SELECT (a::text || '')::regclass::text::regclass::text || '' FROM kept", "pg_to_regclass", 2),
    ],
)
def test_lookups_in_the_catalog_are_mentioned_once(cpu: CpuEngine, lab: Lab, sql: str, macro: str, most: int) -> None:
    """Each mention is planned for itself, and a lookup inside a lookup as often as both together."""
    with cpu.instance.loaded.open_reader() as reading:
        text = statement.statement_sql(cpu.instance, lab.request(sql), reading).text
    assert text.count(f"{macro}(") <= most


@pytest.mark.parametrize("mark", ["07ab", "7", "a+b"])
def test_the_mark_of_a_slot_may_be_any_text(
    cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.setattr(statement, "_MARK", mark)
    with cpu.instance.loaded.open_reader() as reading:
        text = statement.statement_sql(cpu.instance, lab.request("SELECT $1::int + 1", (5,)), reading).text
    assert "\0" not in text
    assert "5" in text
