"""Edge values of every type that generated expressions use, as PostgreSQL reads them."""

from __future__ import annotations

VALUES: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    "int2": ("0", "1", "-1", "7", "100", "32767", "-32768"),
    "int4": ("0", "1", "-1", "3", "42", "2147483647", "-2147483648"),
    "int8": ("0", "1", "-1", "5", "4294967296", "9223372036854775807", "-9223372036854775808"),
    "float4": ("0", "-0", "1.5", "-2.25", "0.1", "3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity"),
    "float8": (
        "0", "-0", "1.5", "-2.5", "0.1", "100", "2147483648.5", "9.3e18", "1.7976931348623157e308", "5e-324", "NaN",
        "Infinity", "-Infinity",
    ),
    "numeric": ("0", "1", "-1", "0.00", "1.50", "-2.5", "3", "100", "12345678901.123456789", "0.000000001", "999999999999999999"),
    "text": (
        "", "a", "abc", "ABC", " x ", "é", "日本語", "𝛑x", "a%b_c", "tab\there", "123", "-1.5", "true", "2024-02-29",
        "O'Brien", "back\\slash", "x" * 70,
    ),
    "varchar": ("", "a", "Abc", "é ", "42", "a_c"),
    "bpchar": ("", "a", "abc  ", "É", "7", "  b"),
    "bytea": ("", "\\x00", "\\x01ff", "\\xdeadbeef", "abc", "\\x80"),
    "date": (
        "2024-02-29", "1970-01-01", "2000-01-01", "2023-12-31", "0001-01-01", "0044-03-15 BC", "9999-12-31", "infinity",
        "-infinity", "1582-10-10",
    ),
    "time": ("00:00:00", "24:00:00", "23:59:59.999999", "12:34:56.7", "00:00:00.000001"),
    "timestamp": (
        "2024-02-29 12:34:56.789", "1970-01-01 00:00:00", "1999-12-31 23:59:59.999999", "2000-01-01 00:00:00",
        "0001-12-31 10:00:00 BC", "9999-12-31 23:59:59", "infinity", "-infinity", "2024-01-31 00:00:00",
    ),
    "timestamptz": (
        "2024-02-29 12:34:56.789+00", "1970-01-01 00:00:00+00", "2024-03-31 01:30:00+00", "2024-11-03 05:30:00+00",
        "1999-12-31 23:59:59.999999-08", "1883-11-18 12:00:00+00", "infinity", "-infinity", "2024-10-27 01:30:00+00",
    ),
    "interval": (
        "0", "1 day", "-1 month", "1 year 2 months 3 days 04:05:06.789", "-1 day +23:59:59", "1 microsecond", "999:59:59",
        "30 days", "1 month", "24 hours", "100 years", "-00:00:00.5",
    ),
    "uuid": (
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    "json": (
        "null", "{}", "[]", '{"a": 1, "b": [true, null]}', '"x"', "1.50", "[1, 2, 3]", '{"a": {"b": "é"}, "a": 2}', "true",
    ),
    "jsonb": (
        "null", "{}", "[]", '{"a": 1, "b": [true, null]}', '"x"', "1.50", "[1, 2, 3]", '{"a": {"b": "é"}, "c": 1e2}', "true",
        '["a", "b"]', '"a"',
    ),
    "_int4": ("{}", "{1}", "{1,2,3}", "{NULL,1}", "{3,1,2147483647}", "{1,1,2}"),
    "_int8": ("{}", "{9223372036854775807,-1}", "{1,NULL}"),
    "_float8": ("{}", "{1.5,NaN}", "{Infinity,-0}"),
    "_numeric": ("{}", "{1.50,0}", "{NULL,2.5}"),
    "_text": ("{}", "{a}", "{a,b}", "{NULL,a}", '{"a b","",é}', "{a,c}"),
    "_date": ("{}", "{2024-02-29,infinity}"),
}  # fmt: skip

OUT_OF_REACH = {"numeric": ("NaN", "Infinity", "-Infinity", "1e40")}
"""Values that gpudb refuses on purpose: each occurs in a few statements of its own."""


def literal(name: str, text: str | None) -> str:
    """A value as a typed literal; None is NULL."""
    if text is None:
        return f"NULL::{name}"
    return f"'{text.replace(chr(39), chr(39) * 2)}'::{name}"
