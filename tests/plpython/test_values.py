"""Arguments and results of functions in PL/Python, as PostgreSQL's documentation of their conversion has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpudb.session.session import Session
from tests.support.sessions import fails, run, value

Define = Callable[[str, str], None]


def define(session: Session, head: str, body: str) -> None:
    run(session, f"CREATE OR REPLACE FUNCTION {head} LANGUAGE plpython3u AS $$\n{body}\n$$")


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("true", "True"),
        ("1::int2", "1"),
        ("-7::int8", "-7"),
        ("1.5::float4", "1.5"),
        ("0.1::float8", "0.1"),
        ("1.50", "Decimal('1.50')"),
        ("'a''b'::text", '"a\'b"'),
        (r"'\x00ff'::bytea", r"b'\x00\xff'"),
        ("DATE '2024-02-29'", "'2024-02-29'"),
        ("TIMESTAMP '2024-02-29 12:00:00'", "'2024-02-29 12:00:00'"),
        ("INTERVAL '1 day 2 hours'", "'1 day 02:00:00'"),
        ("""'{"a": [1]}'::jsonb""", """'{"a": [1]}'"""),
        ("ARRAY[1, NULL, 3]", "[1, None, 3]"),
        ("ARRAY['a', 'b']", "['a', 'b']"),
        ("ARRAY[DATE '2024-01-01']", "['2024-01-01']"),
    ],
)
def test_arguments(python: Session, argument: str, shown: str) -> None:
    define(python, "shown(x anyelement) RETURNS text", "return repr(x)")
    assert value(python, f"SELECT shown({argument})") == shown
    # a call over rows takes the column's way
    assert run(
        python, f"SELECT shown(CASE WHEN n > 1 THEN {argument} END) FROM generate_series(1, 2) n ORDER BY n"
    ) == [
        ("None",),
        (shown,),
    ]


@pytest.mark.parametrize(
    ("result", "body", "expected"),
    [
        ("int", "return 7", "7"),
        ("int", "return None", None),
        ("int", "pass", None),
        ("int", "return '12'", "12"),
        ("bool", "return []", "false"),
        ("bool", "return 'f'", "true"),
        ("text", "return 1.5", "1.5"),
        ("text", "return {'a': 1}", "{'a': 1}"),
        ("numeric", "from decimal import Decimal\nreturn Decimal('1.20')", "1.20"),
        ("float8", "return 1/3", "0.3333333333333333"),
        ("bytea", r"return b'\x01\xff'", r"\x01ff"),
        ("date", "import datetime\nreturn datetime.date(2024, 2, 29)", "2024-02-29"),
        ("timestamp", "import datetime\nreturn datetime.datetime(2024, 2, 29, 1, 2)", "2024-02-29 01:02:00"),
        ("interval", "return '90 minutes'", "01:30:00"),
        ("jsonb", "import json\nreturn json.dumps({'b': 1, 'a': 2})", '{"a": 2, "b": 1}'),
        ("int[]", "return [1, None, 3]", "{1,NULL,3}"),
        ("text[]", "return ('a', 'b,c')", '{a,"b,c"}'),
        ("int[]", "return []", "{}"),
    ],
)
def test_results(python: Session, result: str, body: str, expected: str | None) -> None:
    define(python, f"made() RETURNS {result}", body)
    assert value(python, "SELECT made()::text") == expected
    run(python, "DROP FUNCTION made()")


@pytest.mark.parametrize(
    ("result", "body", "sqlstate", "message"),
    [
        ("int", "return 'x'", "22P02", 'invalid input syntax for type integer: "x"'),
        ("int2", "return 40000", "22003", 'value "40000" is out of range for type smallint'),
        ("int[]", "return 5", "42804", "return value of function with array return type is not a Python sequence"),
        ("SETOF int", "return 5", "42804", "returned object cannot be iterated"),
        ("void", "return 5", "42804", 'PL/Python function with return type "void" did not return None'),
        ("TABLE (a int, b int)", "return [(1,)]", "42804",
         "length of returned sequence did not match number of columns in row"),
        ("TABLE (a int, b int)", "return [{'a': 1}]", "42703", 'key "b" not found in mapping'),
        ("TABLE (a int, b int)", "return [object()]", "42703", 'attribute "a" does not exist in Python object'),
    ],
)  # fmt: skip
def test_wrong_results(python: Session, result: str, body: str, sqlstate: str, message: str) -> None:
    define(python, f"wrong() RETURNS {result}", body)
    error = fails(python, "SELECT * FROM wrong()")
    assert (error.sqlstate, error.message) == (sqlstate, message)
    assert error.where == 'while creating return value\nPL/Python function "wrong"'
    run(python, "DROP FUNCTION wrong()")


ROWS = """
if how == 'tuple': return ('a', 1)
if how == 'list': return ['a', 1]
if how == 'dict': return {'name': 'a', 'value': 1, 'other': 2}
if how == 'text': return '(a,1)'
if how == 'object':
  class Made: name, value = 'a', 1
  return Made
