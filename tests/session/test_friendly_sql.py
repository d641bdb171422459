"""SQL of DuckDB and Snowflake beside PostgreSQL's: names keep their meaning, errors their places, and wherever a query
may be there may be one of these.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.errors import GpudbError
from gpudb.functions.composed import composed_functions
from gpudb.functions.library import functions_by_name
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.sql.parse.friendly import rewrite
from gpudb.sql.parse.friendly.phrases import Phrases
from gpudb.sql.parse.interrupts import interrupted_by
from gpudb.sql.parse.parser import deparse, parse
from tests.support.sessions import fails, run, state, value

SETUP = (
    "CREATE TABLE sold (id integer PRIMARY KEY, shop text NOT NULL, price numeric(5, 1) DEFAULT 1.5)",
    "INSERT INTO sold VALUES (1, 'north', 2.5), (2, 'south', 4.0), (3, 'south', NULL)",
)
WORDS = "summarize describe pivot unpivot exclude sample columns replace rename tables qualify include".split()


@pytest.fixture(scope="module")
def sold(database: Database) -> Iterator[Session]:
    """A session of a database with a table."""
    session = database.session("gpudb")
    for statement in SETUP:
        run(session, statement)
    run(session, f'CREATE TABLE words ({", ".join(f"{word} integer" for word in WORDS)}, "all" integer)')
    run(session, f"INSERT INTO words VALUES ({', '.join(map(str, range(len(WORDS) + 1)))})")
    yield session
    session.close()


@pytest.fixture(autouse=True)
def _reset(sold: Session) -> Iterator[None]:
    yield
    run(sold, "RESET gpudb.friendly_sql")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f'SELECT {", ".join(WORDS)}, "all" FROM words', [tuple(range(len(WORDS) + 1))]),
        ("SELECT id exclude FROM sold WHERE id = 1", [(1,)]),
        ("SELECT sold.* exclude FROM sold WHERE id = 1", [(1, "north", "2.5")]),
        ("SELECT id * replace('3', 'x', '')::int FROM sold WHERE id = 2", [(6,)]),
        ("SELECT summarize.describe FROM words summarize", [(1,)]),
        ("SELECT pivot.a FROM (SELECT 1) pivot (a)", [(1,)]),
        ("SELECT * FROM (SELECT 1) AS unpivot (a)", [(1,)]),
        ("SELECT count(*) FROM sold GROUP BY ALL shop, shop ORDER BY 1", [(1,), (2,)]),
        ('SELECT "all" FROM words GROUP BY words."all" ORDER BY "all"', [(len(WORDS),)]),
        ("SELECT 1 AS a EXCEPT (SELECT 2) ORDER BY a", [(1,)]),
        ("SELECT trim(FROM ' a ')", [("a",)]),
        ("SELECT extract(year FROM date '2026-01-01')", [("2026",)]),
        ("SELECT count(*) FROM (SELECT FROM sold) AS nothing", [(3,)]),
        ("SELECT year(dated) FROM (SELECT 5 AS year) AS dated", [(5,)]),
    ],
)
def test_what_postgresql_accepts_keeps_its_meaning(sold: Session, sql: str, rows: list[tuple[object, ...]]) -> None:
    found = run(sold, sql)
    assert [tuple(map(str, row)) for row in found] == [tuple(map(str, row)) for row in rows]
    run(sold, "SET gpudb.friendly_sql = off")
    if "year(" not in sql:
        assert run(sold, sql) == found
    run(sold, "RESET gpudb.friendly_sql")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM sold",
        "FROM sold SELECT id",
        "SELECT * EXCLUDE (id) FROM sold",
        "SELECT * EXCEPT (id) FROM sold",
        "SELECT * REPLACE (1 AS id) FROM sold",
        "SELECT shop FROM sold GROUP BY ALL",
        "SELECT shop FROM sold ORDER BY ALL",
        "SELECT COLUMNS('i') FROM sold",
        "DESCRIBE sold",
        "SUMMARIZE sold",
        "SHOW TABLES",
        "SHOW ALL TABLES",
        "PIVOT sold ON shop",
        "SELECT * FROM sold PIVOT (sum(id) FOR shop IN ('north'))",
        "UNPIVOT sold ON id",
        "SELECT * FROM sold USING SAMPLE 1",
    ],
)
def test_the_setting_turns_it_off(sold: Session, sql: str) -> None:
    run(sold, sql)
    run(sold, "SET gpudb.friendly_sql = off")
    assert state(sold, sql) in {"42601", "42883", "42704"}
    assert state(sold, f"DO $$ BEGIN EXECUTE $q${sql}$q$; END $$") in {"42601", "42883", "42704"}
    run(sold, "RESET gpudb.friendly_sql")
    run(sold, sql)


@pytest.mark.parametrize(
    ("sql", "sqlstate", "place"),
    [
        ("SELECT * EXCLUDE (id, nothing) FROM sold", "42703", "nothing"),
        ("SELECT * EXCLUDE (id, sold.nothing) FROM sold", "42703", "sold.nothing"),
        ("SELECT * EXCLUDE (other.id) FROM sold", "42P01", "other"),
        ("SELECT * REPLACE (nothing + 1 AS id) FROM sold", "42703", "nothing"),
        ("SELECT * REPLACE (1 AS id, 2 AS id) FROM sold", "42701", "id) FROM"),
        ("SELECT * RENAME (nothing AS id) FROM sold", "42703", "nothing"),
        ("SELECT 'ä', * EXCLUDE (nothing) FROM sold", "42703", "nothing"),
        ("SELECT * EXCLUDE (id) FROM nothing", "42P01", "nothing"),
        ("SELECT * EXCLUDE (id) FORM sold", "42601", "sold"),
        ("FROM nothing SELECT id", "42P01", "nothing"),
        ("FROM sold SELECT id, 'ä', nothing WHERE id = 1", "42703", "nothing"),
        ("FROM sold SELECT id WHERE nothing = 1 ORDER BY ALL", "42703", "nothing"),
        ("SELECT 1; FROM sold SELECT nothing", "42703", "nothing"),
        ("SELECT id + sum(price) FROM sold GROUP BY ALL", "42803", "id"),
        ("SELECT COLUMNS('[') FROM sold", "2201B", "COLUMNS"),
        ("SELECT COLUMNS('z') FROM sold", "42703", "COLUMNS"),
        ("SELECT id FROM sold WHERE COLUMNS('id') > 1", "0A000", "COLUMNS"),
        ("SELECT COLUMNS('id') + COLUMNS('price') FROM sold", "0A000", "COLUMNS('price')"),
        ("DESCRIBE nothing", "42P01", "nothing"),
        ("SUMMARIZE SELECT nothing FROM sold", "42703", "nothing"),
        ("PIVOT sold ON nothing", "42703", "nothing"),
        ("PIVOT sold ON shop USING price", "42803", "price"),
        ("PIVOT sold ON shop USING sum(nothing)", "42703", "nothing"),
        ("PIVOT sold ON shop IN (SELECT 'north')", "0A000", None),
        ("UNPIVOT sold ON id, shop", "42804", "shop"),
        ("UNPIVOT sold ON id + 1", "42601", "id"),
        ("FROM sold USING SAMPLE 101%", "2202H", None),
        ("FROM sold USING SAMPLE bernoulli(3 ROWS)", "2202H", None),
        ("SELECT time_bucket(now() - now(), now())", "0A000", None),
        ("SELECT strftime(now(), '%Q')", "0A000", None),
        ("SELECT date_diff('eon', now(), now())", "22023", None),
        ("SELECT iff(1, 2, 3)", "42804", "1"),
        ("DESCRIBE", "42601", "DESCRIBE"),
        ("SUMMARIZE 1", "42601", "SUMMARIZE"),
        ("SHOW TABLES FROM", "42601", "FROM"),
    ],
)
def test_errors_have_their_places(sold: Session, sql: str, sqlstate: str, place: str | None) -> None:
    error = fails(sold, sql)
    assert error.sqlstate == sqlstate
    if place is not None:
        assert error.position == sql.index(place) + 1


def test_lists_of_columns(sold: Session) -> None:
    assert [row[:5] for row in run(sold, "DESCRIBE sold")] == [
        ("id", "integer", "NO", "PRI", None),
        ("shop", "text", "NO", None, None),
        ("price", "numeric(5,1)", "YES", None, "1.5"),
    ]
    assert [row[2] for row in run(sold, "DESCRIBE SELECT id, shop FROM sold WHERE id = 1")] == ["YES", "YES"]
    assert ("sold",) in run(sold, "SHOW TABLES")
    assert ("sold",) in run(sold, "show tables from public")
    names = [row[:4] for row in run(sold, "SHOW ALL TABLES") if row[2] == "sold"]
    assert names == [("gpudb", "public", "sold", ["id", "shop", "price"])]


@pytest.mark.parametrize(
    ("view", "stored"),
    [
        (
            "SELECT * EXCLUDE (id) REPLACE (price + 1 AS price) RENAME (shop AS place) FROM sold ORDER BY ALL",
            "SELECT sold.shop AS place, price + 1 AS price FROM public.sold ORDER BY 1, 2",
        ),
        ("SELECT max(COLUMNS('^(id|price)$')) FROM sold", "SELECT max(sold.id) AS id, max(sold.price) AS price FROM"),
        ("SELECT shop, count(*) FROM sold GROUP BY ALL", "SELECT shop, count(*) FROM public.sold GROUP BY 1"),
        ("FROM sold", "SELECT sold.id, sold.shop, sold.price FROM public.sold"),
        ("PIVOT sold ON shop IN ('north') USING sum(id)", "sum(id) FILTER (WHERE shop = 'north') AS north"),
        ("UNPIVOT sold ON id, price", "CASE places.place WHEN 1 THEN 'id' WHEN 2 THEN 'price' END AS n"),
        ("DESCRIBE sold", "VALUES ('id'::text, 'integer'::text"),
        ("SUMMARIZE sold", "approx_count_distinct(c1)"),
    ],
)
def test_views_have_what_it_stood_for(sold: Session, view: str, stored: str) -> None:
    """A view keeps its columns when its table gets more, and its text is PostgreSQL's."""
    expected = run(sold, f"SELECT rows::text FROM ({view}) AS rows")
    run(sold, f"CREATE VIEW kept AS {view}")
    run(sold, f"CREATE MATERIALIZED VIEW filled AS {view}")
    run(sold, "ALTER TABLE sold ADD COLUMN more integer")
    text = value(sold, "SELECT pg_get_viewdef('kept'::regclass)")
    assert stored in text
    assert "gpudb" not in text
    run(sold, "SET gpudb.friendly_sql = off")
    assert run(sold, "SELECT kept::text FROM kept") == run(sold, "SELECT filled::text FROM filled") == expected
    run(sold, "RESET gpudb.friendly_sql; DROP VIEW kept; DROP MATERIALIZED VIEW filled")
    run(sold, "ALTER TABLE sold DROP COLUMN more")


