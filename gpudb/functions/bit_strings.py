"""Bit strings (PostgreSQL's manual, 9.6), represented as their digits: most operations work on text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gpudb.functions.let_binding import bind_computed, bind_values, make_macro_template, render_error
from gpudb.functions.registry import Operands, declare
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS, STRINGS

BITS = frozenset({"bit", "varbit"})

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"bit{_name} varbit{_name}", f"({{0}} {_symbol} {{1}})")


def _combine(word: str, symbol: str) -> Callable[[Operands], str]:
    """Combines two strings of one length bit by bit; DuckDB's own bit strings cannot be empty."""
    error = render_error("22026", f"'cannot {word} bit strings of different sizes'", "VARCHAR")

    def body(a: str, b: str) -> str:
        left, right = f"CAST({a} AS BIT)", f"CAST({b} AS BIT)"
        return (
            f"(CASE WHEN length({a}) <> length({b}) THEN {error} WHEN {a} = '' THEN {b}"
            f" ELSE CAST({symbol.format(left, right)} AS VARCHAR) END)"
        )

    return lambda operands: bind_values(body, *operands.sql)


declare("bitand", _combine("AND", "({} & {})"))
declare("bitor", _combine("OR", "({} | {})"))
declare("bitxor", _combine("XOR", "xor({}, {})"))
declare("bitnot", "translate({0}, '01', '10')")
declare("bitcat", "({0} || {1})")
declare("bitcmp varbitcmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")


def _shift(left: bool) -> Callable[[Operands], str]:
    """Shifts in zeros; a negative count shifts the other way."""

    def body(digits: str, count: str) -> str:
        distance = f"least(abs({count}::BIGINT), length({digits}))"
        zeros = f"repeat('0', {distance})"
        to_left = f"substring({digits}, {distance} + 1) || {zeros}"
        to_right = f"{zeros} || left({digits}, length({digits}) - {distance})"
        first, other = (to_left, to_right) if left else (to_right, to_left)
        return f"(CASE WHEN {count} >= 0 THEN {first} WHEN {count} < 0 THEN {other} END)"

    return lambda operands: bind_values(body, *operands.sql)


declare("bitshiftleft", _shift(True))
declare("bitshiftright", _shift(False))

# ---------------------------------------------------------------------------------------------- parts

declare("length(bit) bit_length(bit)", "length({0})::INTEGER")
declare("octet_length(bit)", "((length({0}) + 7) // 8)::INTEGER")
declare("bit_count(bit)", "length(replace({0}, '0', ''))::BIGINT")
declare("substring(bit,int4)", "substring({0}, pg_at_least({1}, 1))")
declare("substring(bit,int4,int4)", make_macro_template("pg_substring"))
declare("overlay(bit,bit,int4,int4)", make_macro_template("pg_overlay"))
declare(
    "overlay(bit,bit,int4)", lambda o: bind_values(lambda s, r, n: f"pg_overlay({s}, {r}, {n}, length({r}))", *o.sql)
)
declare(
    "position(bit,bit)",
    lambda o: bind_values(
        lambda s, part: f"(CASE WHEN {s} = '' THEN 0 WHEN {part} = '' THEN 1 ELSE strpos({s}, {part}) END)::INTEGER",
        *o.sql,
    ),
)


def _index_check(digits: str, index: str, duckdb_type: str) -> str:
    message = f"'bit index ' || {index} || ' out of valid range (0..' || (length({digits}) - 1) || ')'"
    return f"WHEN {index} < 0 OR {index} >= length({digits}) THEN {render_error('2202E', message, duckdb_type)}"


declare(
    "get_bit(bit,int4)",
    lambda o: bind_values(
        lambda s, n: f"(CASE {_index_check(s, n, 'INTEGER')} ELSE CAST({s}[{n} + 1] AS INTEGER) END)",
        *o.sql,
    ),
)
declare(
    "set_bit(bit,int4,int4)",
    lambda o: bind_values(
        lambda s, n, v: (
            f"(CASE {_index_check(s, n, 'VARCHAR')}"
            f" WHEN {v} NOT IN (0, 1) THEN {render_error('22023', repr('new bit must be 0 or 1'), 'VARCHAR')}"
            f" ELSE left({s}, {n}) || {v} || substring({s}, {n} + 2) END)"
        ),
        *o.sql,
    ),
)

# ---------------------------------------------------------------------------------------------- aggregates


def _aggregate_bits(name: str, word: str) -> Callable[[Operands], str]:
    """Aggregates bit strings; the result of empty ones, which DuckDB lacks, is empty."""

    def render(operands: Operands) -> str:
        value = operands.sql[0]
        least, most = (operands.call(name_, f"length({value})") for name_ in ("min", "max"))
        error = render_error("22026", f"'cannot {word} bit strings of different sizes'", "VARCHAR")
        bits = operands.call(name, f"CAST(nullif({value}, '') AS BIT)")
        return f"(CASE WHEN {least} <> {most} THEN {error} WHEN {most} = 0 THEN '' ELSE CAST({bits} AS VARCHAR) END)"

    return render


declare("bit_and(bit)", _aggregate_bits("bit_and", "AND"))
declare("bit_or(bit)", _aggregate_bits("bit_or", "OR"))
declare("bit_xor(bit)", _aggregate_bits("bit_xor", "XOR"))

