"""COPY FROM STDIN: PostgreSQL's rows, and its errors word for word, with line and column."""

from __future__ import annotations

import pytest

from gpudb.session.database import Database
from tests.support.copy_outcomes import on_gpudb, on_oracle
from tests.support.oracle.server import Oracle

ABC = "CREATE TABLE t (a int NOT NULL, b text DEFAULT 'dd', c numeric(10,2))"
TEXTS = "CREATE TABLE t (a text, b text)"
ONE = "CREATE TABLE t (a text)"
CSV = "COPY t FROM STDIN (FORMAT csv)"
TEXT = "COPY t FROM STDIN"

CSV_CASES = {
    "plain": (ABC, CSV, b"1,x,1.5\n2,y,2\n"),
    "no newline at the end": (ABC, CSV, b"1,x,1.5\n2,y,2"),
    "empty": (ABC, CSV, b""),
    "null and empty string": (ABC, CSV, b'1,,\n2,"",\n'),
    "quoted null of a number": (ABC, CSV, b'1,x,""\n'),
    "quotes": (TEXTS, CSV, b'"a ""b""",c\n"x,y","1\n2"\n'),
    "quotes inside a field": (TEXTS, CSV, b'a"b,c"d,e\n"abc"def,"x"y"z"\n'),
    "unterminated quote": (TEXTS, CSV, b'a,b\n"c,d\ne,f\n'),
    "quoted number": (ABC, CSV, b'"1","x","2.25"\n'),
    "too many fields": (ABC, CSV, b"1,x,1\n2,y,2,3\n"),
    "a delimiter too many": (ABC, CSV, b"1,x,1,\n"),
    "too few fields": (ABC, CSV, b"1,x,1\n2,y\n"),
    "an empty line": (ABC, CSV, b"1,x,1\n\n2,y,2\n"),
    "an empty line of one column": (ONE, CSV, b"a\n\nb\n\n"),
    "bad integer": (ABC, CSV, b"1,x,1\n2,y,2\nz,y,2\n"),
    "bad integer behind quoted newlines": (ABC, CSV, b'1,"x\n\ny",1\nz,"u\nv",2\n'),
    "bad numeric": (ABC, CSV, b"1,x,1\n2,y,2..5\n"),
    "numeric overflow": (ABC, CSV, b"1,x,123456789.5\n"),
    "numeric rounding": (ABC, CSV, b"1,x,1.005\n2,x,-1.005\n3,x,99999999.994\n4,x,1e2\n5,x, 7 \n"),
    "integer out of range": (ABC, CSV, b"3000000000,x,1\n"),
    "integer forms": (ABC, CSV, b"+1,x,1\n 2 ,x,1\n0x1F,x,1\n1_000,x,1\n007,x,1\n-0,x,1\n0b11,x,1\n"),
    "hexadecimal beyond": (ABC, CSV, b"0xFFFFFFFF,x,1\n"),
    "hexadecimal beyond, behind quoted newlines": (ABC, CSV, b'1,"\n\n",1\n' * 8 + b"0xFFFFFFFF,x,1\n"),
    "not null": (ABC, CSV, b"1,x,1\n,y,2\n"),
    "not null behind quoted newlines": (ABC, CSV, b'1,"\n",1\n,"y\nz",2\n'),
    "error before a broken row": (ABC, CSV, b"x,y,1\n1,2\n"),
    "broken row before an error": (ABC, CSV, b"1,2\nx,y,1\n"),
    "error in the second of two columns": (ABC, CSV, b"1,x,y\nz,x,1\n"),
    "carriage returns and newlines": (ABC, CSV, b"1,x,1\r\n2,y,2\r\n"),
    "carriage returns alone": (ABC, CSV, b"1,x,1\r2,y,2\r"),
    "quoted line breaks of every kind": (TEXTS, CSV, b'a,"x\r\ny"\nb,"x\ry"\nc,"x\ny"\n'),
    "quoted line breaks in a file of pairs": (TEXTS, CSV, b'a,"x\r\ny"\r\nb,"x\ny"\r\n'),
    "stray carriage return": (TEXTS, CSV, b"a,b\nc\rd,e\n"),
    "stray newline": (TEXTS, CSV, b"a,b\r\nc,d\ne,f\r\n"),
    "end of data marker": (TEXTS, CSV, b"a,b\n\\.\nc,d\n"),
    "marker without a newline": (ONE, CSV, b"a\n\\."),
    "marker of another newline": (ONE, CSV, b"a\n\\.\r\n"),
    "marker of pairs": (ONE, CSV, b"a\r\n\\.\r\nb\r\n"),
    "marker in a field": (TEXTS, CSV, b'\\.x,b\na,\\.\n"\\.",c\n'),
    "marker of one column": (ONE, CSV, b'a\n"\\."\n\\.\nb\n'),
    "backslashes are themselves": (TEXTS, CSV, b"a\\nb,\\N\n"),
    "bad utf-8": (TEXTS, CSV, b"a,b\nc,\xff\n"),
    "cut utf-8": (TEXTS, CSV, b"a,b\nc,\xe2\x82\n"),
    "nul byte": (TEXTS, CSV, b"a,b\nc,\0\n"),
    "unicode": (TEXTS, CSV, "grün,🚕\n\u00a0,é\n".encode()),
    "long value in an error": (ABC, CSV, b"1,x,1\n" + b"z" * 300 + b",x,1\n"),
    "long line in an error": (ABC, CSV, b"1," + "é".encode() * 200 + b"\n"),
    "header": (ABC, "COPY t FROM STDIN WITH CSV HEADER", b"k,l,m\n1,x,1\n"),
    "header of several lines": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER)", b'"k\nk",l,m\n1,x,1\nq,x,1\n'),
    "header alone": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER)", b"k,l,m\n"),
    "header match": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER match)", b"a,b,c\n1,x,1\n"),
    "header mismatch": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER match)", b"a,x,c\n1,x,1\n"),
    "header of null": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER match)", b"a,,c\n1,x,1\n"),
    "header too short": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER match)", b"a,b\n1,x,1\n"),
    "header missing": (ABC, "COPY t FROM STDIN (FORMAT csv, HEADER match)", b""),
    "delimiter": (ABC, "COPY t FROM STDIN (FORMAT csv, DELIMITER '|')", b"1|a,b|1\n"),
    "null text": (ABC, "COPY t FROM STDIN (FORMAT csv, NULL 'nil')", b'1,nil,nil\n2,"nil",1\n3,,2\n'),
    "null text of a number": (ABC, "COPY t FROM STDIN (FORMAT csv, NULL 'nil')", b"1,x,\n"),
    "quote": (TEXTS, "COPY t FROM STDIN (FORMAT csv, QUOTE '''')", b"'a,''b',\"c\"\n"),
    "escape": (TEXTS, "COPY t FROM STDIN (FORMAT csv, ESCAPE '\\')", b'"a\\"b","c\\\\d"\n"e""f",\\g\n'),
    "escape in open quotes": (TEXTS, "COPY t FROM STDIN (FORMAT csv, ESCAPE '\\')", b'"a\\",b\nc,d\n'),
    "force not null": (TEXTS, "COPY t FROM STDIN (FORMAT csv, FORCE_NOT_NULL (b))", b"a,\n,b\n"),
    "force not null of a number": (ABC, "COPY t FROM STDIN (FORMAT csv, FORCE_NOT_NULL (c))", b"1,a,\n"),
    "force null": (TEXTS, "COPY t FROM STDIN (FORMAT csv, FORCE_NULL (b))", b'"",""\na,"x"\n'),
    "force null of a number": (ABC, "COPY t FROM STDIN (FORMAT csv, FORCE_NULL (c))", b'1,"",""\n2,"",3\n'),
    "force both": (TEXTS, "COPY t FROM STDIN (FORMAT csv, FORCE_NULL (b), FORCE_NOT_NULL (b))", b'a,\nb,""\n'),
    "columns": (ABC, "COPY t (c, a) FROM STDIN (FORMAT csv)", b"1.5,1\n"),
    "unknown column": (ABC, "COPY t (c, z) FROM STDIN (FORMAT csv)", b"1.5,1\n"),
    "column twice": (ABC, "COPY t (c, c) FROM STDIN (FORMAT csv)", b"1.5,1\n"),
    "unknown table": (ABC, "COPY nowhere FROM STDIN (FORMAT csv)", b"1.5,1\n"),
    "forced column not there": (ABC, "COPY t (a) FROM STDIN (FORMAT csv, FORCE_NULL (b))", b"1\n"),
    "latin1": (TEXTS, "COPY t FROM STDIN (FORMAT csv, ENCODING 'LATIN1')", b"gr\xfcn,\xe9\n"),
    "where": (ABC, "COPY t FROM STDIN (FORMAT csv) WHERE a > 1 AND b <> 'y'", b"1,x,1\n2,x,1\n3,y,1\n4,,1\n"),
    "where of a default": (ABC, "COPY t (a) FROM STDIN (FORMAT csv) WHERE b = 'dd'", b"1\n2\n"),
    "where that is no condition": (ABC, "COPY t FROM STDIN (FORMAT csv) WHERE a", b"1,x,1\n"),
    "default marker": (ABC, "COPY t FROM STDIN (FORMAT csv, DEFAULT '\\D')", b'1,\\D,1\n2,"\\D",1\n3,,1\n'),
    "default marker without a default": (ABC, "COPY t FROM STDIN (FORMAT csv, DEFAULT 'x')", b"1,a,1\n2,a,x\n"),
}  # fmt: skip

