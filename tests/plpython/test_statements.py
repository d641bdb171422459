"""What bodies in PL/Python do with the database: statements, cursors, subtransactions, messages, errors, triggers."""

from __future__ import annotations

import threading

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, value


def define(session: Session, head: str, body: str) -> None:
    run(session, f"CREATE OR REPLACE FUNCTION {head} LANGUAGE plpython3u AS $$\n{body}\n$$")


@pytest.fixture(autouse=True)
def notes(python: Session) -> None:
    run(python, "DROP TABLE IF EXISTS notes; CREATE TABLE notes (i int, s text)")


def did(session: Session, body: str) -> str:
    define(session, "did() RETURNS text", body)
    found: str = value(session, "SELECT did()")
    return found


def test_results_of_statements(python: Session) -> None:
    found = did(python, """
a = plpy.execute("INSERT INTO notes VALUES (1, 'one'), (2, 'two')")
b = plpy.execute("SELECT * FROM notes ORDER BY i", 1)
c = plpy.execute("UPDATE notes SET s = 'x' WHERE i = 2")
b[0]['s'] = 'changed'
return repr((a.nrows(), a.status(), len(a), b.nrows(), b.status(), b.colnames(), b.coltypes(), list(b), c.nrows()))
""")  # fmt: skip
    assert found == "(2, 7, 0, 1, 5, ['i', 's'], [23, 25], [{'i': 1, 's': 'changed'}], 1)"
    assert did(
        python, "try: plpy.execute('SET work_mem = 1000').colnames()\nexcept plpy.Error as e: return str(e)"
    ) == ("command did not produce a result set")


def test_prepared_statements(python: Session) -> None:
    found = did(python, """
if 'plan' not in SD:
  SD['plan'] = plpy.prepare("INSERT INTO notes VALUES ($1, $2) RETURNING i, s", ["int", "text"])
first = SD['plan'].execute([1, 'a'])
second = plpy.execute(SD['plan'], [None, None])
try: SD['plan'].execute([1])
except TypeError as e: wrong = str(e)
return repr((first[0], second[0], wrong))
""")  # fmt: skip
    assert found == repr(({"i": 1, "s": "a"}, {"i": None, "s": None}, "Expected sequence of 2 arguments, got 1: [1]"))
    assert fails_in(python, "plpy.prepare('SELECT $1', ['nosuchtype'])") == "42704"


def fails_in(session: Session, body: str) -> str:
    return fails(session, f"DO LANGUAGE plpython3u $$\n{body}\n$$").sqlstate


def test_cursors(python: Session) -> None:
    run(python, "INSERT INTO notes SELECT n, 'x' FROM generate_series(1, 120) n")
    assert did(python, """
total = sum(row['i'] for row in plpy.cursor("SELECT i FROM notes"))
plan = plpy.prepare("SELECT i FROM notes WHERE i > $1 ORDER BY i", ["int"])
cursor = plan.cursor([117])
rows = [len(cursor.fetch(2)), len(cursor.fetch(2)), len(cursor.fetch(2))]
cursor.close()
try: cursor.fetch(1)
except ValueError as e: return '%d %s %s' % (total, rows, e)
""") == "7260 [2, 1, 0] fetch from a closed cursor"  # fmt: skip


def test_a_failed_statement_is_an_exception_and_undone(python: Session) -> None:
    assert did(python, """
plpy.execute("INSERT INTO notes VALUES (1, 'kept')")
try:
  plpy.execute("INSERT INTO notes SELECT 1 / (2 - n), 'lost' FROM generate_series(1, 2) n")
except plpy.spiexceptions.DivisionByZero as e:
  caught = e.sqlstate, str(e), isinstance(e, plpy.SPIError)
return repr((caught, plpy.execute("SELECT count(*) AS n FROM notes")[0]['n']))
""") == "(('22012', 'division by zero', True), 1)"  # fmt: skip


def test_subtransactions(python: Session) -> None:
    assert did(python, """
try:
  with plpy.subtransaction():
    plpy.execute("INSERT INTO notes VALUES (1, 'lost')")
    raise KeyError('x')
except KeyError: pass
with plpy.subtransaction():
  plpy.execute("INSERT INTO notes VALUES (2, 'kept')")
s = plpy.subtransaction()
s.enter(); s.exit(None, None, None)
try: s.exit(None, None, None)
except ValueError as e: return repr(([r['i'] for r in plpy.execute("SELECT i FROM notes")], str(e)))
""") == "([2], 'this subtransaction has already been exited')"  # fmt: skip