@pytest.mark.parametrize(
    "query",
    [
        "FROM sold SELECT * EXCLUDE (price) WHERE id < 3 ORDER BY ALL",
        "SELECT shop, max(COLUMNS('^id$')) FROM sold GROUP BY ALL ORDER BY ALL",
        "PIVOT sold ON id IN (1, 2) USING max(price) GROUP BY shop ORDER BY ALL",
        "UNPIVOT (SELECT id, price FROM sold) ON id, price ORDER BY ALL",
        "SUMMARIZE SELECT id FROM sold",
        "DESCRIBE SELECT id, shop FROM sold",
    ],
)
def test_it_may_be_wherever_a_query_may_be(sold: Session, query: str) -> None:
    rows = run(sold, query)
    assert rows
    assert run(sold, f"SELECT * FROM ({query}) AS part") == rows
    assert run(sold, f"WITH part AS ({query}) FROM part") == rows
    assert value(sold, f"SELECT EXISTS ({query})") is True
    assert run(sold, f"EXPLAIN {query}")
    run(sold, f"PREPARE known AS {query}")
    assert run(sold, "EXECUTE known") == rows
    run(sold, "DEALLOCATE known")
    run(sold, f"CREATE TABLE made AS {query}")
    run(sold, f"INSERT INTO made {query}")
    assert value(sold, "SELECT count(*) FROM made") == 2 * len(rows)
    run(sold, "DROP TABLE made")
    run(sold, f"BEGIN; DECLARE rows CURSOR FOR {query}")
    assert run(sold, "FETCH ALL FROM rows") == rows
    run(sold, "COMMIT")
    loop = f"DECLARE n integer := 0; r record; BEGIN FOR r IN {query} LOOP n := n + 1; END LOOP; RETURN n; END"
    run(sold, f"CREATE FUNCTION counted() RETURNS integer LANGUAGE plpgsql AS $${loop}$$")
    assert value(sold, "SELECT counted()") == len(rows)
    run(sold, "DROP FUNCTION counted()")
    run(sold, f"CREATE FUNCTION totalled() RETURNS bigint LANGUAGE sql AS $$SELECT count(*) FROM ({query})$$")
    assert value(sold, "SELECT totalled()") == len(rows)
    run(sold, "DROP FUNCTION totalled()")