TEXT_CASES = {
    "plain": (ABC, TEXT, b"1\tx\t1.5\n2\ty\t2\n"),
    "nulls": (ABC, TEXT, b"1\t\\N\t\\N\n2\t\t3\n"),
    "null in the first column": (ABC, TEXT, b"\\N\tx\t1\n"),
    "empty number": (ABC, TEXT, b"1\tx\t\n"),
    "escapes": (TEXTS, TEXT, b"a\\tb\\nc\\\\d\\bx\\f\\r\\v\t\\x41\\101\\q\\\n"),
    "octal and hexadecimal utf-8": (TEXTS, TEXT, b"\\303\\251\t\\xc3\\xa9\\x\n"),
    "bad bytes behind escapes": (TEXTS, TEXT, b"a\tb\n\\xff\tb\n"),
    "nul behind an escape": (TEXTS, TEXT, b"a\tb\nx\\000\tb\n"),
    "escaped delimiter and newline": (TEXTS, TEXT, b"a\\\tb\tc\\\nd\ne\tf\n"),
    "line after an escaped newline": (ABC, TEXT, b"1\tc\\\nd\t1\nx\tf\t1\n"),
    "backslash before a delimiter": (TEXTS, TEXT, b"a\\\\\tb\n\\\\\\\\\tc\\\\\n"),
    "null text inside": (TEXTS, TEXT, b"a\\Nb\t\\Nx\nx\\N\t\\N\n"),
    "carriage returns": (TEXTS, TEXT, b"a\tb\r\nc\t\\N\r\n"),
    "stray carriage return": (TEXTS, TEXT, b"a\tb\nc\rd\te\n"),
    "end of data": (TEXTS, TEXT, b"a\tb\n\\.\nc\td\n"),
    "end of data without a newline": (TEXTS, TEXT, b"a\tb\n\\."),
    "end of data within a line": (ONE, TEXT, b"a\nb\\.\nc\n"),
    "corrupt marker": (ONE, TEXT, b"a\n\\.b\n"),
    "marker of another newline": (ONE, TEXT, b"a\r\n\\.\nb\r\n"),
    "too many": (ABC, TEXT, b"1\tx\t1\n2\tx\t1\t1\n"),
    "too few": (ABC, TEXT, b"1\tx\t1\n2\n"),
    "bad number": (ABC, TEXT, b"1\tx\t1\n2\tx\tq\\tq\n"),
    "quotes are nothing": (TEXTS, TEXT, b'"a\t"b"\n'),
    "header": (ABC, "COPY t FROM STDIN (HEADER)", b"k\tl\tm\n1\tx\t1\n"),
    "header match": (ABC, "COPY t FROM STDIN (HEADER match)", b"a\tb\tc\n1\tx\t1\n"),
    "delimiter": (TEXTS, "COPY t FROM STDIN (DELIMITER '|')", b"a\\|b|c\td\n"),
    "null text": (TEXTS, "COPY t FROM STDIN (NULL '')", b"\tb\n\\N\tc\n"),
    "old syntax": (TEXTS, "COPY t FROM STDIN DELIMITERS '|' WITH NULL AS 'x'", b"x|b\n"),
    "default marker": (ABC, "COPY t FROM STDIN (DEFAULT '\\D')", b"1\t\\D\t1\n2\t\\\\D\t1\n"),
    "volatile default": (
        "CREATE TABLE t (a int, b text DEFAULT 'x' || 'y', c int DEFAULT 1 + 1)",
        "COPY t (a) FROM STDIN",
        b"1\n2\n",
    ),
}

