"""Parts of scripts: types and their values, functions and their calls, queries of the catalog."""

from __future__ import annotations

LITERALS: dict[str, tuple[str, ...]] = {
    "integer": ("1", "2", "7", "-3", "0", "NULL", "'5'", "2147483647"),
    "bigint": ("1", "-9", "4294967296", "NULL", "9223372036854775807"),
    "smallint": ("1", "-2", "NULL", "32767", "40000"),
    "numeric(8,2)": ("1.50", "-2.005", "10", "NULL", "999999.994", "1234567.89"),
    "numeric": ("1.5", "0.000001", "100", "NULL", "-2.50"),
    "text": ("'a'", "''", "'é x'", "NULL", "'it''s'", "'10'"),
    "varchar(5)": ("'a'", "'abcde'", "'abcdef'", "NULL", "'abcde   '"),
    "char(3)": ("'a'", "'abc'", "'ab  '", "NULL", "'abcd'"),
    "boolean": ("true", "false", "NULL", "'yes'"),
    "date": ("'2024-02-29'", "'infinity'", "NULL", "DATE '2000-01-01'", "'2024-13-01'"),
    "timestamp": ("'2024-02-29 12:34:56.789'", "NULL", "'epoch'", "'-infinity'"),
    "timestamptz": ("'2024-02-29 12:34:56+02'", "NULL", "'2024-10-27 02:30:00'"),
    "time": ("'12:34:56.7'", "'24:00'", "NULL", "'25:00'"),
    "interval": ("'1 day'", "'-1 month 3 hours'", "NULL", "'P1Y2M'"),
    "double precision": ("1.5", "'NaN'", "'-Infinity'", "NULL", "1e-300"),
    "real": ("1.5", "0.1", "NULL", "'Infinity'"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "NULL", "'nothing'"),
    "jsonb": ("""'{"a": [1, 2.50], "b": null}'""", "'[]'", "NULL", "'1'", "'{'"),
    "bytea": ("'\\xdeadbeef'", "'abc'", "NULL", "''"),
    "integer[]": ("'{1,2}'", "ARRAY[3, NULL]", "'{}'", "NULL"),
    "text[]": ("'{a,\"b c\"}'", "ARRAY['x', NULL]", "NULL"),
    "int4range": ("'[1,5)'", "'empty'", "int4range(2, 4, '[]')", "NULL"),
    "mood": ("'sad'", "'ok'", "'happy'", "NULL", "'angry'"),
    "positive": ("1", "5", "NULL", "0"),
    "pair": ("ROW(1, 'x')", "'(2,y)'", "NULL", "ROW(NULL, NULL)", "'(2)'"),
    "mood[]": ("'{sad,ok}'", "ARRAY['happy']::mood[]", "NULL"),
}  # fmt: skip
OWN_TYPES = {
    "mood": "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "positive": "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    "pair": "CREATE TYPE pair AS (a integer, b text)",
}
BUILT_IN = tuple(name for name in LITERALS if name.removesuffix("[]") not in OWN_TYPES)

KINDS = {"integer": "int4", "text": "text", "numeric(8,2)": "numeric", "numeric": "numeric", "date": "date", "boolean": "bool"}  # fmt: skip
"""The declared types by their names in `Maker`, which generates expressions of them."""

FUNCTIONS = (
    ("(a integer, b integer DEFAULT 2) RETURNS integer IMMUTABLE", "SELECT a * 10 + b", ("(1)", "(1, 5)", "(b => 3, a => 4)", "(NULL)", "('x')")),
    ("(a text) RETURNS text STRICT", "SELECT upper(a) || '!'", ("('q')", "(NULL)", "(1)")),
    ("(n integer) RETURNS SETOF integer", "SELECT generate_series(1, n)", ("(3)", "(0)", "(NULL)")),
    ("(n integer) RETURNS TABLE (k integer, v text)", "SELECT g, repeat('x', g) FROM generate_series(1, n) AS g", ("(2)", "(-1)")),
    ("(anyelement, anyelement) RETURNS anyelement", "SELECT coalesce($1, $2)", ("(NULL, 3)", "('a'::text, 'b')", "(1, 'b'::text)")),
    ("(VARIADIC a integer[]) RETURNS bigint", "SELECT sum(x) FROM unnest(a) AS x", ("(1, 2, 3)", "(VARIADIC ARRAY[4, 5])", "()")),
    ("(OUT a integer, OUT b text)", "SELECT 1, 'x'::text", ("()", "(1)")),
    ("(a numeric) RETURNS numeric", "SELECT CASE WHEN a > 0 THEN a / 3 ELSE -a END", ("(1)", "(-2.50)", "(0)")),
    ("(a date) RETURNS boolean STABLE", "SELECT extract(isodow FROM a) > 5", ("('2024-03-02')", "(DATE '2024-03-04')")),
)  # fmt: skip

SEQUENCES = ("", " START 5", " INCREMENT 3", " INCREMENT -1", " MINVALUE 1 MAXVALUE 3 CYCLE", " MAXVALUE 2", " AS smallint", " START 2 INCREMENT 2 CACHE 1", " OWNED BY NONE", " MINVALUE 5 START 1")  # fmt: skip

COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attlen, adbin IS NOT NULL"
    " FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
    " WHERE attrelid = '{}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)  # fmt: skip
CONSTRAINTS = "SELECT conname, contype, pg_get_constraintdef(c.oid) FROM pg_constraint AS c JOIN pg_class AS r ON r.oid = c.conrelid WHERE r.relname = '{}' AND relnamespace = 'own'::regnamespace ORDER BY 1"
