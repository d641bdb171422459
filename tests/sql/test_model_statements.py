"""Statements about models: what is read of them, and where their errors are."""

from __future__ import annotations

import pytest

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.model_statements import (
    CreateModel,
    DropModel,
    ModelAsFunction,
    ModelStatement,
    RenameModel,
    ShowModel,
)
from gpudb.sql.parse.parser import parse


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "create model m from t target y function f using linear",
            CreateModel(("m",), ("f",), "linear", query=" " * 20 + "TABLE t", target="y"),
        ),
        (
            """CREATE OR REPLACE MODEL "S;".m -- a comment; with (a = 1)
               FROM (SELECT ';)' FROM t /* ) */) FUNCTION s.f RETURNS double precision USING "K" WITH (A = 'it''s', b=-1e3)
            """,
            CreateModel(
                ("S;", "m"), ("s", "f"), "K", replace=True, query="SELECT ';)' FROM t /* ) */",
                returns="double precision", options=(("a", "it's"), ("b", "-1e3")),
            ),
        ),
        (
            "CREATE MODEL IF NOT EXISTS m FROM FILE '/a''b' FUNCTION f(a real, b numeric(3, 1)) RETURNS real[] USING onnx",
            CreateModel(
                ("m",), ("f",), "onnx", if_not_exists=True, file="/a'b", signature="a real, b numeric(3, 1)",
                returns="real[]",
            ),
        ),
        ("DROP MODEL a, s.b", DropModel((("a",), ("s", "b")))),
        ("drop model if exists a cascade", DropModel((("a",),), missing_ok=True, cascade=True)),
        ("DROP MODEL a RESTRICT", DropModel((("a",),))),
        ("SHOW MODEL ALL", ShowModel(None)),
        ("SHOW MODEL s.m", ShowModel(("s", "m"))),
        ("ALTER MODEL m RENAME TO n", RenameModel(("m",), "n")),
        ("ALTER MODEL m OWNER TO x", ModelAsFunction("ALTER FUNCTION m OWNER TO x")),
        ("GRANT EXECUTE ON MODEL model TO x", ModelAsFunction("GRANT EXECUTE ON FUNCTION model TO x")),
        ("comment on model m is 'model m'", ModelAsFunction("comment on FUNCTION m is 'model m'")),
    ],
)  # fmt: skip
def test_statements(sql: str, wanted: ModelStatement) -> None:
    first, found, last = parse(f"SELECT 'ü; DROP MODEL x'; {sql}; SELECT 2")
    assert (first.kind, found.kind, last.kind) == ("SelectStmt", "ModelStmt", "SelectStmt")
    taken = found.model_statement
    if isinstance(taken, CreateModel) and isinstance(wanted, CreateModel) and taken.query and wanted.query:
        assert taken.query.strip() == wanted.query.strip()
        at = sql.find(wanted.query.strip()) if "TABLE" not in wanted.query else sql.index(" t ") - len("TABLE")
        assert len(taken.query) - len(taken.query.lstrip()) == at
        taken, wanted = (type(each)(**{name: getattr(each, name) for name in each.__slots__} | {"query": None})
                         for each in (taken, wanted))  # fmt: skip
    assert taken == wanted


@pytest.mark.parametrize(
    "sql",
    ["SELECT 'CREATE MODEL m'", "CREATE TABLE model (model int)", "SELECT model FROM model", "DROP TABLE model",
     "SELECT 1 -- CREATE MODEL m FROM t", "SHOW model", "GRANT SELECT ON model TO bob",
     "REVOKE ALL ON model\n  FROM public", "GRANT SELECT ON model , t TO bob", "grant select (a) on model to bob"],
)  # fmt: skip
def test_other_statements(sql: str) -> None:
    assert [each.model_statement for each in parse(sql)] == [None]


@pytest.mark.parametrize(
    ("sql", "at"),
    [
        ("CREATE MODEL m", "$"),
        ("CREATE MODEL m FORM t", "FORM"),
        ("CREATE MODEL m FROM (SELECT 1 FUNCTION f USING linear", "$"),
        ("CREATE MODEL m FROM t TARGET y FUNCTION f", "$"),
        ("CREATE MODEL m FROM t TARGET y FUNCTION f USING linear WITH (a = )", ")"),
        ("CREATE MODEL m FROM t TARGET y FUNCTION f USING linear WITH (a = 1 b = 2)", "b ="),
        ("CREATE MODEL m FROM t TARGET y FUNCTION f USING linear more", "more"),
        ("CREATE MODEL m FROM t TARGET y FUNCTION f RETURNS USING linear", "USING"),
        ("CREATE MODEL m FROM FILE t FUNCTION f USING onnx", "t FUNCTION"),
        ("DROP MODEL a,", "$"),
        ("DROP MODEL a b", "b"),
        ("SHOW MODEL a b", "b"),
        ("DROP OR REPLACE MODEL a", "OR"),
    ],
)
def test_errors_have_positions(sql: str, at: str) -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse(sql)
    assert caught.value.position == (len(sql) if at == "$" else sql.rindex(at)) + 1