def test_values_that_pivot_finds(sold: Session) -> None:
    """They are those of the statement's snapshot; no view, function or statement with parameters can have them."""
    query = "PIVOT sold ON shop USING count(*) GROUP BY price"
    assert len(run(sold, query)[0]) == 3
    run(sold, "BEGIN; INSERT INTO sold VALUES (4, 'west', 1)")
    assert len(run(sold, query)[0]) == 4
    run(sold, "ROLLBACK")
    assert len(run(sold, query)[0]) == 3
    assert state(sold, f"CREATE VIEW found AS {query}") == "0A000"
    assert state(
        sold, f"CREATE FUNCTION found() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM ({query}) p'"
    ) == ("0A000")
    assert state(sold, "PREPARE found(int) AS PIVOT (FROM sold WHERE id > $1) ON shop USING count(*)") == "0A000"
    run(sold, "CREATE ROLE pivoting LOGIN; GRANT SELECT (shop) ON sold TO pivoting; SET ROLE pivoting")
    assert run(sold, "PIVOT (SELECT shop FROM sold) ON shop USING count(*)") == [(1, 2)]
    assert state(sold, query) == "42501"
    run(sold, "RESET ROLE")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("WITH z AS (FROM sold) FROM z ORDER BY abs(id) DESC LIMIT 1", [(3,)]),
        ("WITH RECURSIVE z (a) AS NOT MATERIALIZED (SELECT 3), y AS (SELECT 1) FROM z ORDER BY abs(a) DESC", [(3,)]),
        (
            "WITH RECURSIVE z (a) AS (SELECT 1 UNION SELECT a + 1 FROM z WHERE a < 2) SEARCH DEPTH FIRST BY a SET o"
            " FROM z SELECT a ORDER BY abs(a) DESC, (a) DESC",
            [(2,), (1,)],
        ),
        ("INSERT INTO public.describe FROM generate_series(1, 5) s(a) ORDER BY (a) DESC LIMIT 1 RETURNING *", [(5,)]),
        ("INSERT INTO describe AS d (a) OVERRIDING SYSTEM VALUE FROM sold SELECT id WHERE id = 1 RETURNING *", [(1,)]),
        ("WITH z AS (SELECT 7) INSERT INTO describe (a) FROM z RETURNING *", [(7,)]),
        ("INSERT INTO public.describe VALUES ((FROM sold SELECT max(id))) RETURNING *", [(3,)]),
        ("EXPLAIN (COSTS off) CREATE TABLE later AS FROM sold", None),
        ("FROM sold SELECT id UNION ALL FROM sold SELECT id ORDER BY ALL DESC LIMIT 1", [(3,)]),
    ],
)
def test_where_a_query_begins(sold: Session, sql: str, rows: list[tuple[object, ...]] | None) -> None:
    """DESC and DESCRIBE elsewhere are a direction and a name."""
    run(sold, "BEGIN; CREATE TABLE describe (a integer)")
    try:
        found = run(sold, sql)
    finally:
        run(sold, "ROLLBACK")
    assert [row[:1] for row in found] == rows if rows is not None else found


