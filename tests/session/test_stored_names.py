"""What the catalog stores means what it meant when it was written; texts of earlier versions mean PostgreSQL's functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudb.catalog.relations import View
from gpudb.catalog.tables import Table
from gpudb.session.session import Session
from tests.support.sessions import fails, run, value

_ATTACK = "CREATE OR REPLACE FUNCTION strpos(text, name) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 100'"


def _store(session: Session, name: str, query: str) -> None:
    """Gives a view the text that an earlier version stored."""
    transaction = session.transactions.begin()
    view = transaction.catalog.find(name, ("public",))
    assert isinstance(view, View)
    transaction.set_catalog(transaction.catalog.put(replace(view, query=query)))
    session.transactions.end(commit=True)


def test_texts_of_earlier_versions(session: Session) -> None:
    run(session, "CREATE TABLE t (a text, b name, n int); INSERT INTO t VALUES ('xab', 'a', 1)")
    run(session, _ATTACK)
    run(session, "CREATE FUNCTION strpos(text, int) RETURNS int LANGUAGE sql AS 'SELECT 7'")
    run(session, "CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2'")
    run(session, "CREATE VIEW v AS SELECT 0 AS own, 0 AS other, 0 AS mine, 0 AS qualified")
    _store(
        session, "v", "SELECT strpos(a, b) AS own, strpos(a, n) AS other, twice(n), public.strpos(a, b) FROM public.t"
    )
    assert run(session, "SELECT * FROM v") == [(2, 7, 2, 100)]
    assert fails(session, "ALTER FUNCTION strpos(text, name) RENAME TO found").sqlstate == "0A000"
    assert fails(session, "DROP FUNCTION strpos(text, int)").sqlstate == "2BP01"
    run(session, "ALTER FUNCTION twice(int) RENAME TO doubled")
    assert run(session, "SELECT * FROM v") == [(2, 7, 2, 100)]


def test_a_call_in_a_body(session: Session) -> None:
    run(session, "CREATE TABLE log (what text)")
    run(session, "CREATE PROCEDURE note(bigint) LANGUAGE sql AS $$ INSERT INTO log VALUES ('noted') $$")
    run(session, "CREATE PROCEDURE act(a text, b name) LANGUAGE sql BEGIN ATOMIC CALL note(strpos(a, b)); END")
    run(session, f"{_ATTACK}; CREATE PROCEDURE note(int) LANGUAGE sql AS $$ INSERT INTO log VALUES ('stolen') $$")
    run(session, "CALL act('a', 'a')")
    assert run(session, "SELECT what FROM log") == [("noted",)]


@pytest.mark.parametrize(
    "definition",
    [
        "VIEW w AS SELECT (ROW(1, 'a')::rows).named.n",
        "VIEW w AS SELECT told(COLUMNS(*)) FROM (VALUES (1, 'a'::text)) AS v(x, y)",
    ],
)
def test_what_a_text_cannot_say_is_refused(session: Session, definition: str) -> None:
    run(session, "CREATE TABLE IF NOT EXISTS rows (n int, a text)")
    run(session, "CREATE OR REPLACE FUNCTION named(rows) RETURNS rows LANGUAGE sql AS 'SELECT $1'")
    run(session, "CREATE OR REPLACE FUNCTION told(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    run(session, "CREATE OR REPLACE FUNCTION told(text) RETURNS int LANGUAGE sql AS 'SELECT 2'")
    assert fails(session, f"CREATE {definition}").sqlstate == "0A000"


def test_functions_over_queries(session: Session) -> None:
    run(session, "CREATE VIEW centers AS SELECT * FROM gpu_kmeans_centers('VALUES (1.0::float8), (3.0)', 1)")
    before = run(session, "SELECT * FROM centers")
    run(session, "CREATE FUNCTION gpu_kmeans_centers(text, int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1'")
    assert run(session, "SELECT * FROM centers") == before
    run(session, "DROP FUNCTION gpu_kmeans_centers(text, int)")


def test_an_oid_is_no_name_in_a_statement(session: Session) -> None:
    run(session, "CREATE SCHEMA s; CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    oid = value(session, "SELECT 's.f'::regproc::oid")
    assert fails(session, f'SELECT "{oid}".other.f()').sqlstate == "3F000"


_SHOWN = (
    "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'public.shown'::regclass",
    "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'public.shown'::regclass",
    "SELECT pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'public.shown'::regclass",
    "SELECT qual FROM pg_policies WHERE tablename = 'shown'",
    "SELECT pg_get_viewdef('public.shower'::regclass)",
)


def test_names_are_shown_by_the_search_path(session: Session) -> None:
    """As in PostgreSQL: a dump, which sets an empty path, names schemas."""
    run(session, "CREATE TYPE hue AS ENUM ('red'); CREATE FUNCTION dye(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    run(session, "CREATE TABLE shown (h hue DEFAULT 'red'::hue, n int, CHECK (dye(n) = 1))")
    run(session, "CREATE POLICY p ON shown USING (dye(n) = 1)")
    run(session, "CREATE VIEW shower AS SELECT dye(1) AS d")
    assert [value(session, each) for each in _SHOWN] == [
        "'red'::hue", "CHECK ((dye(n) = 1))", "CHECK (dye(n) = 1)", "(dye(n) = 1)", " SELECT dye(1) AS d;",
    ]  # fmt: skip
    run(session, "SET search_path = ''")
    assert [value(session, each) for each in _SHOWN] == [
        "'red'::public.hue", "CHECK ((public.dye(n) = 1))", "CHECK (public.dye(n) = 1)", "(public.dye(n) = 1)",
        " SELECT public.dye(1) AS d;",
    ]  # fmt: skip
    run(session, "RESET search_path")


_OBJECTS = """
CREATE TABLE named (id int); CREATE SEQUENCE counted; CREATE TYPE pair AS (a int);
CREATE FUNCTION counts() RETURNS bigint RETURN nextval('counted');
CREATE VIEW objects AS SELECT 'named'::regclass, 'pair'::regtype, 'counts'::regproc, 'counts()'::regprocedure,
    'public'::regnamespace;