# ---------------------------------------------------------------------------------------------- casts


def _render_input(name: str, text: str) -> str:
    """Renders the input of a bit string. Few hexadecimal digits, as of a hash, are converted by DuckDB itself."""
    number = f"CAST(CAST('0x' || {text}[2:] AS BIGINT) AS BIT)"
    digits = f"right(CAST({number} AS VARCHAR), 4 * (length({text}) - 1))"
    return f"CASE WHEN regexp_full_match({text}, '[xX][0-9a-fA-F]{{1,15}}') THEN {digits} ELSE pg_{name}_in({text}) END"


def to_bits(sql: str, source: SqlType, target: SqlType, explicit: bool) -> str | None:
    """Converts a value to a bit string of the target's length: an explicit cast truncates it or fills it with zeros."""
    length = target.length
    if source.name in INTEGERS - {"int2"}:
        return _from_integer(sql, 1 if length is None else length)
    if source.name in STRINGS:
        sql = bind_values(partial(_render_input, target.name), sql)
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
    return bind_values(
        lambda v: (
            f"(CASE WHEN {test.format(v, length)} THEN {render_error(state, message.format(v), 'VARCHAR')}"
            f" ELSE {v} END)"
        ),
        sql,
    )


def _from_integer(sql: str, length: int) -> str:
    """Returns an integer's lowest bits; bits beyond its width are copies of its sign."""
    digits = f"CAST(CAST(CAST({sql} AS BIGINT) AS BIT) AS VARCHAR)"
    if length <= 64:
        return f"right({digits}, {length})"
    return bind_values(lambda d: f"(repeat(left({d}, 1), {length - 64}) || {d})", digits)


def from_bits(sql: str, target: SqlType) -> str:
    """Converts a bit string, extended with zeros, to int4 or int8; 22003 if it has more bits."""
    width, duckdb_type = (32, "INTEGER") if target.name == "int4" else (64, "BIGINT")
    error = render_error("22003", f"'{target} out of range'", duckdb_type)
    bits = f"CAST(CAST(lpad({{0}}, {width}, '0') AS BIT) AS {duckdb_type})"
    return bind_values(lambda v: f"(CASE WHEN length({v}) > {width} THEN {error} ELSE {bits.format(v)} END)", sql)


# ---------------------------------------------------------------------------------------------- distances


_LITERAL = re.compile("'[01]+'")


def _measure(count: Callable[[str, str, str], str]) -> Callable[[Operands], str]:
    """Computes a distance of two bit strings of one length, 22000 for others.

    `count` gets the operands, and one of their length, if possible a constant that is not empty.
    """

    def body(a: str, b: str) -> str:
        message = f"'different bit lengths ' || length({a}) || ' and ' || length({b})"
        error = render_error("22000", message, "DOUBLE")
        if _LITERAL.fullmatch(a) and _LITERAL.fullmatch(b) and len(a) != len(b):
            return error  # DuckDB computes what is constant, though a CASE leaves it out
        whens = f"WHEN length({a}) <> length({b}) THEN {error}"
        constant = next((each for each in (a, b) if _LITERAL.fullmatch(each)), None)
        if constant is None:  # DuckDB compares no empty texts
            none = count(*["'0'"] * 3)
            whens += f" WHEN {a} = '' THEN {none}"
            a, b = f"nullif({a}, '')", f"nullif({b}, '')"
        return f"(CASE {whens} ELSE CAST({count(a, b, constant or a)} AS DOUBLE) END)"

    return lambda operands: bind_computed(body, *operands.sql)


def _measure_overlap(a: str, b: str, long: str) -> str:
    """Returns |a and b| / |a or b|; 0 if they have no bit in common. Bits are counted as distances from zeros."""
    zeros = f"repeat('0', length({long}))"
    total, different = f"(hamming({a}, {zeros}) + hamming({b}, {zeros}))", f"hamming({a}, {b})"
    # A bit of both is in the total twice, one of the union's others once.
    ratio = f"({total} - {different}) / ({total} + {different})::DOUBLE"
    return f"(CASE WHEN {total} <= {different} THEN 0 ELSE {ratio} END)"


declare("hamming_distance(bit,bit)", _measure(lambda a, b, _: f"hamming({a}, {b})"))
declare("jaccard_distance(bit,bit)", _measure(lambda *operands: f"1 - {_measure_overlap(*operands)}"))
# PG-Strom's name for Tanimoto's similarity of fingerprints.
declare("gpu_similarity(bit,bit)", _measure(_measure_overlap))
declare("gpu_similarity(_int4,_int4)", "pg_tanimoto({0}, {1})")


def _render_nearest(operands: Operands) -> str:
    """Returns the average of a fingerprint's k greatest similarities to those of an array; 22023 for k below one."""
    error = render_error("22023", "'the number of neighbours must be at least 1'", "DOUBLE")
    similarity = _measure(_measure_overlap)

    def body(count: str, bits: str, others: str) -> str:
        each = similarity(replace(operands, sql=(bits, "pg_e")))
        nearest = f"list_reverse_sort(list_transform({others}, lambda pg_e: {each}), 'NULLS LAST')[1:{count}]"
        return f"(CASE WHEN {count} < 1 THEN {error} ELSE list_avg({nearest}) END)"

    return bind_computed(body, *operands.sql)


declare("gpu_similarity(int4,bit,_bit)", _render_nearest)
