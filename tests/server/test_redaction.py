"""Passwords in logged statements, in every spelling that PostgreSQL's grammar has."""

from __future__ import annotations

import pytest

from gpudb.observe.redaction import UNPARSED, redact_passwords

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
    ],
)
def test_no_spelling_is_logged(text: str) -> None:
    for failed in (False, True):
        assert SECRET not in redact_passwords(text, failed=failed).replace("$hunter2$hunter2", "hunter2")
    assert redact_passwords(text) != UNPARSED


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
        ("SELECT 1 -- password hunter2\n + 1", "SELECT 1 /*…*/\n + 1"),
    ],
)
def test_all_else_is_logged_as_it_is(text: str, logged: str) -> None:
    assert redact_passwords(text) == logged
    assert redact_passwords(text, failed=True) == logged


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
    assert redact_passwords(text, failed=True) == UNPARSED
