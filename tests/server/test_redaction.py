"""Passwords and keys in logged statements, in every spelling that PostgreSQL's grammar has."""

from __future__ import annotations

import pytest

from gpudb.observe.redaction import UNPARSED, redact_credentials

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ROLE x PASSWORD 'hunter2'",
        "CREATE USER x WITH ENCRYPTED PASSWORD 'hunter2' VALID UNTIL '2030-01-01'",
        "alter role x password'hunter2'",
        "ALTER USER x PASSWORD E'h\\u0075nter2 hunter2'",
        "ALTER USER x PASSWORD e'it\\'s hunter2'",
        "ALTER USER x PASSWORD U&'hunter2\\0041'",
        "ALTER USER x PASSWORD U&'hunter2!0041' UESCAPE '!'",
        "ALTER USER x PASSWORD $$hunter2$$",
        "ALTER USER x PASSWORD $hunter2$hunter2 ' $$ hunter2$hunter2$ LOGIN",
        "ALTER USER x PASSWORD /* hunter2 */ 'hunter2'",
        "ALTER USER x PASSWORD -- hunter2 '\n 'hunter2'",
        "ALTER USER x PASSWORD 'it''s hunter2'",
        "ALTER USER x PASSWORD 'hun'\n'ter2 hunter2'",
        "ALTER\nUSER\tx\nWITH PaSsWoRd\n'hunter2'",
        "SELECT 'é'; ALTER ROLE \"é\" PASSWORD 'hunter2'; SELECT 'ü'",
        "ALTER ROLE password PASSWORD 'hunter2'",
        "CREATE ROLE x ROLE y PASSWORD 'hunter2' CONNECTION LIMIT 3",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ALTER ROLE x PASSWORD 'hunter2'; SELECT 1$$",
        r"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS E'ALTER ROLE x P\x41SSWORD ''hunter2''; SELECT 1'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS U&'ALTER ROLE x P!0041SSWORD ''hunter2''' UESCAPE '!'",
        "DO $$ALTER ROLE x PASSWORD 'hunter2'$$",
        "CREATE USER MAPPING FOR x SERVER s OPTIONS (user 'x', password 'hunter2')",
        "CREATE SUBSCRIPTION s CONNECTION 'host=h password=hunter2' PUBLICATION p",
        "EXECUTE DIRECT ON (dn1) 'SELECT ''password hunter2'''",
        "SELECT set_config('my.password', 'hunter2', false)",
        "UPDATE users SET password_hash = 'hunter2'",
        "INSERT INTO users (name, password) VALUES ('ann', 'hunter2')",
        "PREPARE p AS SELECT 'password', 'hunter2'",
        "CREATE SERVER s FOREIGN DATA WRAPPER lake_fdw OPTIONS (endpoint 'x', secret_access_key 'hunter2')",
        "ALTER SERVER s OPTIONS (ADD account_key 'hunter2')",
        "CREATE FOREIGN TABLE f (a int) SERVER s OPTIONS (address 's3://b/k', access_token 'hunter2')",
        "COPY t FROM 's3://b/k.csv' WITH (FORMAT csv, SESSION_TOKEN 'hunter2')",
        "COPY t FROM 's3://KEY:hunter2@b/k.csv'",
        "COPY t FROM PROGRAM 'psql postgresql://ann:hunter2@host/db -c x'",
        "SELECT * FROM 'https://b.s3.amazonaws.com/k.parquet?X-Amz-Expires=9&X-Amz-Signature=hunter2'",
        "SELECT * FROM 'az://c/k.parquet?sv=1&sig=hunter2&se=2' -- 'postgresql://ann:hunter2@host'",
        "SELECT load_data('t', 's3://KEY:hun/hunter2+x@b/k.csv')",
        "SELECT 'postgresql://ann:it''shunter2@host'",
        r"SELECT E'postgresql:\x2f\x2fann:hunter2@host', 1",
        "SELECT U&'postgresql:!002f!002fann:hunter2@host' UESCAPE '!'",
    ],
)
def test_no_spelling_is_logged(text: str) -> None:
    for failed in (False, True):
        assert SECRET not in redact_credentials(text, failed=failed).replace("$hunter2$hunter2", "hunter2")
    assert redact_credentials(text) != UNPARSED


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        (
            "ALTER ROLE x PASSWORD 'a' VALID UNTIL '2030-01-01' LOGIN",
            "ALTER ROLE x PASSWORD '…' VALID UNTIL '2030-01-01' LOGIN",
        ),
        ("SELECT 'kept'; ALTER ROLE x PASSWORD 'a'", "SELECT 'kept'; ALTER ROLE x PASSWORD '…'"),
        ("SELECT password FROM users LIMIT 5", "SELECT password FROM users LIMIT 5"),
        ("SELECT password FROM users WHERE name = 'ann'", "SELECT password FROM users WHERE name = '…'"),
        ("SELECT E'a\\nb'", "SELECT E'a\\nb'"),
        ("ALTER ROLE x PASSWORD NULL", "ALTER ROLE x PASSWORD NULL"),
        ("SELECT 1 -- one", "SELECT 1 -- one"),
        ("COPY t FROM 'postgresql://ann:a@h/db'", "COPY t FROM 'postgresql://ann:…@h/db'"),
        ("SELECT 'http://h:80/x@v1', key FROM t", "SELECT 'http://h:80/x@v1', key FROM t"),
        ("SELECT * FROM 's3://b/k?sig=a&n=1'", "SELECT * FROM 's3://b/k?sig=…&n=1'"),
        ("CREATE TABLE t (token text PRIMARY KEY DEFAULT 'x')", "CREATE TABLE t (token text PRIMARY KEY DEFAULT 'x')"),
        ("SELECT 1 -- password hunter2\n + 1", "SELECT 1 /*…*/\n + 1"),
    ],
)
def test_all_else_is_logged_as_it_is(text: str, logged: str) -> None:
    assert redact_credentials(text) == logged
    assert redact_credentials(text, failed=True) == logged


@pytest.mark.parametrize(
    "text",
    [
        "ALTER ROLE x PASWORD 'hunter2'",
        "ALTRE ROLE x PASSWORD 'hunter2'",
        "ALTER ROLE x PASSWORD 'hunter2",
        "ALTER ROLE x UNENCRYPTED PASSWORD 'hunter2'",
        "ALTER ROLE x PASSWORD hunter2",
        "SELECT 1; ALTER ROLE x PASSWORD 'hunter2' and more",
        "hunter2\0",
        "(" * 20_000 + "hunter2",
    ],
)
def test_what_cannot_be_parsed_is_not_logged(text: str) -> None:
    assert redact_credentials(text, failed=True) == UNPARSED