TYPED_CASES = {
    "booleans": ("bool", b"t\nf\ntrue\nFALSE\nyes\nno\non\noff\n1\n0\nTr\n"),
    "bad boolean": ("bool", b"t\nmaybe\n"),
    "smallint": ("smallint", b"1\n-32768\n32767\n"),
    "smallint out of range": ("smallint", b"1\n32768\n"),
    "bigint": ("bigint", b"-9223372036854775808\n9223372036854775807\n"),
    "bigint out of range": ("bigint", b"9223372036854775808\n"),
    "bigint of bits": ("bigint", b"0xFFFFFFFFFFFFFFFF\n"),
    "bits of few among many": ("int", b"1\n2\n3\n4\n-5\n6\n7\n8\n0XFFFFFFFF"),
    "floats": ("float8", b"1.5\n-0\nNaN\ninf\n-Infinity\n1e-300\n.5\n5.\n1e308\n"),
    "float overflow": ("float8", b"1\n1e400\n"),
    "float underflow": ("float8", b"0\n1e-400\n"),
    "float underflow without exponent": ("float8", b"0\n0." + b"0" * 400 + b"1\n"),
    "real underflow without exponent": ("real", b"1\n0." + b"0" * 60 + b"1\n"),
    "float underflow of one among many": ("float8", b"1\n2\n3\n4\n5\n0\n\\N\n8\n9E-400\n"),
    "zeros among many": ("float8", b"0.0\n1e-3\n2\n3\n4e-4\n5\n6\n7\n\\N\n"),
    "reals": ("real", b"1.1\n3.4e38\n1e-45\n0\n"),
    "real overflow": ("real", b"1e39\n"),
    "numeric": ("numeric", b"1.50\n-0.000\n123456789012345678\n1e3\n0.00000000000000000001\n"),
    "numeric(5,0)": ("numeric(5)", b"1.5\n2.5\n-2.5\n99999.4\n"),
    "numeric(30,10)": ("numeric(30,10)", b"12345678901234567890.0123456789\n1\n0.00000000005\n"),
    "numeric(15,4)": ("numeric(15,4)", b"12345678901.1234\n99999999999.99994\n0.00005\n-0.00004\n"),
    "numeric(15,4) overflow": ("numeric(15,4)", b"99999999999.99995\n"),
    "varchar(3)": ("varchar(3)", "abc\nä€🚕\nab   \n\n".encode()),
    "varchar too long": ("varchar(3)", b"abc\nabcd\n"),
    "char(3)": ("char(3)", b"a\nabc\nab \nabc   \n"),
    "char too long": ("char(3)", b"abcd\n"),
    "bytea": ("bytea", b"\\\\x00ff\nabc\\\\000\n"),
    "bad bytea": ("bytea", b"\\\\x0\n"),
    "dates": ("date", b"2020-02-29\n1/2/2021\n0001-01-01\n0044-03-15 BC\ninfinity\n20200131\n10000-01-01\n"),
    "bad date": ("date", b"2020-02-29\n2021-02-29\n"),
    "no date": ("date", b"2020-02-29\nsoon\n"),
    "year zero": ("date", b"0000-01-01\n"),
    "times": ("time", b"04:05:06\n04:05\n24:00:00\n04:05:06.789\n"),
    "timestamps": ("timestamp", b"2020-02-29 04:05:06\n2020-02-29T04:05\n2020-02-29\n2020-02-29 04:05:06.1234567\n"),
    "timestamp with an hour alone": ("timestamp", b"2020-02-29 04\n"),
    "one with an hour alone among many": ("timestamp", b"2020-02-29 04:05\n" * 8 + b"2020-02-29T04\n"),
    "whole hours among many": ("timestamp", b"2020-02-29 04:05\n" * 9 + b"2020-02-29 04:00\n2020-02-29\n\\N\n"),
    "moments before the first": ("timestamp", b"2020-02-29 04:05\n0000-12-31 00:00:00\n"),
    "timestamp with a zone": ("timestamp", b"2020-02-29 04:05:06+02\n"),
    "timestamp(0)": ("timestamp(0)", b"2020-02-29 04:05:06.5\n2020-02-29 04:05:06\n"),
    "timestamptz": ("timestamptz", b"2020-02-29 04:05:06+02\n2020-02-29 04:05:06\n2020-02-29 04:05:06.5-05:30\n"),
    "timestamptz too far east": ("timestamptz", b"2020-02-29 04:05:06+16\n"),
    "times with zones": ("timetz", b"04:05:06+02\n04:05-03:30\n24:00:00Z\n\\N\n"),
    "bad time with a zone": ("timetz", b"04:05:06+02\n04:05:06+17\n"),
    "times with zones (1)": ("timetz(1)", b"04:05:06.78+02\n"),
    "addresses": ("inet", b"1.2.3.4\n10.1/16\n::1/64\n\\N\n"),
    "bad address": ("inet", b"1.2.3.4\n1.2.3\n"),
    "networks": ("cidr", b"10\n::/0\n"),
    "bad network": ("cidr", b"1.2.3.4/8\n"),
    "hardware addresses": ("macaddr", b"0800.2b01.0203\n8:0:2b:1:2:3\n"),
    "address arrays": ("inet[]", b"{1.2.3.4,NULL,::1/64}\n"),
    "money": ("money", b"1234.5\n$1,000\n(3)\n\\N\n"),
    "bad money": ("money", b"1\nmuch\n"),
    "intervals": ("interval", b"1 day 02:03:04\nP1Y2M\n-1 mon\n"),
    "bad interval": ("interval", b"much\n"),
    "uuids": ("uuid", b"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11\n{a0eebc999c0b4ef8bb6d6bb9bd380a11}\n"),
    "bad uuid": ("uuid", b"a0ee\n"),
    "ranges": ("int4range", b"[1,5]\nempty\n(,)\n\\N\n(1,2)\n"),
    "bad range": ("int4range", b"[1,5]\n[1,5\n"),
    "crossed range": ("daterange", b"[2020-01-02,2020-01-01)\n"),
    "numeric ranges": ("numrange", b"[1.50,2)\n(,1e3]\n"),
    "multiranges": ("nummultirange", b"{[1.50,2),[3,)}\n{}\n\\N\n"),
    "bad multirange": ("int4multirange", b"{}\n{[1,5\n"),
    "moment ranges": ("tstzrange", b"[2020-01-01 10:00+02,)\n"),
    "range arrays": ("int4range[]", b'{"[1,3]",NULL,empty}\n'),
    "bits": ("bit(3)", b"101\nb000\nxf\n"),
    "bit strings": ("bit varying(4)", b"101\n\nXF\n\\N\n"),
    "bits too long": ("bit varying(4)", b"101\n10101\n"),
    "bad bits": ("bit varying", b"101\n12\n"),
    "bit arrays": ("bit(2)[]", b"{10,NULL}\n{101}\n"),
    "json": ("json", b'{"a" : [1, 2]}\nnull\n'),
    "jsonb": ("jsonb", b'{"b" : 1, "a": [1.0, 2], "b": 3}\n"x"\n'),
    "integer arrays": ("int[]", b"{1,2,NULL}\n{}\n\\N\n"),
    "text arrays": ("text[]", b'{a,"b c",NULL,"x\\\\"y"}\n{}\n'),
    "bad array": ("int[]", b"{1,2\n"),
    "bad item": ("int[]", b"{1,x}\n"),
}  # fmt: skip


def _check(database: Database, oracle: Oracle, setup: str, copy: str, data: bytes, chunk: int) -> None:
    expected = on_oracle(oracle, setup, copy, data)
    assert on_gpudb(database, setup, copy, data, chunk) == expected


@pytest.mark.parametrize("chunk", [1 << 16, 1], ids=["whole", "bytewise"])
@pytest.mark.parametrize("name", CSV_CASES)
def test_csv(database: Database, oracle: Oracle, name: str, chunk: int) -> None:
    _check(database, oracle, *CSV_CASES[name], chunk)


@pytest.mark.parametrize("chunk", [1 << 16, 1], ids=["whole", "bytewise"])
@pytest.mark.parametrize("name", TEXT_CASES)
def test_text(database: Database, oracle: Oracle, name: str, chunk: int) -> None:
    _check(database, oracle, *TEXT_CASES[name], chunk)


@pytest.mark.parametrize("name", TYPED_CASES)
def test_values_of_every_type(database: Database, oracle: Oracle, name: str) -> None:
    type_name, data = TYPED_CASES[name]
    _check(database, oracle, f"CREATE TABLE t (a {type_name})", TEXT, data, 1 << 16)
