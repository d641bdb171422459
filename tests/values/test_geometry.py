"""Geometric values beside the cases of their statements: signatures, binary form, COPY, invalid bytes."""

from __future__ import annotations

import struct

import pytest

from gpudb.errors import GpudbError
from gpudb.functions.library import functions_by_name
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC
from gpudb.values import format_text, parse_text
from gpudb.values.binary import parse_binary
from gpudb.values.geometry.operations import OPERATIONS
from gpudb.values.geometry.signatures import SIGNATURES
from tests.support.session_fixtures import Connect, connect, database  # noqa: F401

TEXTS = {
    "point": "(1.5,-2)",
    "line": "{1,-1,0.25}",
    "lseg": "[(1,2),(3,4)]",
    "box": "(3,4),(1,2)",
    "path": "[(1,2),(3,4),(5,6)]",
    "polygon": "((0,0),(1,0),(0,1))",
    "circle": "<(1,2),3>",
}


def test_the_listed_signatures_are_those_that_are_computed() -> None:
    assert {name: (*each.arguments, each.result) for name, each in OPERATIONS.items()} == SIGNATURES


def test_every_function_of_postgresql_is_computed() -> None:
    inner = {"internal", "cstring"}
    missing = [
        function.signature
        for overloads in functions_by_name().values()
        for function in overloads
        if {each.name for each in (*function.args, function.result)} & GEOMETRIC
        and not {each.name for each in (*function.args, function.result)} & inner
        and not function.name.endswith("_send")
        and function.signature not in SIGNATURES
    ]
    assert missing == ["spg_poly_quad_compress(polygon)"]


@pytest.mark.parametrize("name", sorted(GEOMETRIC))
def test_text_and_binary_forms(connect: Connect, name: str) -> None:  # noqa: F811
    kind, text = SqlType(name), TEXTS[name]
    value = parse_text(kind, text)
    assert isinstance(value, bytes)
    assert format_text(kind, value) == text
    assert parse_binary(kind, value) == value
    connection = connect()
    with connection.cursor(binary=True) as cursor:
        assert cursor.execute(f"SELECT '{text}'::{name}, NULL::{name}").fetchone() == (value, None)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE geometry_{name} (v {name})")
        for form in ("text", "csv", "binary"):
            cursor.execute(f"TRUNCATE geometry_{name}")
            cursor.execute(f"INSERT INTO geometry_{name} VALUES ('{text}'), (NULL)")
            with cursor.copy(f"COPY geometry_{name} TO STDOUT (FORMAT {form})") as copy:
                data = b"".join(map(bytes, copy))
            with cursor.copy(f"COPY geometry_{name} FROM STDIN (FORMAT {form})") as copy:
                copy.write(data)
            rows = cursor.execute(f"SELECT v FROM geometry_{name} WHERE v IS NOT NULL").fetchall()
            assert rows == [(text,), (text,)], form
        cursor.execute(f"DROP TABLE geometry_{name}")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("point", b"\0" * 15),
        ("line", struct.pack(">3d", 0, 0, 1)),
        ("circle", struct.pack(">3d", 0, 0, -1)),
        ("path", b"\1" + struct.pack(">i", 0)),
        ("path", b"\1" + struct.pack(">i2d", 2, 1, 2)),
        ("polygon", struct.pack(">i", -1)),
        ("polygon", b""),
    ],
)
def test_invalid_binary_forms(name: str, data: bytes) -> None:
    with pytest.raises(GpudbError) as caught:
        parse_binary(SqlType(name), data)
    assert caught.value.sqlstate == "22P03"


def test_a_box_is_put_in_order() -> None:
    found = parse_binary(SqlType("box"), struct.pack(">4d", 0, 5, 3, 1))
    assert isinstance(found, bytes)
    assert format_text(SqlType("box"), found) == "(3,5),(0,1)"
