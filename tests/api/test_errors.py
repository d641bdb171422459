"""Errors as a user reads them: the text with line, caret, detail and hint, and a short traceback."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pyarrow as pa
import pytest

from gpudb.api import Connection
from gpudb.errors import GpudbError, InternalError, point_at


def raised(action: Callable[[], object]) -> GpudbError:
    """The error of an action."""
    with pytest.raises(GpudbError) as caught:
        action()
    return caught.value


def test_the_text_has_the_line_and_a_caret(any_db: Connection) -> None:
    assert str(raised(lambda: any_db.execute("SELECT 1,\n  nothing\nFROM pg_class"))) == (
        'column "nothing" does not exist\nLINE 2:   nothing\n          ^'
    )
    assert str(raised(lambda: any_db.sql("SELEC 1"))) == ('syntax error at or near "SELEC"\nLINE 1: SELEC 1\n        ^')
    assert str(raised(lambda: any_db.sql("SELECT relnam FROM pg_class").fetchall())) == (
        'column "relnam" does not exist\nLINE 1: SELECT relnam FROM pg_class\n               ^\n'
        'HINT:  Perhaps you meant to reference the column "pg_class.relname" or the column "pg_class.relam".'
    )
    assert str(raised(lambda: any_db.sql("SELECT 1 / 0").fetchall())) == "division by zero"


def test_a_name_that_lacks_capitals_is_told_to_be_quoted(db: Connection) -> None:
    assert raised(lambda: db.sql('SELECT pulocationid FROM (SELECT 1 AS "PULocationID") AS z').fetchall()).hint == (
        'Perhaps you meant to reference the column "z.PULocationID": write "PULocationID" in double quotes, since other'
        " names are read in lower case."
    )


def test_the_text_has_detail_and_hint(any_db: Connection) -> None:
    any_db.execute("DROP TABLE IF EXISTS told")
    any_db.execute("CREATE TABLE told (a int CHECK (a > 0))")
    error = raised(lambda: any_db.execute("INSERT INTO told VALUES (-1)"))
    assert str(error) == f"{error.message}\nDETAIL:  Failing row contains (-1)."
    any_db.execute("DROP TABLE told")
    assert "\nHINT:  Pass an Arrow table" in str(raised(lambda: any_db.register("x", [1])))


@pytest.mark.parametrize(
    "action",
    [
        lambda db: db.sql("SELECT nothing").fetchall(),
        lambda db: db.execute("SELECT nothing"),
        lambda db: list(db.sql("SELECT nothing")),
        lambda db: next(iter(db.sql("SELECT nothing"))),
        lambda db: db.sql("SELECT nothing").columns,
        lambda db: db.sql("SELECT nothing").describe(),
        lambda db: db.sql("SELECT nothing").show(),
        lambda db: len(db.sql("SELECT nothing")),
        lambda db: db.sql("SELEC"),
        lambda db: db.sql("SELECT 1 / (n - 1) FROM generate_series(1, 3) AS g(n)").polars(),
        lambda db: db.register("x", pa.table({"a": [{"b": 1}]})),
        lambda db: db.append("nowhere", pa.table({"a": [1]})),
    ],
)
def test_a_traceback_is_short(any_db: Connection, action: Callable[[Connection], object]) -> None:
    error = raised(lambda: action(any_db))
    text = "".join(traceback.format_exception(error))
    assert text.count("Traceback") == 1
    assert len([frame for frame in traceback.extract_tb(error.__traceback__) if "/gpudb/" in frame.filename]) <= 2


def test_who_debugs_gpudb_sees_everything(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDB_FULL_TRACEBACKS", "1")
    assert len(traceback.extract_tb(raised(lambda: db.execute("SELECT nothing")).__traceback__)) > 5


def test_an_internal_error_keeps_its_traceback(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **options: object) -> None:
        raise InternalError("broken")

    monkeypatch.setattr(db._backend, "run", fail)
    assert len(traceback.extract_tb(raised(lambda: db.execute("SELECT 1")).__traceback__)) > 4


@pytest.mark.parametrize(
    ("statement", "position", "shown"),
    [
        ("SELECT a", 8, ["LINE 1: SELECT a", "               ^"]),
        ("SELECT\n\ta", 9, ["LINE 2:  a", "         ^"]),
        ("SELECT", 7, ["LINE 1: SELECT", "              ^"]),
        ("SELECT '日本', a", 14, ["LINE 1: SELECT '日本', a", "                       ^"]),
        ("x" * 200, 150, ["LINE 1: ..." + "x" * 97, " " * 68 + "^"]),
    ],
)
def test_the_caret_is_under_the_position(statement: str, position: int, shown: list[str]) -> None:
    lines = point_at(statement, position)
    lines[0] = lines[0][:108]
    assert lines[1] == shown[1]
    assert lines[0].startswith(shown[0][:60])


def test_an_error_inside_the_package_has_its_message_alone() -> None:
    assert str(GpudbError("message", detail="detail", hint="hint", position=1)) == "message"