"""


@pytest.mark.parametrize("how", ["tuple", "list", "dict", "text", "object", "none"])
def test_rows(python: Session, how: str) -> None:
    define(python, "row_of(how text, OUT name text, OUT value int)", ROWS)
    expected = (None, None) if how == "none" else ("a", 1)
    assert run(python, f"SELECT * FROM row_of('{how}')") == [expected]


def test_composite_arguments_are_mappings(python: Session) -> None:
    run(python, "CREATE TABLE staff (name text, salary int, tags text[])")
    run(python, "INSERT INTO staff VALUES ('ann', 10, '{x,y}'), ('bob', NULL, NULL)")
    define(python, "paid(e staff) RETURNS text", "return '%s %s %s' % (e['name'], e['salary'], e['tags'])")
    assert run(python, "SELECT paid(s) FROM staff s ORDER BY name") == [("ann 10 ['x', 'y']",), ("bob None None",)]


@pytest.mark.parametrize(
    "body",
    ["for who in ['a', 'b']:\n  yield (how, who)", "return [(how, 'a'), {'how': how, 'who': 'b'}]",
     "return iter([(how, 'a'), (how, 'b')])"],
)  # fmt: skip
def test_sets(python: Session, body: str) -> None:
    define(python, "greet(INOUT how text, OUT who text) RETURNS SETOF record", body)
    assert run(python, "SELECT * FROM greet('hi')") == [("hi", "a"), ("hi", "b")]
    assert run(python, "SELECT n, who FROM generate_series(1, 2) n, greet(n::text) ORDER BY 1, 2") == [
        (1, "a"), (1, "b"), (2, "a"), (2, "b")
    ]  # fmt: skip


def test_args_sd_and_gd(python: Session, database: object) -> None:
    define(python, "counted(a int, int) RETURNS text", "SD['n'] = SD.get('n', 0) + 1\nGD['g'] = args\n"
           "return '%d %s' % (SD['n'], args)")  # fmt: skip
    define(python, "shared() RETURNS text", "return str(GD['g']) + str(len(SD))")
    assert value(python, "SELECT counted(1, 2)") == "1 [1, 2]"
    assert value(python, "SELECT counted(3, NULL)") == "2 [3, None]"
    assert value(python, "SELECT shared()") == "[3, None]0"


def test_strict_functions_are_not_called_with_null(python: Session) -> None:
    run(python, "CREATE FUNCTION doubled(a int) RETURNS int STRICT LANGUAGE plpython3u AS $$ return a * 2 $$")
    found = run(python, "SELECT doubled(v) FROM (VALUES (1, 2), (2, NULL), (3, 4)) t (n, v) ORDER BY n")
    assert found == [(4,), (None,), (8,)]
    assert run(python, "SELECT doubled(v) FROM (VALUES (1)) t (v) WHERE v > 5") == []


def test_functions_anywhere_in_a_query(python: Session) -> None:
    define(python, "squared(a int) RETURNS int", "return a * a")
    assert value(python, "SELECT sum(squared(n)) FROM generate_series(1, 1000) n") == 333833500
    assert run(python, "SELECT n FROM generate_series(1, 9) n WHERE squared(n) BETWEEN 10 AND 30 ORDER BY 1") == [
        (4,), (5,)
    ]  # fmt: skip
    grouped = "SELECT squared(n) % 4, count(*) FROM generate_series(1, 10) n GROUP BY 1 ORDER BY 1"
    assert run(python, grouped) == [(0, 5), (1, 5)]
    assert run(python, "SELECT squared(squared(n)) FROM generate_series(2, 3) n ORDER BY squared(n)") == [(16,), (81,)]


@pytest.mark.parametrize("form", ["arrow", "numpy", "polars"])
@pytest.mark.parametrize("count", [0, 1, 70_000])
def test_vectorised(python: Session, form: str, count: int) -> None:
    module = {"arrow": "pyarrow.compute", "numpy": "numpy", "polars": "polars"}[form]
    power = {"arrow": "m.sqrt(m.add(m.multiply(a, a), m.multiply(b, b)))", "numpy": "m.sqrt(a * a + b * b)",
             "polars": "(a * a + b * b).sqrt()"}[form]  # fmt: skip
    define(
        python,
        "hypot_of(a float8, b float8) RETURNS float8",
        f"# vectorized {form}\nimport {module} as m\nreturn {power}",
    )
    rows = f"SELECT hypot_of(n, n + 1.5) FROM generate_series(1, {count}) n"
    numbers = np.arange(1, count + 1, dtype=float)
    assert np.allclose([each for (each,) in run(python, rows)], np.hypot(numbers, numbers + 1.5))
    assert value(python, "SELECT hypot_of(3, 4)") == 5


def test_a_setting_asks_for_columns(python: Session) -> None:
    body = "return [type(a).__module__.partition('.')[0]] * len(a) if hasattr(a, '__len__') else 'none'"
    for asked, wanted in (("on", "pyarrow"), ("numpy", "numpy"), ("off", "none")):
        head = f"asked(a int) RETURNS text LANGUAGE plpython3u SET gpudb.vectorized TO {asked} AS $$"
        marked = body if asked == "off" else f"import pyarrow\nreturn pyarrow.array({body.removeprefix('return ')})"
        run(python, f"CREATE OR REPLACE FUNCTION {head}{marked}$$")
        assert run(python, "SELECT asked(n) FROM generate_series(1, 2) n") == [(wanted,), (wanted,)]
    assert fails(python, "CREATE FUNCTION w(a int) RETURNS int LANGUAGE plpython3u SET gpudb.vectorized TO x AS ''"
                 ).sqlstate == "22023"  # fmt: skip


def test_the_setting_decides_the_form(python: Session) -> None:
    define(python, "form_of(a int) RETURNS text", "# vectorized\nimport pyarrow\n"
           "return pyarrow.array([type(a).__module__.split('.')[0]] * len(a))")  # fmt: skip
    assert value(python, "SELECT form_of(1)") == "pyarrow"
    run(python, "SET gpudb.vectors = numpy")
    assert value(python, "SELECT form_of(1)") == "numpy"
    run(python, "RESET gpudb.vectors")
    assert fails(python, "SET gpudb.vectors = lists").sqlstate == "22023"


@pytest.mark.parametrize(
    ("body", "sqlstate"),
    [("return a[:1]", "22023"), ("return 5", "42804"), ("return a.cast('string')", "42804")],
)
def test_wrong_vectors(python: Session, body: str, sqlstate: str) -> None:
    define(python, "badly(a int) RETURNS bool", f"# vectorized arrow\n{body}")
    assert fails(python, "SELECT badly(n) FROM generate_series(1, 3) n").sqlstate == sqlstate
    run(python, "DROP FUNCTION badly(int)")


def test_vectors_with_nulls(python: Session) -> None:
    define(python, "more(a int) RETURNS int", "# vectorized arrow\nimport pyarrow.compute as pc\nreturn pc.add(a, 1)")
    assert run(python, "SELECT more(v) FROM (VALUES (1), (NULL)) t (v)") == [(2,), (None,)]


@pytest.mark.parametrize("item", ["float8", "float4", "bigint", "int2", "bool"])
def test_numpy_keeps_nulls(python: Session, item: str) -> None:
    """A masked array, whatever else is in the slice."""
    values = "true, NULL, false" if item == "bool" else "1, NULL, 3"
    body = "# vectorized numpy\nreturn v"
    run(python, f"CREATE OR REPLACE FUNCTION same(v {item}) RETURNS {item} LANGUAGE plpython3u AS $$ {body} $$")
    rows = ", ".join(f"({each.strip()}::{item})" for each in values.split(","))
    found = run(python, f"SELECT same(v), same(v) IS NULL FROM (VALUES {rows}) t (v)")
    assert found == [(1, False), (None, True), (0 if item == "bool" else 3, False)]
    if item == "bigint":
        large = 2**53 + 1
        assert run(python, f"SELECT same(v) FROM (VALUES ({large}), (NULL)) t (v)") == [(large,), (None,)]
    run(python, f"DROP FUNCTION same({item})")
