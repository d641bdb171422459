"""Bit strings (PostgreSQL's manual, 9.6), represented as their digits: most operations work on text."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import let, once, raises
from gpudb.functions.operands import INTEGERS, STRINGS
from gpudb.functions.registry import Operands, declare
from gpudb.types import SqlType

BITS = frozenset({"bit", "varbit"})

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"bit{_name} varbit{_name}", f"({{0}} {_symbol} {{1}})")


def _wise(word: str, symbol: str) -> Callable[[Operands], str]:
    """Combines two strings of one length bit by bit; DuckDB's own bit strings cannot be empty."""
    wrong = raises("22026", f"'cannot {word} bit strings of different sizes'", "VARCHAR")

    def body(a: str, b: str) -> str:
        left, right = f"CAST({a} AS BIT)", f"CAST({b} AS BIT)"
        return (
            f"(CASE WHEN length({a}) <> length({b}) THEN {wrong} WHEN {a} = '' THEN {b}"
            f" ELSE CAST({symbol.format(left, right)} AS VARCHAR) END)"
        )

    return lambda operands: let(body, *operands.sql)


declare("bitand", _wise("AND", "({} & {})"))
declare("bitor", _wise("OR", "({} | {})"))
declare("bitxor", _wise("XOR", "xor({}, {})"))
declare("bitnot", "translate({0}, '01', '10')")
declare("bitcat", "({0} || {1})")
declare("bitcmp varbitcmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")


def _shifted(left: bool) -> Callable[[Operands], str]:
    """Shifts in zeros; a negative count shifts the other way."""

    def body(digits: str, count: str) -> str:
        by = f"least(abs({count}::BIGINT), length({digits}))"
        zeros = f"repeat('0', {by})"
        to_left = f"substring({digits}, {by} + 1) || {zeros}"
        to_right = f"{zeros} || left({digits}, length({digits}) - {by})"
        first, other = (to_left, to_right) if left else (to_right, to_left)
        return f"(CASE WHEN {count} >= 0 THEN {first} WHEN {count} < 0 THEN {other} END)"

    return lambda operands: let(body, *operands.sql)


declare("bitshiftleft", _shifted(True))
declare("bitshiftright", _shifted(False))

# ---------------------------------------------------------------------------------------------- parts

declare("length(bit) bit_length(bit)", "length({0})::INTEGER")
declare("octet_length(bit)", "((length({0}) + 7) // 8)::INTEGER")
declare("bit_count(bit)", "length(replace({0}, '0', ''))::BIGINT")
declare("substring(bit,int4)", "substring({0}, pg_at_least({1}, 1))")
declare("substring(bit,int4,int4)", once("pg_substring"))
declare("overlay(bit,bit,int4,int4)", once("pg_overlay"))
declare("overlay(bit,bit,int4)", lambda o: let(lambda s, r, n: f"pg_overlay({s}, {r}, {n}, length({r}))", *o.sql))
declare(
    "position(bit,bit)",
    lambda o: let(
        lambda s, part: f"(CASE WHEN {s} = '' THEN 0 WHEN {part} = '' THEN 1 ELSE strpos({s}, {part}) END)::INTEGER",
        *o.sql,
    ),
)


def _out_of_range(digits: str, place: str, held: str) -> str:
    message = f"'bit index ' || {place} || ' out of valid range (0..' || (length({digits}) - 1) || ')'"
    return f"WHEN {place} < 0 OR {place} >= length({digits}) THEN {raises('2202E', message, held)}"


declare(
    "get_bit(bit,int4)",
    lambda o: let(
        lambda s, n: f"(CASE {_out_of_range(s, n, 'INTEGER')} ELSE CAST({s}[{n} + 1] AS INTEGER) END)",
        *o.sql,
    ),
)
declare(
    "set_bit(bit,int4,int4)",
    lambda o: let(
        lambda s, n, v: (
            f"(CASE {_out_of_range(s, n, 'VARCHAR')}"
            f" WHEN {v} NOT IN (0, 1) THEN {raises('22023', repr('new bit must be 0 or 1'), 'VARCHAR')}"
            f" ELSE left({s}, {n}) || {v} || substring({s}, {n} + 2) END)"
        ),
        *o.sql,
    ),
)

# ---------------------------------------------------------------------------------------------- aggregates


def _over_all(name: str, word: str) -> Callable[[Operands], str]:
    """Aggregates bit strings; the result of empty ones, which DuckDB lacks, is empty."""

    def render(operands: Operands) -> str:
        value = operands.sql[0]
        least, most = (operands.call(each, f"length({value})") for each in ("min", "max"))
        wrong = raises("22026", f"'cannot {word} bit strings of different sizes'", "VARCHAR")
        made = operands.call(name, f"CAST(nullif({value}, '') AS BIT)")
        return f"(CASE WHEN {least} <> {most} THEN {wrong} WHEN {most} = 0 THEN '' ELSE CAST({made} AS VARCHAR) END)"

    return render


declare("bit_and(bit)", _over_all("bit_and", "AND"))
declare("bit_or(bit)", _over_all("bit_or", "OR"))
declare("bit_xor(bit)", _over_all("bit_xor", "XOR"))

# ---------------------------------------------------------------------------------------------- casts


def to_bits(sql: str, source: SqlType, target: SqlType, explicit: bool) -> str | None:
    """Converts a value to a bit string of the target's length: an explicit cast truncates it or fills it with zeros."""
    length = target.length
    if source.name in INTEGERS - {"int2"}:
        return _of_integer(sql, 1 if length is None else length)
    if source.name in STRINGS:
        sql = f"pg_{target.name}_in({sql})"
    elif source.name not in BITS:
        return None
    if length is None or (source.name == target.name and source.modifier == target.modifier):
        return sql
    if explicit:
        return f"rpad({sql}, {length}, '0')" if target.name == "bit" else f"left({sql}, {length})"
    if target.name == "bit":
        message = f"'bit string length ' || length({{0}}) || ' does not match type bit({length})'"
        test, state = "length({0}) <> {1}", "22026"
    else:
        message = f"'bit string too long for type bit varying({length})'"
        test, state = "length({0}) > {1}", "22001"
    return let(
        lambda v: (
            f"(CASE WHEN {test.format(v, length)} THEN {raises(state, message.format(v), 'VARCHAR')} ELSE {v} END)"
        ),
        sql,
    )


def _of_integer(sql: str, length: int) -> str:
    """Returns an integer's lowest bits; bits beyond its width are copies of its sign."""
    digits = f"CAST(CAST(CAST({sql} AS BIGINT) AS BIT) AS VARCHAR)"
    if length <= 64:
        return f"right({digits}, {length})"
    return let(lambda d: f"(repeat(left({d}, 1), {length - 64}) || {d})", digits)


def from_bits(sql: str, target: SqlType) -> str:
    """Converts a bit string, extended with zeros, to int4 or int8; 22003 if it has more bits."""
    width, held = (32, "INTEGER") if target.name == "int4" else (64, "BIGINT")
    wrong = raises("22003", f"'{target} out of range'", held)
    made = f"CAST(CAST(lpad({{0}}, {width}, '0') AS BIT) AS {held})"
    return let(lambda v: f"(CASE WHEN length({v}) > {width} THEN {wrong} ELSE {made.format(v)} END)", sql)
