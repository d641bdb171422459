"""Calls of every documented scalar function and operator over the columns of one table of distinct rows.

The table has up to three columns for each type, `int4_0` to `int4_2`. An argument is the column of its type by its
place, except where a function wants values of its own: `_ARGUMENTS` gives their SQL, and the keywords of
tests/support/functions/arguments.py are tried in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from gpudb.functions.library import Function
from gpudb.functions.manual import Entry, list_entries
from tests.support.functions.arguments import VALUES, literal, values
from tests.support.functions.calls import Call, argument_types

_TEXT = (
    "'Word' || i || ' Of ' || substr(md5((i * 3)::text), 1, 12)"
    " || CASE WHEN i % 10 = 0 THEN ' é' ELSE ' e' END || ', the End'"
)
_DOCUMENT = """'{"a": ' || i || ', "b": [1, 2, {"c": null}], "d": "text ' || i || '"}'"""
_TIME = "(time '00:00' + i * interval '0.8 s')"
_STEP = "i * interval '3 h 17 min 5.123 s'"
_COLUMNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bool": ("bool", ("i % 3 = 0", "i % 2 = 0", "i % 5 = 0")),
    "int2": ("int2", ("i % 150 + 1", "i % 31 + 1", "i % 7 + 1")),
    "int4": ("int4", ("i", "i % 997 + 1", "i % 31 + 1")),
    "int8": ("int8", ("i * 1000003::int8", "i % 9973 + 1", "i % 31 + 1")),
    "float4": ("float4", ("i * 0.37 + 0.001", "i % 997 * 0.5 + 0.25", "i % 31 + 0.5")),
    "float8": ("float8", ("i * 0.37 + 0.001", "i % 997 * 0.5 + 0.25", "i % 31 + 0.5")),
    "numeric": ("numeric(12,2)", ("i * 1.37", "i % 997 * 0.25 + 0.5", "i % 31 + 0.5")),
    "text": ("text", (_TEXT, "'d' || i % 10", "'x' || i % 7")),
    "varchar": ("varchar(60)", (_TEXT, "'d' || i % 10")),
    "bpchar": ("char(60)", (_TEXT, "'d' || i % 10")),
    "name": ("name", (_TEXT, "'d' || i % 10")),
    "bytea": ("bytea", ("decode(md5(i::text), 'hex')", "decode(md5((i * 7)::text), 'hex')")),
    "date": ("date", ("date '1800-01-01' + i", "date '1990-01-01' + i % 9000")),
    "time": ("time", (_TIME, "time '00:00' + i % 1440 * interval '1 min'")),
    "timetz": ("timetz", (f"({_TIME}::text || '+02')::timetz", f"({_TIME}::text || '-05:30')::timetz")),
    "timestamp": ("timestamp", (f"timestamp '1990-01-01' + {_STEP}", f"timestamp '2001-01-01' + {_STEP}")),
    "timestamptz": (
        "timestamptz",
        (f"timestamptz '1990-01-01 00:00+00' + {_STEP}", f"timestamptz '2001-01-01 00:00+00' + {_STEP}"),
    ),
    "interval": (
        "interval",
        (
            "make_interval(months => i % 40, days => i % 95, secs => i * 1.7)",
            "make_interval(0, i % 13, 0, i % 95, 0, 0, i)",
        ),
    ),
    "uuid": ("uuid", ("md5(i::text)::uuid", "md5((i * 7)::text)::uuid")),
    "json": ("json", (f"({_DOCUMENT})::json",)),
    "jsonb": ("jsonb", (f"({_DOCUMENT})::jsonb", "('{\"e\": ' || i || '}')::jsonb")),
    "_text": ("text[]", ("ARRAY['a' || i, 'b', NULL, 'c d']", "ARRAY['b', 'x' || i % 10]")),
    "_int4": ("int4[]", ("ARRAY[i, i % 7, 3]", "ARRAY[3, i % 10]")),
    "_numeric": ("numeric(12,2)[]", ("ARRAY[i * 1.37, 2.5]", "ARRAY[2.5, i % 10]")),
    "_float8": ("float8[]", ("ARRAY[i * 0.37, 2.5]",)),
}
"""By type: its declaration, and its columns over `i`, which counts rows from 1."""

_REGEXPS = "count instr like match matches replace split_to_array split_to_table substr".split()
_FRACTION = "int4_0 / 100001.0::float8"
_SMALL = "int4_2::{}"
_ARGUMENTS: dict[str, str] = {
    **{f"{name} 0": _FRACTION for name in ("acos", "acosd", "asin", "asind", "atanh", "erf", "erfc")},
    **{f"{name} 0": "float8_0 / 1000" for name in ("sinh", "cosh")},
    "acosh 0": "float8_0 + 1",
    "exp 0 float8": "float8_0 / 1000",
    "exp 0 numeric": "numeric_0 / 10000",
    **{f"{name} 1 {held}": _SMALL.format(held) for name in ("^", "power", "pow") for held in ("float8", "numeric")},
    **{f"{name} 0 {held}": _SMALL.format(held) for name in ("^", "power", "pow") for held in ("numeric",)},
    "factorial 0": "(int8_2)",
    "chr 0": "int4_1 + 60",
    "to_timestamp 0 float8": "float8_0 * 10000",
    "to_number 0": "(numeric_0)::text",
    "to_number 1": "'999999999D99'",
    "to_date 0": "to_char(timestamp_0, 'YYYY-MM-DD')",
    "to_date 1": "'YYYY-MM-DD'",
    "to_timestamp 0 text": "timestamp_0::text",
    "to_timestamp 1": "'YYYY-MM-DD HH24:MI:SS.MS'",
    "to_char 1 number": "'FM999,999,990.00'",
    "to_char 1": "'YYYY-MM-DD HH24:MI:SS, Dy IYYY-IW'",
    "to_char 1 of interval": "'HH24:MI:SS.MS'",
    "date_trunc 0": "'month'",
    "date_part 0": "'month'",
    "extract 0": "'month'",
    "timezone 0 text": "'America/New_York'",
    "timezone 0 interval": "interval '1 hour'",
    "date_bin 0": "interval '15 minutes'",
    "date_bin 2": "timestamp '2001-01-01'",
    "decode 0": "encode(bytea_0, 'hex')",
    "decode 1": "'hex'",
    "unistr 0": "'\\0061' || text_0",
    "parse_ident 0": "'\"A\".b' || int4_0",
    "format 0": "'%s has %s (%L)'",
    "convert_from 0": "convert_to(text_0, 'UTF8')",
    "convert 0": "convert_to(text_0, 'UTF8')",
    "length 0 bytea": "convert_to(text_0, 'UTF8')",
    "make_date 0": "int4_1 + 1500",
    "make_date 1": "int4_2 % 12 + 1",
    "make_date 2": "int4_2 % 28 + 1",
    "make_time 0": "int4_2 % 24",
    "make_time 1": "int4_1 % 60",
    "make_time 2": "float8_2",
    **{
        f"make_timestamp{z} {at}": text
        for z in ("", "tz")
        for at, text in enumerate(
            ("int4_1 + 1500", "int4_2 % 12 + 1", "int4_2 % 28 + 1", "int4_2 % 24", "int4_1 % 60", "float8_2")
        )
    },
    "make_timestamptz 6": "'America/New_York'",
    **{f"make_interval {at}": "int4_2" for at in range(6)},
    "make_interval 6": "float8_1",
    **{f"{name} 1": "'rd[0-9]+ Of (.)'" for name in ("~", "~*", "!~", "!~*")},
    **{f"{name} 1 text": "'%d1% Of a%'" for name in ("~~", "!~~", "~~*", "!~~*")},
    **{f"regexp_{name} 0": "text_0" for name in _REGEXPS},
    **{f"regexp_{name} 1": "'[a-f]([0-9]+)'" for name in _REGEXPS},
    "substring 1 text": "'Of ([a-f0-9]+)'",
    "substring 1": "3",
    "substring 2": "5",
    "substr 1": "3",
    "substr 2": "5",
    "repeat 1": "3",
    "lpad 1": "60",
    "rpad 1": "60",
    "split_part 1": "' '",
    "split_part 2": "2",
    "left 1": "12",
    "right 1": "12",
    "string_to_array 1": "' '",
    "strpos 1": "'Of'",
    "position 1": "'Of'",
    "starts_with 1": "'Word1'",
    "^@ 1": "'Word1'",
    "replace 1": "'Of'",
    "translate 1": "'abc'",
    "translate 2": "'xyz'",
    "get_bit 1": "7",
    "set_bit 1": "7",
    "get_byte 1": "7",
    "set_byte 1": "7",
    "width_bucket 1 float8": "0",
    "width_bucket 2 float8": "40000",
    "width_bucket 3": "50",
    "round 1": "1",
    "trunc 1": "1",
    "-> 1 text": "'d'",
    "->> 1 text": "'d'",
    "jsonb_set 2": "jsonb_1",
    "array_fill 0": "int4_0",
    "generate_subscripts 1": "1",
    "to_ascii 0": "translate(text_0, 'é', 'e')",
    "pg_size_bytes 0": "int4_0 || ' kB'",
    "array_to_string 1": "', '",
    "jsonb_insert 2": "jsonb_1",
    "- 1 _text": "ARRAY['a', 'b']",
}
"""SQL of an argument, by function (or operator's name), place and, if it matters, its type or the first argument's."""
_MOST_CONSTANTS = 40
_ORDERED = frozenset("int2 int4 int8 float4 float8 numeric date time timetz timestamp timestamptz interval".split())


@dataclass(frozen=True, slots=True)
class ScalarCall:
    """A documented overload with one list of argument types: its call's SQL, with several constants to try."""

    label: str
    expressions: tuple[str, ...]
    result: str

    @staticmethod
    def reduce(expression: str, result: str) -> str:
        """Returns an aggregate of a call's values that no engine can know without computing each of them."""
        if result in _ORDERED:
            return f"max({expression})"
        if result in {"text", "bytea"}:
            return f"sum(length({expression}))"
        if result in {"name", "json", "jsonb"}:
            return f"sum(length(({expression})::text))"
        if result == "bool":
            return f"count(*) FILTER (WHERE {expression})"
        return f"sum(cardinality({expression}))" if "array" in result or result[0] == "_" else f"count({expression})"


def make_table(rows: int) -> str:
    """Returns the CREATE TABLE AS of the columns."""
    columns = [
        f"({sql})::{declared} AS {name}_{place}"
        for name, (declared, texts) in _COLUMNS.items()
        for place, sql in enumerate(texts)
    ]
    return f"CREATE TABLE scalars AS SELECT {', '.join(columns)} FROM generate_series(1, {rows}) AS i"


def list_columns() -> str:
    """Returns the columns' declarations, in the table's order."""
    return ", ".join(
        f"{name}_{place} {declared}" for name, (declared, texts) in _COLUMNS.items() for place in range(len(texts))
    )


def list_calls() -> Iterator[ScalarCall]:
    """Yields the calls of all functions and operators that are neither sets, nor volatile, nor constructs."""
    for entry in list_entries():
        target = entry.target
        if target is None or entry.kind not in {"function", "operator"} or entry.mark == "not yet":
            continue
        function = target if isinstance(target, Function) else target.function
        if function.returns_set or function.volatile == "v":
            continue
        yield from _list_shapes(entry)


def _list_shapes(entry: Entry) -> Iterator[ScalarCall]:
    target = entry.target
    assert target is not None
    function = target if isinstance(target, Function) else target.function
    for types in argument_types(target):
        choices = [_list_arguments(entry.name, types, place) for place in range(len(types))]
        if not types:  # a constant
            continue
        call = Call(entry.name, types, (), target)
        label = f"{entry.name}({', '.join(types)})"
        expressions = tuple(call.expression(arguments) for arguments in islice(product(*choices), _MOST_CONSTANTS))
        yield ScalarCall(label, expressions, function.result.name)


def _list_arguments(name: str, types: Sequence[str], place: int) -> list[str]:
    """Returns the SQL of an argument, or several to try."""
    held = types[place]
    group = "number" if types[0] in {"int4", "int8", "float4", "float8", "numeric"} else "moment"
    for key in (
        f"{name} {place} {held}",
        f"{name} {place} of {types[0]}",
        f"{name} {place} {group}",
        f"{name} {place}",
    ):
        if key in _ARGUMENTS:
            return [f"({_ARGUMENTS[key]})::{_spell(held)}"]
    if held in _COLUMNS and (place == 0 or values(name, types, place) is VALUES[held]):
        return [f"{held}_{place % len(_COLUMNS[held][1])}"]
    if held == "record":
        return ["ROW(int4_0, text_0)" if place == 0 else "ROW(int4_1, text_0)"]
    return [literal(value, held) for value in values(name, types, place) if value][:6]


def _spell(held: str) -> str:
    return f"{held[1:]}[]" if held.startswith("_") else held