def test_procedures_end_transactions(python: Session) -> None:
    run(python, """CREATE OR REPLACE PROCEDURE steps() LANGUAGE plpython3u AS $$
for i in range(4):
  plpy.execute("INSERT INTO notes VALUES (%d)" % i)
  if i % 2: plpy.commit()
  else: plpy.rollback()
$$""")  # fmt: skip
    run(python, "CALL steps()")
    assert run(python, "SELECT i FROM notes ORDER BY i") == [(1,), (3,)]
    run(python, "BEGIN")
    assert fails(python, "CALL steps()").sqlstate == "2D000"
    run(python, "ROLLBACK")
    run(python, "CREATE OR REPLACE PROCEDURE triple(INOUT a int, INOUT b int) LANGUAGE plpython3u"
        " AS $$ return (a * 3, b * 3) $$")  # fmt: skip
    assert run(python, "CALL triple(5, 10)") == [(15, 30)]


def test_messages(python: Session) -> None:
    python.notices.clear()
    run(python, "DO LANGUAGE plpython3u $$ plpy.notice('a', 1); plpy.warning('b', detail='d', hint='h') $$")
    assert [(each.severity, each.message, each.detail) for each in python.notices] == [
        ("NOTICE", "('a', 1)", None), ("WARNING", "b", "d")
    ]  # fmt: skip


def test_quoting(python: Session) -> None:
    assert did(python, "return ' '.join([plpy.quote_literal(\"a'b\"), plpy.quote_nullable(None), plpy.quote_ident('x'),"
               " plpy.quote_ident('A b'), plpy.quote_ident('select')])") == """'a''b' NULL x "A b" "select\""""  # fmt: skip


def test_calls_within_calls(python: Session) -> None:
    define(python, "summed(n int) RETURNS int",
           "if n == 0: return 0\nreturn n + plpy.execute('SELECT summed(%d) AS s' % (n - 1))[0]['s'] + n - args[0]")  # fmt: skip
    assert value(python, "SELECT summed(6)") == 21


def test_errors_have_tracebacks(python: Session) -> None:
    define(python, "outer_of(a int) RETURNS int", "def inner(x):\n  return 1 / x\nreturn inner(a)")
    error = fails(python, "SELECT outer_of(0)")
    assert (error.sqlstate, error.message) == ("38000", "ZeroDivisionError: division by zero")
    assert error.where == (
        "Traceback (most recent call last):\n"
        '  PL/Python function "outer_of", line 4, in <module>\n    return inner(a)\n'
        '  PL/Python function "outer_of", line 3, in inner\n    return 1 / x\n'
        'PL/Python function "outer_of"'
    )


@pytest.mark.parametrize(
    ("body", "sqlstate", "message"),
    [
        ("plpy.error('no')", "38000", "plpy.Error: no"),
        ("plpy.fatal('no')", "38000", "plpy.Fatal: no"),
        ("plpy.error('no', sqlstate='22012')", "22012", "plpy.Error: no"),
        ("plpy.execute('SELECT * FROM nosuch')", "42P01",
         'spiexceptions.UndefinedTable: relation "nosuch" does not exist'),
        ("plpy.execute('SELECT * FORM notes')", "42601", 'spiexceptions.SyntaxError: syntax error at or near "FORM"'),
        ("plpy.execute('COMMIT')", "0A000", None),
        ("import sys; sys.exit()", "38000", "SystemExit"),
        ("undefined", "38000", "NameError: name 'undefined' is not defined"),
        ("def f(): f()\nf()", "38000", "RecursionError: maximum recursion depth exceeded"),
    ],
)  # fmt: skip
def test_errors(python: Session, body: str, sqlstate: str, message: str | None) -> None:
    error = fails(python, f"DO LANGUAGE plpython3u $$\n{body}\n$$")
    assert error.sqlstate == sqlstate
    assert message is None or error.message == message


def test_syntax_errors_are_found_when_a_function_is_made(python: Session) -> None:
    error = fails(python, "CREATE FUNCTION wrong() RETURNS int LANGUAGE plpython3u AS $$\nreturn (1 +\n$$")
    assert error.message == 'could not compile PL/Python function "wrong"'
    assert error.detail == "SyntaxError: '(' was never closed (<string>, line 3)"