class _Counted(Phrases):
    """Phrases that count how often they are made, and how many words are asked for."""

    made = asked = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        _Counted.made += 1

    def word(self, number: int) -> str:
        _Counted.asked += 1
        return super().word(number)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT oops oops oops {desc a, }",
        "{FROM t UNION ALL }FROM t",
        "SELECT * EXCLUDE (a), {a, }b FROM t GROUP BY ALL",
        "SELECT {* EXCLUDE (a), }b FROM t",
        "SELECT oops oops oops {using sample 1 }",
        "SELECT oops oops oops {pivot (for) }",
        "SELECT oops oops oops {group by all }",
        "{DESCRIBE t; }DESCRIBE t",
        "CREATE TABLE oops oops {summarize t, }",
    ],
)
def test_work_is_in_proportion_to_a_text(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is searched in a few passes, however many constructs and words that could begin one it has."""
    monkeypatch.setattr("gpudb.sql.parse.friendly.Phrases", _Counted)
    before, rest = sql.split("{")
    repeated, behind = rest.split("}")
    asked = []
    for times in (100, 400):
        _Counted.made = _Counted.asked = 0
        rewrite(before + repeated * times + behind)
        assert _Counted.made < 20
        asked.append(_Counted.asked)
    assert asked[1] < 5 * asked[0]


def test_searching_a_text_can_be_interrupted() -> None:
    def check() -> None:
        raise GpudbError("cancelled")

    with interrupted_by(check), pytest.raises(GpudbError, match="cancelled"):
        rewrite("FROM t")


@pytest.mark.parametrize(
    "call",
    [
        'SELECT * FROM "gpudb pivot"(1)',
        'SELECT * FROM "gpudb pivot"((SELECT 1), 5)',
        'SELECT * FROM "gpudb unpivot"((SELECT 1))',
        'SELECT * FROM "gpudb describe"()',
        'SELECT * FROM sold, "gpudb sample"(1, 2)',
        'SELECT "gpudb star"(1) FROM sold',
        'SELECT "gpudb star"("gpudb replace"(1)) FROM sold',
        'SELECT "gpudb star"("gpudb exclude"(id)) OVER () FROM sold',
        'SELECT U&"gpudb\\0020columns"(1) FROM sold',
        "PIVOT sold ON shop USING GROUP BY id",
        "UNPIVOT sold ON id INTO NAME 5 VALUE x",
        "FROM sold USING SAMPLE 2 ROWS REPEATABLE (x)",
        "FROM sold USING SAMPLE 10% (bernoulli, x)",
    ],
)
def test_constructs_without_a_part(sold: Session, call: str) -> None:
    """Nor do the names of functions that stand for constructs give what no construct has."""
    assert state(sold, call) == "42601"


@pytest.mark.parametrize(
    "query",
    [
        "WITH gone AS (DELETE FROM sold RETURNING *) PIVOT gone ON shop",
        "WITH gone AS (DELETE FROM sold RETURNING *), few AS (FROM gone) FROM (PIVOT few ON shop), gone",
        "PIVOT (SELECT random()::text AS k) ON k",
        "PIVOT sold ON shop || random()",
        "PIVOT (FROM sold USING SAMPLE 2) ON shop",
    ],
)
def test_values_that_may_be_others_when_they_are_read_again(sold: Session, query: str) -> None:
    assert state(sold, query) == "0A000"
    assert value(sold, "SELECT count(*) FROM sold") == 3


def test_pivot_beside_what_is_volatile(sold: Session) -> None:
    assert run(sold, "PIVOT (SELECT shop, random() AS r FROM sold) ON shop USING count(r)") == [(1, 2)]
    assert run(sold, "PIVOT (SELECT random() > 2 AS k) ON k IN (true, false) USING count(*)") == [(0, 1)]


def test_columns_that_are_called_as_those_of_unpivot(sold: Session) -> None:
    """As in any select list, two columns may have one name, except in a table or a view."""
    query = "UNPIVOT (SELECT 1 AS name, 2 AS value, 3 AS a) ON a"
    assert run(sold, query) == [(1, 2, "a", 3)]
    assert state(sold, f"CREATE VIEW same AS {query}") == "42701"
    assert state(sold, "UNPIVOT (SELECT 1 AS a) ON places.place AS b") == "42P01"


def test_prepared_pivot_notices_other_values(sold: Session) -> None:
    run(sold, "PREPARE found AS PIVOT (SELECT shop FROM sold) ON shop USING count(*)")
    assert run(sold, "EXECUTE found") == [(1, 2)]
    run(sold, "BEGIN; INSERT INTO sold VALUES (4, 'west', 1)")
    assert state(sold, "EXECUTE found") == "0A000"
    run(sold, "ROLLBACK; DEALLOCATE found")


def test_samples(sold: Session) -> None:
    numbers = "generate_series(1, 1000) AS n"
    assert value(sold, f"SELECT count(DISTINCT n) FROM {numbers} USING SAMPLE 30") == 30
    assert 300 < value(sold, f"SELECT count(*) FROM {numbers} USING SAMPLE 50 PERCENT") < 700
    again = [run(sold, f"SELECT n FROM {numbers} USING SAMPLE 5 REPEATABLE (7) ORDER BY n") for _ in range(2)]
    assert again[0] == again[1]
    assert again[0] != run(sold, f"SELECT n FROM {numbers} USING SAMPLE 5 REPEATABLE (8) ORDER BY n")
    share = [run(sold, f"SELECT sum(n) FROM {numbers} USING SAMPLE 10% (bernoulli, 3)") for _ in range(2)]
    assert share[0] == share[1]
    assert value(sold, f"SELECT count(*) FROM {numbers} WHERE n > 1000 USING SAMPLE 30 ROWS") == 0
    assert value(sold, "SELECT max(a.n) > 0 FROM generate_series(1, 9) AS a(n), sold AS b USING SAMPLE 4 ROWS") is True


def test_own_functions_come_first(sold: Session) -> None:
    run(sold, "CREATE FUNCTION ifnull(integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 * 100'")
    run(sold, "CREATE FUNCTION columns(text) RETURNS text LANGUAGE sql AS 'SELECT upper($1)'")
    assert run(sold, "SELECT ifnull(2, 3), columns('a')") == [(200, "A")]
    run(sold, "DROP FUNCTION ifnull(integer, integer), columns(text)")
    assert value(sold, "SELECT ifnull(2, 3)") == 2


def test_found_values_of_a_pivot_have_their_own_order(session: Session) -> None:
    run(session, "CREATE TYPE size AS ENUM ('small', 'big')")
    orders = {
        "(10), (9), (-1), (100)": ["-1", "9", "10", "100"],
        "(1.5), (10.25), (9)": ["1.5", "9", "10.25"],
        "('b'), (''), ('B'), ('a')": ["''", "B", "a", "b"],
        "('big'::size), ('small')": ["small", "big"],
        "(date '2024-01-02'), ('1999-12-31')": ["1999-12-31", "2024-01-02"],
        "(interval '1 day'), ('10 hours')": ["10:00:00", "1 day"],
    }
    for rows, names in orders.items():
        (result,) = session.run(f"PIVOT (SELECT * FROM (VALUES {rows}) AS v(a)) ON a USING count(*)")
        assert [each.name for each in result.columns or ()] == names
        result.close()
    run(session, "DROP TYPE size")


def test_count_if_of_nothing_is_zero(session: Session) -> None:
    rows = "(VALUES (1, NULL::bool), (2, true), (2, NULL), (3, false)) AS v(g, x)"
    assert run(session, f"SELECT g, count_if(x) FROM {rows} GROUP BY g ORDER BY g") == [(1, 0), (2, 1), (3, 0)]
    assert value(session, f"SELECT count_if(x) FROM {rows} WHERE false") == 0


def test_own_function_that_is_called_columns_is_stored(sold: Session) -> None:
    run(sold, "BEGIN; CREATE FUNCTION columns(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT upper($1)'")
    run(sold, "CREATE VIEW own AS SELECT columns('a') AS x WHERE columns('b') = 'B'")
    shown = value(sold, "SELECT pg_get_viewdef('own'::regclass)")
    assert (shown.count(" columns("), shown.count(".columns(")) == (2, 0)
    run(sold, "SET LOCAL search_path = ''")
    assert value(sold, "SELECT pg_get_viewdef('public.own'::regclass)").count("public.columns(") == 2
    run(sold, "SET LOCAL search_path = public")
    run(sold, "CREATE TABLE columned (a text DEFAULT columns('c'), CHECK (columns('d') = 'D'))")
    assert run(sold, "FROM own") == [("A",)]
    assert run(sold, "INSERT INTO columned DEFAULT VALUES RETURNING a") == [("C",)]
    assert "gpudb" not in value(
        sold, "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'columned'::regclass"
    )
    run(sold, "ROLLBACK")


def test_no_name_for_an_expression_is_a_function_of_postgresql() -> None:
    taken = [
        (name, operands)
        for name, operands in composed_functions()
        if any(each.takes(operands) and not each.ordered_set for each in functions_by_name().get(name, ()))
    ]
    assert not taken


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * EXCLUDE a FROM t",
        "FROM t SELECT a; SHOW TABLES; DESCRIBE t",
        "SELECT * FROM (PIVOT t ON a IN (1) USING sum(b)) AS p WHERE EXISTS (FROM u)",
    ],
)
def test_deparsed_trees_are_read_again(sql: str) -> None:
    """A tree in which a construct stands as a call is stored as text and parsed again."""
    for statement in parse(sql):
        assert deparse(parse(deparse(statement.node))[0].node) == deparse(statement.node)


def test_texts_without_constructs_stay() -> None:
    for sql in ("SELECT a b c", "SELECT * EXCEPT (SELECT 1", "WITH a AS (SELECT 1) DELETE FROM b WHERE", "'"):
        assert rewrite(sql) is None
        with pytest.raises(GpudbError):
            parse(sql)
