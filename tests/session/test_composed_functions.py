"""Names for expressions: what is stored keeps its meaning, PostgreSQL's comes first, and operands are computed once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.sql.parse.parser import deparse, parse
from tests.support.sessions import run, state, value


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    """A session whose schemas are dropped when it ends."""
    session = database.session("gpudb")
    run(session, "CREATE SCHEMA named; SET search_path = named, public")
    yield session
    run(session, "RESET ROLE; RESET gpudb.friendly_sql; RESET search_path; DROP SCHEMA named CASCADE")
    session.close()


def test_policies_keep_their_meaning(session: Session) -> None:
    run(session, "CREATE TABLE secret (id integer, tags text); INSERT INTO secret VALUES (1, 'a'), (2, 'mallory')")
    run(session, "CREATE ROLE mallory; GRANT CREATE, USAGE ON SCHEMA named TO mallory")
    run(session, "GRANT SELECT ON secret TO mallory; ALTER TABLE secret ENABLE ROW LEVEL SECURITY")
    run(session, "CREATE POLICY own ON secret USING (contains(tags, current_user))")
    run(session, "SET ROLE mallory")
    assert run(session, "SELECT id FROM secret") == [(2,)]
    run(session, "CREATE FUNCTION contains(text, name) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
    run(session, "CREATE FUNCTION strpos(text, name) RETURNS integer LANGUAGE sql AS 'SELECT 1'")
    assert run(session, "SELECT id FROM secret") == [(2,)]
    assert value(session, "SELECT contains('a', 'b'::name)") is True
    run(session, "RESET ROLE; DROP OWNED BY mallory; DROP ROLE mallory")


def test_columns_of_tables_keep_their_meaning(session: Session) -> None:
    """Generated columns, defaults, checks, keys of indexes, domains, and conditions of triggers."""
    run(session, "CREATE DOMAIN word AS text DEFAULT if(true, 'up', 'no') CHECK (startswith(VALUE, 'u'))")
    run(
        session,
        "CREATE TABLE kept (d date, y integer GENERATED ALWAYS AS (year(d)) STORED, m integer DEFAULT nvl(NULL, 7),"
        " w word, t text, CHECK (contains(t, 'k') IN (true)))",
    )
    run(session, "ALTER TABLE kept ADD COLUMN q integer GENERATED ALWAYS AS (quarter(d)) STORED")
    run(session, "ALTER TABLE kept ALTER COLUMN m SET DEFAULT ifnull(NULL, 8)")
    run(session, "CREATE UNIQUE INDEX ON kept (dayofyear(d)) WHERE endswith(t, 'k')")
    body = "BEGIN new.t := upper(new.t) || 'k'; RETURN new; END"
    run(session, f"CREATE FUNCTION raised() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
    run(
        session,
        "CREATE TRIGGER rising BEFORE INSERT ON kept FOR EACH ROW WHEN (contains(new.t, 'x')) EXECUTE FUNCTION raised()",
    )
    for name, parameters, result in (
        ("year", "date", "1"), ("quarter", "date", "1"), ("dayofyear", "date", "1"), ("nvl", "integer, integer", "1"),
        ("ifnull", "integer, integer", "1"),
    ):  # fmt: skip
        run(
            session,
            f"CREATE FUNCTION {name}({parameters}) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT {result}'",
        )
    for name in ("contains", "endswith", "startswith"):
        run(session, f"CREATE FUNCTION {name}(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true'")
    run(session, "CREATE FUNCTION if(boolean, text, text) RETURNS text LANGUAGE sql AS 'SELECT ''uu'''")
    run(session, "INSERT INTO kept (d, t) VALUES ('2026-05-05', 'ok'), ('2026-05-06', 'xk')")
    assert run(session, "SELECT y, q, m, w, t FROM kept ORDER BY d") == [
        (2026, 2, 8, "up", "ok"),
        (2026, 2, 8, "up", "XKk"),
    ]
    assert state(session, "INSERT INTO kept (d, t) VALUES ('2026-05-07', 'no')") == "23514"
    assert state(session, "INSERT INTO kept (d, t) VALUES ('2026-05-05', 'k')") == "23505"
    assert state(session, "SELECT 'no'::word") == "23514"


def test_queries_keep_their_meaning_and_names(session: Session) -> None:
    """Views, functions in the standard's form and defaults of parameters; also with the setting off."""
    run(session, "CREATE TABLE dated (d date); INSERT INTO dated VALUES ('2026-05-05'), ('2025-01-31')")
    inner = "SELECT year(d), last_day(d)::text, count_if(day(d) > 9), (list_sort(list(d)))[1] FROM dated GROUP BY 1, d"
    run(session, f"CREATE VIEW seen AS SELECT year, last_day, count_if, list_sort FROM ({inner}) AS made")
    run(session, "CREATE MATERIALIZED VIEW filled AS SELECT month(d), max_by(d, d) OVER () FROM dated")
    run(session, "CREATE VIEW turned AS PIVOT dated ON year(d) IN (2025, 2026) USING sum(day(d)) GROUP BY month(d)")
    run(session, "CREATE VIEW each_of AS SELECT year(COLUMNS(*)) FROM dated")
    run(session, "CREATE FUNCTION half(d date) RETURNS integer BEGIN ATOMIC SELECT (month(d) + 5) / 6; END")
    run(session, "CREATE FUNCTION plus(n integer DEFAULT nvl(NULL, 3)) RETURNS integer LANGUAGE sql AS 'SELECT n'")
    questions = (
        "SELECT * FROM seen ORDER BY year", "SELECT * FROM turned ORDER BY month", "SELECT * FROM each_of ORDER BY 1",
        "SELECT half('2026-07-01'), plus()",
    )  # fmt: skip
    before = [run(session, each) for each in questions]
    assert [str(each) for each in before[0][0]] == ["2025", "2025-01-31", "1", "2025-01-31"]
    assert before[3] == [(2, 3)]
    for name in ("year", "month", "day", "last_day"):
        run(session, f"CREATE FUNCTION {name}(date) RETURNS integer LANGUAGE sql AS 'SELECT 0'")
    run(session, "CREATE FUNCTION nvl(integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT 0'")
    run(session, "SET gpudb.friendly_sql = off; REFRESH MATERIALIZED VIEW filled")
    assert [run(session, each) for each in questions] == before
    assert run(session, "SELECT month FROM filled ORDER BY 1") == [(1,), (5,)]


