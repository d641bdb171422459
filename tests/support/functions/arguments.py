"""Arguments for calls of any function: edge values of every type, and keywords of functions that take them.

Everything is the text of a SQL literal; a call's arguments are drawn from the lists with the call's own seed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

VALUES: dict[str, Sequence[str]] = {
    "bool": ("true", "false"),
    "int2": ("0", "1", "-1", "7", "-12", "32767", "-32768"),
    "int4": ("0", "1", "-1", "2", "3", "-7", "12", "2147483647", "-2147483648"),
    "int8": ("0", "1", "-1", "3", "-8", "120", "9223372036854775807", "-9223372036854775808"),
    "float4": ("0", "-0", "1", "-1.5", "0.1", "2.5", "3e37", "1e-40", "NaN", "Infinity", "-Infinity"),
    "float8": ("0", "-0", "1", "-1.5", "0.1", "2.5", "0.5", "-0.25", "1e300", "-3e-310", "NaN", "Infinity", "-Infinity"),
    "numeric": ("0", "1", "-1", "0.00", "2.50", "-3.14159", "0.5", "100", "12345.678", "0.000001", "-99999999.9999"),
    "text": ("", "a", "abc", "Abc Def", "héllo wörld", "日本語 text", "  x  ", "a,b,,c", "it's \"q\" \\b", "ÀÉß", "12"),
    "bpchar": ("", "a", "abc", "é", "ABC"),
    "varchar": ("", "abc", "é"),
    "name": ("", "abc", "Abc D"),
    "bytea": (r"\x", r"\x00", r"\x616263", r"\xff00fe", r"\x68c3a96c6c6f", r"\x2020612020"),
    "date": ("2024-02-29", "2000-01-01", "1999-12-31", "0001-01-01", "0044-03-15 BC", "9999-12-31", "infinity", "-infinity"),
    "time": ("00:00", "23:59:59.999999", "24:00", "12:34:56.5", "04:05"),
    "timetz": ("00:00+00", "23:59:59.999999-08", "12:34:56+05:30", "04:05-03"),
    "timestamp": ("2024-02-29 12:34:56.789", "2000-01-01", "1969-12-31 23:59:59.999999", "2024-12-31 23:59:59.5",
                  "0044-03-15 10:00 BC", "9999-12-31 23:59:59", "infinity", "-infinity"),
    "timestamptz": ("2024-02-29 12:34:56.789+00", "2000-01-01 00:00+02", "1969-12-31 23:59:59.999999+00",
                    "2024-03-31 01:30:00+00", "0044-03-15 10:00+00 BC", "infinity", "-infinity"),
    "interval": ("0", "1 day", "-1 mon +3 days", "1 year 2 mons 3 days 04:05:06.789", "35 days 27:00:00", "-00:00:01.5",
                 "40 mons"),
    "uuid": ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"),
    "json": ('{"a": 1, "b": [1, 2, {"c": null}], "d": "é\\u00e9"}', "[1, \"x\", null, [2], 1.50]", '"text"', "null", "12.30",
             "{}", "[]", ' {"a" : {"b": {"c": "foo"}} , "a": 2}'),
    "jsonb": ('{"a": 1, "b": [1, 2, {"c": null}], "d": "é\\u00e9"}', "[1, \"x\", null, [2], 1.50]", '"text"', "null",
              "12.30", "{}", "[]", '{"a": {"b": {"c": "foo"}}, "z": true}', '["a", "b"]', "[1, 1, 2]"),
    "jsonpath": ("$", "$.a", "$.b[*]", "strict $.a", "$.b[last] ? (@.c == null)", "$[*] ? (@ > 1)", "$.**", "$.a.type()"),
    "_text": ("{}", "{a,b}", "{b,2,c}", "{1,NULL,x}", '{"a b","é",""}', "{0}", "{-1}"),
    "_int4": ("{}", "{1}", "{1,2,3,2}", "{3,NULL,1}", "{-2147483648,2147483647}"),
    "_numeric": ("{}", "{1.5,2.50}", "{0.1,NULL}", "{100}"),
    "_float8": ("{}", "{0.5}", "{1,2.5,NaN}", "{-Infinity,0,Infinity}", "{0.25,0.75,1}"),
    "_timestamp": ("{}", "{2024-01-01,2024-02-29 12:00}"),
    "record": ("ROW(1, 'a')", "ROW(1, 'b')", "ROW(2, NULL)", "ROW(NULL::int4, 'a')"),
    "regclass": ("documented",),
    "money": ("0", "1.50", "-3", "1234567.89"),
    "bit": ("101", "110", "011"),
    "inet": ("1.2.3.4", "10.0.0.1/8", "2001:db8::1/64", "1.2.3.4/32"),
    "cidr": ("10.0.0.0/8", "2001:db8::/32"),
    "oid": ("0", "1259"),
}  # fmt: skip

# Keywords of single parameters by function (or operator's name) and position; a type in brackets where it matters.
_FIELDS = (
    "century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "microseconds",
    "millennium", "milliseconds", "minute", "month", "quarter", "second", "timezone", "timezone_hour",
    "timezone_minute", "week", "year", "DAY", "bogus",
)  # fmt: skip
_PATTERNS = (
    "", "b", "^a", "(b)(c)?", "[[:alpha:]]+", r"\s+", "a|é", ".", "x*", r"\d{2}", "(", "^$", "B", r"\mw", "(?i)ABC",
    "l+?", r"(.)\1", "[^a-z]",
)  # fmt: skip
_FLAGS = ("", "i", "g", "gi", "x", "n", "p", "w", "b", "q", "z")
_STRINGS = ("", "a", "abc", "Abc Def", "héllo wörld", "aabbcc 12 abc", "one\ntwo", "日本語")
_ENCODINGS = ("UTF8", "LATIN1", "utf-8", "SQL_ASCII", "WIN1252", "bogus")
_NUMBER_FORMATS = (
    "999", "9990.99", "S9999", "9999MI", "FM999.009", "0000", "9G999G990D00", "RN", "FMRN", "PR999", "999PR", "SG99.9",
    "99V9", "9.99EEEE", "L999", "FM0.000", "999th", "B999", '"Good" 99', "",
)  # fmt: skip
_MOMENT_FORMATS = (
    "YYYY-MM-DD HH24:MI:SS.US", "Day, DD Month YYYY", "FMDay, FMDD FMMonth YYYY", "Dy DDth Mon", "DDD D ID IDDD",
    "IYYY-IW", "HH12:MI:SS AM", "hh:mi:ss p.m.", "MS US FF1 FF3 FF6", "SSSS SSSSS", "Q CC J WW W", "RM rm", "YYYY BC",
    "Y,YYY YY Y I IY IYY", "TZ tz OF TZH:TZM", "MONTH month MON mon DAY day DY dy", "TMMonth", '"text" YYYY', "", "FMHH24:FMMI",
    "YYYYth", "AD a.d.",
)  # fmt: skip
_PATHS = (
    "$", "$.a", "$.b[*]", "strict $.a", "strict $.nothing", "$[*] ? (@ > $x)", "$.b[last]", "$[0 to 1]", "$.**", "$.**{1}",
    "$.a.type()", "$.b.size()", "$[*].double()", "-$[*]", "$.a + 1", "$.a == 1", '$.d like_regex "^\\u00e9"', "$[*] ? (@ == null)",
    '$.d starts with "é"', "exists($.a)", "$.keyvalue()", "($.a > 0) is unknown", "$[*] ? (@.type() == \"number\")", "1 +",
)  # fmt: skip
WORDS: dict[str, Sequence[str]] = {
    "date_trunc 0": ("microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year",
                     "decade", "century", "millennium", "Day", "bogus"),
    "date_trunc 2": ("UTC", "America/New_York", "Europe/Berlin", "bogus"),
    "extract 0": _FIELDS, "date_part 0": _FIELDS,
    "timezone 0": ("UTC", "America/New_York", "Europe/Berlin", "EST", "+05:30", "America/Los_Angeles", "bogus"),
    **{f"age {n}": ("2024-02-29 12:34:56.789", "2000-01-01", "1969-12-31 23:59:59.999999", "0044-03-15 10:00 BC", "-infinity") for n in (0, 1)},
    "date_bin 0": ("15 minutes", "1 day", "2 hours 30 minutes", "0", "1 month", "-1 day"),
    "date_add 2": ("UTC", "America/New_York"), "date_subtract 2": ("UTC", "America/New_York"),
    "make_timestamptz 6": ("UTC", "America/New_York", "bogus"),
    "make_date 0": ("2024", "1", "-44", "0"), "make_date 1": ("1", "2", "12", "13"), "make_date 2": ("1", "29", "31", "0"),
    "make_time 0": ("0", "23", "24", "-1"), "make_time 1": ("0", "59", "60"), "make_time 2": ("0", "59.5", "60", "61", "NaN"),
    **{f"make_timestamp{z} {n}": v for z in ("", "tz") for n, v in enumerate(
        (("2024", "1", "-44"), ("1", "2", "13"), ("1", "29"), ("0", "23"), ("0", "59"), ("0", "59.25", "61")))},
    **{f"make_interval {n}": ("0", "1", "-5", "100000") for n in range(6)}, "make_interval 6": ("0", "1.5", "-0.000001"),
    "to_char 1 number": _NUMBER_FORMATS, "to_char 1 moment": _MOMENT_FORMATS,
    "to_number 0": ("12,454.8-", "-12.5", "$1,234.50", "00123", "1e3", " 42 ", "abc", "", "<12>", "XIV", "1 234"),
    "to_number 1": ("99G999D9S", "S99.9", "L9,999.99", "99999", "9.9EEEE", "999", "", "99PR"),
    "to_date 0": ("2024-02-29", "29 Feb 2024", "20240229", "February 29, 2024", "2024-13-01", "24-2-9", "", "0044-03-15 BC",
                  "2024-W09-4", "2024-060"),
    "to_date 1": ("YYYY-MM-DD", "DD Mon YYYY", "YYYYMMDD", "FMMonth DD, YYYY", "YY-MM-DD", "YYYY-MM-DD BC", 'IYYY-"W"IW-ID',
                  "YYYY-DDD", ""),
    "to_timestamp 0 text": ("2024-02-29 12:34:56.789", "29 Feb 2024 01:02 PM", "20240229123456", "2024-02-29 25:00", "05:06",
                            "2024-02-29 12:34:56+05", ""),
    "to_timestamp 1": ("YYYY-MM-DD HH24:MI:SS.MS", "DD Mon YYYY HH12:MI AM", "YYYYMMDDHH24MISS", "HH24:MI",
                       "YYYY-MM-DD HH24:MI:SSTZH", "YYYY-MM-DD HH24:MI:SS"),
    "encode 1": ("hex", "base64", "escape", "HEX", "bogus"), "decode 1": ("hex", "base64", "escape", "bogus"),
    "decode 0": ("616263", "YWJj", r"\000abc\\", "6", "zz", "", "YWJ", "é"),
    "convert 1": _ENCODINGS, "convert 2": _ENCODINGS, "convert_from 1": _ENCODINGS, "convert_to 1": _ENCODINGS,
    "length 1": ("UTF8", "LATIN1", "bogus"),
    "normalize 1": ("NFC", "NFD", "NFKC", "NFKD", "nfc", "bogus"),
    "is_normalized 1": ("NFC", "NFD", "NFKC", "NFKD", "bogus"),
    "unistr 0": (r"d\0061t\+000061", r"\u0441\u043B", r"\\", r"\00", "plain", r"\d83d\de00", r"\d83d", r"\U0001F600"),
    "parse_ident 0": ("a.b", '"Some Schema".Table', "a.", '"x', "é.ü", "1a", "a b", ""),
    "format 0": ("Hello %s", "%I %L", "%%", "%2$s %1$s", "[%10s] [%-10s]", "%s %s %s", "%", "%z", "%*s", "%1$s"),
    "to_ascii 1": ("LATIN1", "LATIN2", "bogus"),
    "like_escape 0": ("a%", "a!%", r"\a"), "like_escape 1": ("!", "", "ab"),
    "repeat 1": ("0", "1", "3", "-1"), "lpad 1": ("0", "2", "9", "-1"), "rpad 1": ("0", "2", "9", "-1"),
    "lpad 2": ("", "xy", "é"), "rpad 2": ("", "xy", "é"),
    "left 1": ("0", "2", "-1", "100", "-100", "2147483647", "-2147483648"),
    "right 1": ("0", "2", "-1", "100", "-100", "2147483647", "-2147483648"),
    "chr 0": ("65", "233", "128512", "0", "-1", "55296", "1114112", "1"),
    "split_part 1": (",", "", "b", "xyz"), "split_part 2": ("1", "2", "0", "-1", "9"),
    "string_to_array 1": (",", "", "b", " "), "string_to_array 2": ("", "a", "c"),
    "string_to_table 1": (",", "", "b", " "), "string_to_table 2": ("", "a", "c"),
    "array_to_string 1": (",", "", "; "), "array_to_string 2": ("*", ""),
    "translate 1": ("abc", "", "é"), "translate 2": ("x", "", "xyz"),
    "strpos 1": ("b", "", "w", "語"), "position 0": ("b", "", "w", "語"), "starts_with 1": ("a", "", "A", "日"), "^@ 1": ("a", "", "A", "日"),
    "replace 1": ("b", "", "l"), "btrim 1": (" ", "ax", "", "é"), "ltrim 1": (" ", "ax", "", "日"), "rtrim 1": (" ", "tx", ""),
    **{f"regexp_{f} 0": _STRINGS for f in "count instr like match matches replace split_to_array split_to_table substr".split()},
    **{f"regexp_{f} 1": _PATTERNS for f in "count instr like match matches replace split_to_array split_to_table substr".split()},
    **{f"regexp_{f} 2": _FLAGS for f in "like match matches split_to_array split_to_table".split()},
    **{f"regexp_{f} 2 int4": ("1", "3", "100", "0") for f in "count instr substr".split()},
    **{f"regexp_{f} 3 int4": ("1", "2", "0") for f in "instr substr".split()},
    "regexp_count 3": _FLAGS, "regexp_instr 4": ("0", "1", "2"), "regexp_instr 5": _FLAGS, "regexp_instr 6": ("0", "1", "2", "-1"),
    "regexp_substr 4": _FLAGS, "regexp_substr 5": ("0", "1", "2"),
    "regexp_replace 2": (r"<\1>", r"[\&]", "x", "", r"\\", r"\2"), "regexp_replace 3 text": _FLAGS,
    "regexp_replace 3 int4": ("1", "3", "0"), "regexp_replace 4 int4": ("0", "1", "2"), "regexp_replace 4 text": _FLAGS, "regexp_replace 5": _FLAGS,
    **{f"{o} 1": _PATTERNS for o in ("~", "~*", "!~", "!~*")},
    **{f"{o} 1": ("a%", "%b_", "", "%", "_", r"a\%", "héll_ w%", "ABC", "\\") for o in ("~~", "!~~", "~~*", "!~~*")},
    "~~ 1 bytea": (r"\x6125", r"\x255f", r"\x25", r"\x61"), "!~~ 1 bytea": (r"\x6125", r"\x255f", r"\x25", r"\x61"),
    "substring 1 text": ("b.", "(l)(.)", "^$", "%#\"b#\"%"), "substring 2 text": ("#", ""),
    "substring 1 int4": ("1", "2", "0", "-3", "100"), "substring 2 int4": ("0", "2", "100", "-1", "2147483647"),
    "substr 1": ("1", "2", "0", "-3", "100"), "substr 2": ("0", "2", "100", "-1", "2147483647"),
    "overlay 2": ("1", "2", "0", "9"), "overlay 3": ("0", "2", "9", "-1"),
    "get_bit 1": ("0", "7", "8", "-1", "100"), "set_bit 1": ("0", "7", "8", "100"), "set_bit 2": ("0", "1", "2"),
    "get_byte 1": ("0", "1", "-1", "100"), "set_byte 1": ("0", "1", "100"), "set_byte 2": ("0", "255", "256", "-1"),
    "factorial 0": ("0", "1", "5", "20", "33", "-1"), "trunc 1": ("0", "2", "-2", "5", "30"), "round 1": ("0", "2", "-2", "5", "30"),
    "^ 1 numeric": ("0", "1", "2", "-1", "0.5", "3"), "power 1 numeric": ("0", "1", "2", "-1", "0.5", "3"),
    "exp 0 numeric": ("0", "1", "-1", "2.5", "-10.25", "20"),
    "width_bucket 1 _int4": ("{}", "{1,2,2,9}", "{3,NULL,1}"), "width_bucket 1 _text": ("{}", "{a,b,é}"),
    "width_bucket 1 _numeric": ("{}", "{0.5,1,2.50}"), "width_bucket 3": ("1", "5", "100", "0"),
    "width_bucket 1 float8": ("0", "-1.5", "NaN"), "width_bucket 2 float8": ("1", "10", "0"),
    "jsonb_set 1": ("{a}", "{b,0}", "{b,9}", "{new}", "{}", "{0}", "{a,b,c}", "{b,x}", "{-1}"),
    "jsonb_set_lax 1": ("{a}", "{b,0}", "{new}", "{}"),
    "jsonb_set_lax 4": ("use_json_null", "delete_key", "return_target", "raise_exception", "bogus"),
    "jsonb_insert 1": ("{b,0}", "{b,-1}", "{new}", "{a}", "{0}", "{b,9}"),
    "-> 1 text": ("a", "b", "", "é", "0"), "->> 1 text": ("a", "b", "d", "", "0"), "-> 1 int4": ("0", "1", "-1", "9"), "->> 1 int4": ("0", "1", "-1", "9"),
    "#> 1": ("{a}", "{b,2,c}", "{}", "{1}", "{-1}", "{a,b,c}", "{b,NULL}"), "#>> 1": ("{a}", "{b,2,c}", "{}", "{1}", "{a,b,c}"),
    "#- 1": ("{a}", "{b,2,c}", "{}", "{1}", "{a,b,c}", "{b,x}"),
    "? 1": ("a", "b", "text", "é"), "- 1 text": ("a", "b", "x"), "- 1 int4": ("0", "1", "-1", "9"), "- 1 _text": ("{a,b}", "{}", "{x,NULL}"),
    **{f"json{b}_extract_path{t} {n}": ("a", "b", "2", "c") for b in ("", "b") for t in ("", "_text") for n in range(1, 4)},
    **{f"jsonb_path_{f}{z} 1": _PATHS for f in ("exists", "match", "query", "query_array", "query_first") for z in ("", "_tz")},
    **{f"jsonb_path_{f}{z} 2": ('{"x": 1}', "{}", "[1]") for f in ("exists", "match", "query", "query_array", "query_first") for z in ("", "_tz")},
    "@? 1": _PATHS, "@@ 1": _PATHS,
    "generate_series 0": ("1", "-2", "5"), "generate_series 1": ("4", "0", "-3"), "generate_series 2": ("1", "2", "-2", "0"),
    "generate_series 0 numeric": ("1", "0.5", "-2.25"), "generate_series 1 numeric": ("4", "0.00", "2.5"), "generate_series 2 numeric": ("1", "0.75", "-2", "0"),
    "generate_series 0 time": ("2024-01-30", "2024-02-29 12:00"), "generate_series 1 time": ("2024-04-02", "2024-01-01"),
    "generate_series 2 time": ("1 month", "10 days", "-1 week", "12:00:00", "0"), "generate_series 3": ("UTC", "Europe/Berlin"),
    "generate_subscripts 1": ("1", "0", "2"), "array_fill 1": ("{3}", "{0}", "{}", "{-1}"), "array_fill 2": ("{1}",),
    "trim_array 1": ("0", "1", "9", "-1"), "array_position 2": ("1", "2", "9"),
    "array_length 1": ("1", "0", "2"), "array_lower 1": ("1", "0", "2"), "array_upper 1": ("1", "0", "2"),
    "to_timestamp 0 float8": ("0", "1.5", "-62135596800", "1e10", "NaN", "Infinity", "-Infinity", "1709210096.789"),
    "pg_sleep 0": ("0",), "setseed 0": ("0", "0.5", "1", "-1", "1.5", "NaN"),
    "nth_value 1": ("1", "2", "9"), "lag 1": ("0", "1", "2", "-1"), "lead 1": ("0", "1", "2", "-1"), "ntile 0": ("1", "2", "3"),
    "percentile_cont 0": ("0", "0.5", "0.33", "1", "1.5"), "percentile_disc 0": ("0", "0.5", "0.33", "1", "-1"),
    "percentile_cont 0 _float8": ("{0,0.25,0.5}", "{}", "{0.75,NULL}"), "percentile_disc 0 _float8": ("{0,0.25,0.5}", "{}", "{0.75,NULL}"),
    "string_agg 1": (",", ""),
}  # fmt: skip

_GROUPS = {"number": {"int4", "int8", "float4", "float8", "numeric"}, "time": {"timestamp", "timestamptz", "interval"}}
POLYMORPHIC = ({"anyelement": "int4", "anyarray": "_int4"}, {"anyelement": "text", "anyarray": "_text"},
               {"anyelement": "numeric", "anyarray": "_numeric"})  # fmt: skip


def values(name: str, types: Sequence[str], position: int) -> Sequence[str]:
    """Returns the literals for one parameter of a function or operator."""
    held = types[position]
    first = "number" if types[0] in _GROUPS["number"] else "moment"
    group = "time" if held in _GROUPS["time"] else held
    for key in (f"{name} {position} {held}", f"{name} {position} {group}", f"{name} {position} {first}"):
        if key in WORDS:
            return WORDS[key]
    words = WORDS.get(f"{name} {position}")
    if words is not None and (held not in _WORDLESS or name in _ALWAYS):
        return words
    return VALUES[held]


_WORDLESS = frozenset({"numeric", "bytea", "json", "jsonb", "timestamp", "timestamptz"})
_ALWAYS = frozenset({"age", "trunc", "round", "generate_series", "date_bin", "overlay"})


def draw(name: str, types: Sequence[str], most: int) -> Iterator[tuple[str | None, ...]]:
    """Draws at most `most` lists of arguments: every value of every parameter occurs, and NULL in every position."""
    seeded = random.Random(f"{name} {types}")
    lists = [list(values(name, types, position)) for position in range(len(types))]
    if not lists:
        yield ()
        return
    every = 1
    for each in lists:
        every *= len(each)
    if every <= most:
        yield from itertools.product(*lists)
    else:
        seen = set()
        for _ in range(-(-most // max(map(len, lists)))):
            columns = [seeded.sample(each, len(each)) for each in lists]
            for number in range(max(map(len, columns))):
                row = tuple(column[number % len(column)] for column in columns)
                if row not in seen and len(seen) < most:
                    seen.add(row)
                    yield row
    for place in range(len(types)):
        yield tuple(None if place == number else each[0] for number, each in enumerate(lists))


def literal(value: str | None, held: str) -> str:
    """Formats a value as a constant of its type."""
    if held == "record":
        return "ROW(NULL::int4, NULL::text)" if value is None else value
    if held == "bit" and value is not None:
        return f"B'{value}'"
    spelt = f'"{held}"' if held in {"char", "name"} else f"{held[1:]}[]" if held.startswith("_") else held
    return f"NULL::{spelt}" if value is None else "'" + value.replace("'", "''") + f"'::{spelt}"