def test_functions_that_are_not_volatile_change_nothing(python: Session) -> None:
    run(python, "CREATE OR REPLACE FUNCTION writes() RETURNS void STABLE LANGUAGE plpython3u AS"
        " $$ plpy.execute('INSERT INTO notes VALUES (1)') $$")  # fmt: skip
    error = fails(python, "SELECT writes()")
    assert error.sqlstate == "0A000"
    assert "INSERT is not allowed in a non-volatile function" in error.message
    for text in ("WITH a AS (INSERT INTO notes VALUES (1) RETURNING 1) SELECT * FROM a", "TRUNCATE notes"):
        run(
            python,
            f"CREATE OR REPLACE FUNCTION writes() RETURNS void STABLE LANGUAGE plpython3u AS $$ plpy.execute('{text}') $$",
        )
        assert fails(python, "SELECT writes()").sqlstate == "0A000"


def test_settings_of_a_function_hold_in_its_body(python: Session) -> None:
    run(python, "CREATE FUNCTION zone() RETURNS text LANGUAGE plpython3u SET timezone = 'Asia/Tokyo' AS"
        " $$ return plpy.execute('SHOW timezone')[0]['TimeZone'] $$")  # fmt: skip
    assert run(python, "SELECT zone(), current_setting('timezone')") == [("Asia/Tokyo", "UTC")]


TRIGGER = """
if TD['event'] == 'DELETE': return 'SKIP' if TD['old']['i'] == 1 else None
if TD['new']['i'] > 100: return 'SKIP'
TD['new']['s'] = '%s %s %s %s' % (TD['event'], TD['when'], TD['level'], TD['args'])
return 'MODIFY'
"""


def test_triggers(python: Session) -> None:
    define(python, "marked() RETURNS trigger", TRIGGER)
    run(python, "CREATE TRIGGER marking BEFORE INSERT OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION marked('a')")
    run(python, "INSERT INTO notes SELECT n, 'x' FROM unnest(ARRAY[1, 200, 2]) n")
    assert run(python, "SELECT * FROM notes ORDER BY i") == [
        (1, "INSERT BEFORE ROW ['a']"), (2, "INSERT BEFORE ROW ['a']")
    ]  # fmt: skip
    run(python, "DELETE FROM notes")
    assert run(python, "SELECT i FROM notes") == [(1,)]
    run(python, "DROP TABLE notes")


def test_only_superusers_define(python: Session, database: Database) -> None:
    run(python, "CREATE ROLE plain_user LOGIN; GRANT CREATE ON SCHEMA public TO plain_user")
    define(python, "for_all() RETURNS int", "return 1")
    plain = database.session("plain_user")
    for sql in (
        "CREATE FUNCTION mine() RETURNS int LANGUAGE plpython3u AS 'return 1'",
        "DO 'x = 1' LANGUAGE plpython3u",
    ):
        error = fails(plain, sql)
        assert (error.sqlstate, error.message) == ("42501", "permission denied for language plpython3u")
    assert value(plain, "SELECT for_all()") == 1
    plain.close()
    assert fails(python, "GRANT USAGE ON LANGUAGE plpython3u TO plain_user").sqlstate == "42809"


def test_what_never_ends_is_ended(python: Session, database: Database) -> None:
    run(python, "SET statement_timeout = '200ms'")
    assert fails(python, "DO 'while True: pass' LANGUAGE plpython3u").sqlstate == "57014"
    run(python, "RESET statement_timeout")
    assert did(python, "return 'again'") == "again"
    errors: list[str] = []
    thread = threading.Thread(
        target=lambda: errors.append(fails(python, "DO 'while True: pass' LANGUAGE plpython3u").sqlstate)
    )
    thread.start()
    while thread.is_alive():
        database.cancel(python.process_id)
        thread.join(0.05)
    assert errors == ["57014"]


def test_processes_that_end(python: Session, database: Database) -> None:
    crashed = fails(python, "DO 'import os; os.kill(os.getpid(), 11)' LANGUAGE plpython3u")
    assert crashed.sqlstate == "58000"
    run(python, "SET gpudb.function_memory = 1000")
    assert fails(python, "DO 'x = bytearray(2000000000)' LANGUAGE plpython3u").sqlstate == "53200"
    run(python, "RESET gpudb.function_memory")
    assert did(python, "return 'again'") == "again"
    own = database.session("gpudb")
    child = value(own, "SELECT 1")
    own.close()
    assert child == 1


def test_the_end_of_a_session_ends_its_process(python: Session, database: Database) -> None:
    import os

    define(python, "pid() RETURNS int", "import os\nreturn os.getpid()")
    own = database.session("gpudb")
    pid = value(own, "SELECT pid()")
    assert pid != value(python, "SELECT pid()")
    own.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