EXPRESSIONS = (
    "contains('abc', 'b') IN (true)",
    "contains('a', 'b') BETWEEN false AND false",
    "NOT contains('a', 'b') IS NULL",
    "(contains('a', 'b') OR true)::text",
    "contains('a', 'b') = ANY (ARRAY[false])",
    "contains('a', 'a') IN (SELECT true)",
    "list_contains(ARRAY[true], false OR true)",
    "list_contains(ARRAY[false], 1 IS NULL)",
    "list_contains(ARRAY[true], 1 IN (SELECT 1))",
    "list_contains(ARRAY[1], 1) AND NOT list_contains(ARRAY[1], 2)",
    "(list_sort(ARRAY[2, 1]))[1]",
    "(ifnull(NULL, ARRAY[2, 1]))[1:1]",
    "-list_sum(ARRAY[1, 2]) * list_extract(ARRAY[3], 1)",
    "regexp_full_match('ab', 'a' || 'b')",
    "list_has_all(ARRAY[1] || 2, ARRAY[2])",
    "strftime(date '2026-01-01' + 3, '%d') || 'gpudb_parentheses('",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_stored_expressions_have_their_parentheses(session: Session, expression: str) -> None:
    run(session, f"CREATE VIEW stored AS SELECT {expression} AS x")
    assert value(session, "SELECT x FROM stored") == value(session, f"SELECT {expression}")
    assert "(list" not in value(session, "SELECT pg_get_viewdef('stored'::regclass)")


@pytest.mark.parametrize(
    "expression",
    [
        "(CASE WHEN a THEN b END)[1]", "(ARRAY(SELECT 1))[1]", "(a OR b) IS NOT NULL", "(a IS NULL) IS NOT TRUE",
        "(a = b) IN (c)", "(a < b) BETWEEN c AND d", "(NOT a)::text", "(a AND b) = c", "(a = b) IN (SELECT c)",
        "(a IN (SELECT b)) = c", "a + b * c", "(a + b) * c",
    ],
)  # fmt: skip
def test_deparsed_expressions_are_read_as_they_were(expression: str) -> None:
    """PostgreSQL's fingerprint of a tree has no places."""
    text = f"SELECT {expression}"
    again = deparse(parse(text)[0].node)
    assert _strip(parse(again)[0].node) == _strip(parse(text)[0].node)


def _strip(message: object) -> str:
    lines = str(message).splitlines()
    return "\n".join(each for each in lines if "location:" not in each)


def test_fields_come_first(session: Session) -> None:
    run(session, "CREATE TYPE pair AS (day integer, list integer); CREATE TABLE pairs (c pair)")
    run(session, "INSERT INTO pairs VALUES (ROW(7, 8))")
    assert run(session, "SELECT day(c), day(x.c), day((c)), list(x.c) FROM pairs AS x") == [(7, 7, 7, 8)]
    assert value(session, "SELECT day(date '2026-01-09')") == 9
    run(session, "CREATE VIEW fields AS SELECT day(c) FROM pairs")
    assert value(session, "SELECT day FROM fields") == 7


def test_the_setting_turns_the_names_off(session: Session) -> None:
    run(session, "CREATE FUNCTION found() RETURNS integer LANGUAGE sql AS 'SELECT month(date ''2026-05-05'')'")
    run(session, "SET gpudb.friendly_sql = off")
    for text in ("month(now())", "list_sort(ARRAY[1])", "count_if(true)", "len('a')", "time_bucket('1 day', now())"):
        assert state(session, f"SELECT {text}") == "42883"
    assert value(session, "SELECT found()") == 5
    run(session, "RESET gpudb.friendly_sql")
    assert value(session, "SELECT month(date '2026-05-05')") == 5


def test_volatile_operands_are_computed_once(session: Session) -> None:
    run(session, "CREATE SEQUENCE counted")
    assert value(session, "SELECT list_contains(ARRAY[nextval('counted')], 1)") is True
    assert value(session, "SELECT endswith('a2', nextval('counted')::text)") is True
    assert value(session, "SELECT nvl(nextval('counted'), 0)") == 3
    equal = "SELECT list_contains(ARRAY[nextval('counted')], n) FROM generate_series(4, 6) AS n"
    assert run(session, equal) == [(True,)] * 3
    assert value(session, "SELECT nextval('counted')") == 7
    assert state(session, "SELECT list_sort(ARRAY[nextval('counted')])") == "0A000"
    stored = "list_contains(ARRAY[nextval('counted')], 1)"
    assert state(session, f"CREATE TABLE never (a boolean DEFAULT {stored})") == "0A000"
    assert state(session, f"CREATE VIEW never AS SELECT {stored}") == "0A000"
    assert value(session, "SELECT nextval('counted')") == 8


def test_aggregates_and_windows_are_operands(session: Session) -> None:
    numbers = "FROM generate_series(1, 3) AS n"
    assert value(session, f"SELECT list_sort(list(-n))::text {numbers}") == "{-3,-2,-1}"
    assert value(session, f"SELECT list_max(list(n)) {numbers}") == 3
    assert value(session, f"SELECT list_contains(list(n), 2) {numbers}") is True
    assert run(session, f"SELECT list_contains(list(n) OVER (), 3) {numbers}") == [(True,)] * 3
    nested = "list_sort(" * 12 + "ARRAY[2, 1]" + ")" * 12
    assert value(session, f"SELECT {nested}::text") == "{1,2}"


def test_pivot_of_values_of_other_schemas(session: Session) -> None:
    """Types and schemas whose names need quotes, one of which would be SQL without them."""
    run(session, """CREATE SCHEMA "S x"; CREATE TYPE "S x"."E" AS ENUM ('b', 'a''s')""")
    run(session, 'CREATE DOMAIN "S x"."D" AS integer; CREATE SCHEMA "text AS x, (SELECT 1)"')
    run(session, """CREATE TYPE "text AS x, (SELECT 1)".e AS ENUM ('one')""")
    run(session, 'CREATE TABLE odd (e "S x"."E", d "S x"."D", a "S x"."E"[], h "text AS x, (SELECT 1)".e, v integer)')
    run(session, """INSERT INTO odd VALUES ('b', 1, '{b}', 'one', 1), ('a''s', 2, '{b,a''s}', 'one', 2)""")
    for column, row in (("e", (1, 2)), ("d", (1, 2)), ("a", (1, 2)), ("h", (3,))):
        assert run(session, f"PIVOT (SELECT {column}, v FROM odd) ON {column} USING sum(v)")[0] in (row, row[::-1])
    assert run(session, "SELECT column_type FROM (DESCRIBE odd)")[:3] == [
        ('"S x"."E"',),
        ('"S x"."D"',),
        ('"S x"."E"[]',),
    ]
    run(session, 'DROP TABLE odd; DROP SCHEMA "S x" CASCADE; DROP SCHEMA "text AS x, (SELECT 1)" CASCADE')