CREATE VIEW counting AS SELECT nextval('counted') AS n;
CREATE TABLE holder (o oid DEFAULT 'named'::regclass, CHECK (o <> 'counted'::regclass));
CREATE INDEX held ON holder ((o = 'named'::regclass));
CREATE POLICY p ON holder USING (o = 'named'::regclass OR o = 'counted'::regclass);
"""


def test_objects_are_named_by_oid(session: Session) -> None:
    """Whatever has their names later, and whatever they are named later."""
    run(session, _OBJECTS)
    run(session, "ALTER SEQUENCE counted RENAME TO drawn; CREATE SEQUENCE counted START 100")
    run(session, 'ALTER TABLE named RENAME TO "it\'s"; CREATE TABLE named (a int)')
    run(session, "ALTER FUNCTION counts() RENAME TO draws; ALTER TYPE pair RENAME TO two")
    assert run(session, "SELECT * FROM objects") == [('"it\'s"', "two", "draws", "draws()", "public")]
    assert run(session, "SELECT counts.n, draws() FROM counting AS counts") == [(1, 2)]
    shown = """SELECT pg_get_viewdef('objects'::regclass) UNION ALL SELECT pg_get_viewdef('counting'::regclass)
        UNION ALL SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'holder'::regclass
        UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'holder'::regclass
        UNION ALL SELECT pg_get_indexdef('held'::regclass)
        UNION ALL SELECT qual FROM pg_policies WHERE tablename = 'holder'
        UNION ALL SELECT substring(pg_get_functiondef('draws'::regproc) FROM 'nextval.*[)]')"""
    assert [text for (text,) in run(session, shown)] == [
        " SELECT '\"it''s\"'::regclass, 'two'::regtype, 'draws'::regproc, 'draws()'::regprocedure,"
        " 'public'::regnamespace;",
        " SELECT nextval('drawn'::regclass) AS n;",
        "'\"it''s\"'::regclass",
        "CHECK ((o <> 'drawn'::regclass))",
        "CREATE INDEX held ON public.holder USING btree (((o = '\"it''s\"'::regclass)))",
        "((o = '\"it''s\"'::regclass) OR (o = 'drawn'::regclass))",
        "nextval('drawn'::regclass)",
    ]
    run(session, "SET search_path = ''")
    assert value(session, "SELECT qual FROM pg_policies WHERE tablename = 'holder'") == (
        "((o = 'public.\"it''s\"'::regclass) OR (o = 'public.drawn'::regclass))"
    )
    run(session, "RESET search_path")


def test_roles_and_arrays_of_objects(session: Session) -> None:
    """As in PostgreSQL, where a role is in no stored expression; arrays it stores, gpudb does not."""
    assert fails(session, "CREATE VIEW r AS SELECT 'postgres'::regrole").sqlstate == "0A000"
    assert fails(session, "CREATE VIEW r AS SELECT '{pg_class}'::regclass[]").sqlstate == "0A000"
    assert fails(session, "CREATE VIEW r AS SELECT nextval('missing')").sqlstate == "42P01"


def test_texts_of_system_tables(session: Session) -> None:
    """What their columns say, and literals like the names around them."""
    run(session, "CREATE FUNCTION tint(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'")
    run(session, "CREATE TABLE plain (n int DEFAULT tint(1), CHECK (tint(n) = 1))")
    run(session, "CREATE POLICY plainly ON plain USING (tint(n) = 1)")
    run(
        session,
        "CREATE VIEW texts AS SELECT tint(1), E'a\\x02b' AS x, 'gpudb_default_schema.t' AS y, 'public.t(1)' AS z",
    )
    assert value(session, "SELECT adbin FROM pg_attrdef WHERE adrelid = 'plain'::regclass") == "public.tint(1)"
    assert value(session, "SELECT conbin FROM pg_constraint WHERE conrelid = 'plain'::regclass") == "public.tint(n) = 1"
    assert value(session, "SELECT polqual FROM pg_policy WHERE polname = 'plainly'") == "(public.tint(n) = 1)"
    literals = "'a\x02b' AS x, 'gpudb_default_schema.t' AS y, 'public.t(1)' AS z;"
    action = value(session, "SELECT ev_action FROM pg_rewrite WHERE ev_class = 'texts'::regclass")
    assert action == f" SELECT public.tint(1) AS tint, {literals}"
    assert value(session, "SELECT pg_get_viewdef('texts'::regclass)") == f" SELECT tint(1) AS tint, {literals}"
    run(session, "DROP VIEW texts; DROP TABLE plain")


def test_functions_of_postgresqls_names(session: Session) -> None:
    """Texts of earlier versions that call them by their names alone depend on them; those that call PostgreSQL's do not."""
    run(session, "CREATE TABLE lows (n int, a text, CHECK (lower(a) <> 'b'), low int DEFAULT length(lower('A')))")
    run(session, "CREATE FUNCTION lower(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 7'")
    run(session, "CREATE FUNCTION lower(int, int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 8'")
    run(session, "CREATE VIEW lowest AS SELECT lower('A') AS mine")
    run(session, "ALTER FUNCTION lower(int) RENAME TO under; ALTER FUNCTION under(int) RENAME TO lower")
    run(session, "DROP FUNCTION lower(int, int)")
    _store(session, "lowest", "SELECT lower(n)::text AS mine FROM public.lows")
    assert fails(session, "ALTER FUNCTION lower(int) RENAME TO under").sqlstate == "0A000"
    assert fails(session, "DROP FUNCTION lower(int)").sqlstate == "2BP01"
    run(session, "DROP VIEW lowest")
    transaction = session.transactions.begin()
    table = transaction.catalog.find("lows", ("public",))
    assert isinstance(table, Table)
    (check,) = table.checks
    old = replace(table, constraints=(replace(check, expression="lower(n) = 7"),))
    transaction.set_catalog(transaction.catalog.put(old))
    session.transactions.end(commit=True)
    assert fails(session, "ALTER FUNCTION lower(int) RENAME TO under").sqlstate == "0A000"
    assert fails(session, "DROP FUNCTION lower(int)").sqlstate == "2BP01"
    run(session, "DROP FUNCTION lower(int) CASCADE; INSERT INTO lows VALUES (1, 'b'); DROP TABLE lows")
