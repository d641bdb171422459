"""Strings: the functions of PostgreSQL's manual, 9.4, over UTF-8 text whose lengths are in code points."""

from __future__ import annotations

import re

from gpudb.functions.casts import LOOKED_UP, cast
from gpudb.functions.dimensions import flatten
from gpudb.functions.let_binding import bind_values, make_macro_template
from gpudb.functions.operands import unpack
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import get_constant_text, quote_literal
from gpudb.functions.to_text import to_text
from gpudb.types import TEXT

# ---------------------------------------------------------------------------------------------- concatenation

_UNASKED_BYTES = 1 << 24
"""A joined text of so many bytes is made without asking for the memory."""
_GROWS = re.compile(
    r"\b(?:pg_)?(?:repeat|replace|[lr]pad|string_agg|array_to_string|regexp_replace|concat|format)\w*\("
)
_COLUMN = re.compile(r"""(?:\w+|\(\w+\)|"(?:[^"]|"")*")(?:\.\w+|\."(?:[^"]|"")*")*""")


def _may_be_long(sql: str) -> bool:
    """Whether an operand may have many bytes: a column, or what a function that grows texts makes."""
    return _COLUMN.fullmatch(sql) is not None or _GROWS.search(sql) is not None


def _ask(last: str, *operands: str) -> str:
    """Returns the last operand of what joins texts, once the memory is there for all of them (see `gpudb.memory`).

    DuckDB makes texts of constants also on branches that are not taken: so what is made depends on the answer.
    """
    size = " + ".join(f"coalesce(strlen({each}), 0)" for each in operands)
    return f"CASE WHEN {size} <= {_UNASKED_BYTES} THEN {last} WHEN pg_allot({size}) >= 0 THEN {last} END"


def _render_join(operands: Operands) -> str:
    if not all(map(_may_be_long, operands.sql)):
        return f"({operands.sql[0]} || {operands.sql[1]})"
    return bind_values(lambda a, b: f"({a} || {_ask(b, a, b)})", *operands.sql)


declare("textcat", _render_join)


def _to_any_text(operands: Operands, index: int) -> str:
    return to_text(operands.sql[index], operands.scales[index], operands.types[index])


def _format_operands(operands: Operands, first: int = 0) -> list[str]:
    """Returns the operands in their output functions' form."""
    return [
        to_text(sql, scale, item, output=True)
        for sql, scale, item in list(zip(operands.sql, operands.scales, operands.types, strict=True))[first:]
    ]


declare("textanycat", lambda o: f"({o.sql[0]} || {_to_any_text(o, 1)})")
declare("anytextcat", lambda o: f"({_to_any_text(o, 0)} || {o.sql[1]})")


def _render_list(name: str, separators: list[str], texts: list[str], first: list[str]) -> str:
    """Returns a call that joins texts, of which those that may be long are bound, and asked for together."""
    long = [place for place, each in enumerate(texts) if _may_be_long(each)]
    if len(long) < 2:
        return f"{name}({', '.join([*first, *texts, *separators])})"

    def join(*names: str) -> str:
        held = list(texts)
        for place, each in zip(long, names, strict=True):
            held[place] = each
        held[long[-1]] = _ask(names[-1], *names)
        return f"{name}({', '.join([*first, *held, *separators])})"

    return bind_values(join, *(texts[place] for place in long))


declare("concat", lambda o: _render_list("concat", ["''"], _format_operands(o), []))
declare("concat_ws", lambda o: _render_list("concat_ws", [], _format_operands(o, 1), [o.sql[0]]))


def _render_string_agg(operands: Operands) -> str:
    """DuckDB accepts a constant delimiter only; any other is collected beside each value."""
    if isinstance(operands.constants[1], str):
        return operands.call("string_agg", *operands.sql)
    return f"array_to_string({_prefix_delimiters(operands)}, '')"


def _prefix_delimiters(operands: Operands) -> str:
    """Returns a list of the values that are not NULL, each but the first after its own delimiter; NULL if there are
    none.
    """
    pairs = operands.call("list", f"struct_pack(v := {operands.sql[0]}, d := {operands.sql[1]})")
    present = f"list_filter({pairs}, lambda pg_e: (pg_e).v IS NOT NULL)"
    nothing = f"CAST('' AS {operands.result.duckdb})"
    joined_item = f"CASE WHEN pg_i = 1 THEN (pg_e).v ELSE coalesce((pg_e).d, {nothing}) || (pg_e).v END"
    return bind_values(
        lambda rows: f"(CASE WHEN len({rows}) > 0 THEN list_transform({rows}, lambda pg_e, pg_i: {joined_item}) END)",
        present,
    )


declare("string_agg(text,text)", _render_string_agg)

# ---------------------------------------------------------------------------------------------- lengths

declare("textlen length(text) length(bpchar) char_length character_length", "length({0})::INTEGER")
declare("octet_length(text)", "strlen({0})::INTEGER")
declare("octet_length(bytea) length(bytea)", "octet_length({0})::INTEGER")
declare("bit_length(text)", "(strlen({0}) * 8)::INTEGER")
declare("bit_length(bytea)", "(octet_length({0}) * 8)::INTEGER")


def _render_padded_octets(operands: Operands) -> str:
    """Returns the number of bytes of a char(n), its blanks included."""
    length = operands.types[0].padded_length
    if length is None:
        return f"strlen({operands.sql[0]})::INTEGER"
    return bind_values(lambda v: f"(strlen({v}) + greatest(0, {length} - length({v})))::INTEGER", operands.sql[0])


declare("octet_length(bpchar)", _render_padded_octets)

# ---------------------------------------------------------------------------------------------- case

declare("upper(text)", make_macro_template("pg_upper"))
declare("lower(text)", make_macro_template("pg_lower"))
declare("initcap(text)", "pg_initcap({0})")

# ---------------------------------------------------------------------------------------------- parts


def _render_substring(operands: Operands) -> str:
    text, start = operands.sql[:2]
    first = operands.constants[1]
    begin = start if isinstance(first, int) and first >= 1 else f"pg_at_least({start}, 1)"
    if len(operands.sql) == 2:
        return f"substring({text}, {begin})"
    length = operands.constants[2]
    if isinstance(first, int) and first >= 1 and isinstance(length, int) and length >= 0:
        return f"substring({text}, {start}, {operands.sql[2]})"
    return make_macro_template("pg_substring")(operands)


declare("substring(text,int4) substring(text,int4,int4) substr(text,int4) substr(text,int4,int4)", _render_substring)
declare("position(text,text) strpos", "strpos({0}, {1})::INTEGER")
declare("left", "left({0}, {1})")
declare("right", make_macro_template("pg_right"))
declare("split_part", make_macro_template("pg_split_part"))
declare("starts_with", "starts_with({0}, {1})")
declare("overlay(text,text,int4,int4)", make_macro_template("pg_overlay"))
declare(
    "overlay(text,text,int4)",
    lambda o: bind_values(lambda s, r, n: f"pg_overlay({s}, {r}, {n}, length({r}))", *o.sql),
)

# ---------------------------------------------------------------------------------------------- trimming, padding

declare("btrim(text)", "trim({0}, ' ')")
declare("ltrim(text)", "ltrim({0}, ' ')")
declare("rtrim(text)", "rtrim({0}, ' ')")
declare("btrim(text,text)", "trim({0}, {1})")
declare("ltrim(text,text)", "ltrim({0}, {1})")
declare("rtrim(text,text)", "rtrim({0}, {1})")
for _side in ("lpad", "rpad"):
    declare(f"{_side}(text,int4)", lambda o, name=_side: bind_values(lambda s, n: f"pg_{name}({s}, {n}, ' ')", *o.sql))
    declare(f"{_side}(text,int4,text)", make_macro_template(f"pg_{_side}"))
declare("repeat", make_macro_template("pg_repeat"))
declare("replace", make_macro_template("pg_replace"))
declare("translate", "translate({0}, {1}, {2})")
declare("reverse", make_macro_template("pg_reverse"))

# ---------------------------------------------------------------------------------------------- codes

declare("ascii", "ascii({0})::INTEGER")
declare("chr", make_macro_template("pg_chr"))
declare("to_hex(int4)", "format('{{:x}}', {0}::BIGINT & 4294967295)")
declare("to_hex(int8)", lambda o: _to_base(o.sql[0], "x"))


def _to_base(value: str, base: str) -> str:
    return bind_values(
        lambda v: (
            f"format('{{:{base}}}', CASE WHEN {v} < 0 THEN {v}::HUGEINT + 18446744073709551616::HUGEINT"
            f" ELSE {v}::HUGEINT END)"
        ),
        value,
    )


declare("md5", "md5({0})")
declare("sha256", "unhex(sha256({0}))")
for _name in ("sha224", "sha384", "sha512"):
    declare(_name, f"pg_{_name}({{0}})")
declare("encode", "pg_encode({0}, {1})")
declare("decode", "pg_decode({0}, {1})")
declare("convert_from", "pg_convert_from({0}, {1})")
declare("convert_to", "pg_convert_to({0}, {1})")

# ---------------------------------------------------------------------------------------------- quoting, formatting

declare("quote_ident", "pg_quote_ident({0})")
declare("quote_literal(text)", make_macro_template("pg_quote_literal"))


def _render_quote_literal(operands: Operands) -> str:
    return bind_values(lambda v: f"pg_quote_literal({v})", _to_any_text(operands, 0))


declare("quote_literal(anyelement)", _render_quote_literal)
declare("quote_nullable(text) quote_nullable(anyelement)", lambda o: f"coalesce({_render_quote_literal(o)}, 'NULL')")


def _render_format(operands: Operands) -> str:
    if len(operands.sql) == 1:
        return f"pg_format({operands.sql[0]}, CAST([] AS VARCHAR[]))"
    arguments = ", ".join(f"CAST({argument} AS VARCHAR)" for argument in _format_operands(operands, 1))
    return f"pg_format({operands.sql[0]}, [{arguments}])"


declare("format", _render_format)
declare("to_ascii(text)", "pg_to_ascii({0}, '#6')")  # the database's encoding is UTF8, which is not one of the four
declare("to_ascii(text,int4)", "pg_to_ascii({0}, '#' || CAST({1} AS VARCHAR))")
declare("to_ascii(text,name)", "pg_to_ascii({0}, {1})")

# ---------------------------------------------------------------------------------------------- lists of text


def _render_string_to_array(operands: Operands) -> str:
    text, delimiter = operands.sql[:2]
    parts = bind_values(lambda s, d: f"pg_string_to_array({s}, {d})", text, delimiter)
    if len(operands.sql) == 2:
        return parts
    null_text = operands.sql[2]
    return f"list_transform({parts}, lambda pg_e: CASE WHEN pg_e = {null_text} THEN NULL ELSE pg_e END)"


declare("string_to_array string_to_table", _render_string_to_array)


def _render_array_to_string(operands: Operands) -> str:
    element = operands.types[0].element
    assert element is not None
    value, scale = unpack("pg_e", element)
    text = to_text(value, scale, element, output=True)
    if len(operands.sql) == 3:
        text = f"coalesce({text}, {operands.sql[2]})"
    items = flatten(operands.sql[0], operands.types[0])
    if element.name in LOOKED_UP:  # by subqueries, which a lambda cannot have
        items, text = cast(items, "0", element.array, TEXT.array, True)[0], "pg_e"
        text = f"coalesce(pg_e, {operands.sql[2]})" if len(operands.sql) == 3 else text
    texts = f"list_transform({items}, lambda pg_e: {text})"
    delimiter = get_constant_text(operands, 1)
    if delimiter is None:
        return f"pg_join({texts}, {operands.sql[1]})"
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NOT NULL THEN coalesce(array_to_string({v}, {quote_literal(delimiter)}), '') END)"
        ),
        texts,
    )


declare("array_to_string", _render_array_to_string)

# ---------------------------------------------------------------------------------------------- bytes

declare("byteacat", "({0} || {1})")
declare("string_agg(bytea,bytea)", lambda o: f"pg_bytes_join({_prefix_delimiters(o)}, ''::BLOB)")
declare("overlay(bytea,bytea,int4)", "pg_bytes_overlay({0}, {1}, {2}, octet_length({1})::INTEGER)")
declare("overlay(bytea,bytea,int4,int4)", "pg_bytes_overlay({0}, {1}, {2}, {3})")
declare("convert", "pg_convert({0}, {1}, {2})")
declare("length(bytea,name)", "length(pg_convert_from({0}, {1}))::INTEGER")
declare("get_byte", "pg_get_byte({0}, {1})")
declare("set_byte", "pg_set_byte({0}, {1}, {2})")
declare("get_bit(bytea,int8)", "pg_get_bit({0}, {1})")
declare("set_bit(bytea,int8,int4)", "pg_set_bit({0}, {1}, {2})")
declare("normalize", lambda o: f"pg_normalize({o.sql[0]}, {o.sql[1] if len(o.sql) > 1 else quote_literal('NFC')})")
declare(
    "is_normalized", lambda o: f"pg_is_normalized({o.sql[0]}, {o.sql[1] if len(o.sql) > 1 else quote_literal('NFC')})"
)
declare("unistr", "pg_unistr({0})")
declare("parse_ident", lambda o: f"pg_parse_ident({o.sql[0]}, {o.sql[1] if len(o.sql) > 1 else 'true'})")
declare("position(bytea,bytea)", "pg_bytes_position({0}, {1})")
declare("substring(bytea,int4) substr(bytea,int4)", "pg_bytes_substring({0}, pg_at_least({1}, 1), 2147483647)")
declare("substring(bytea,int4,int4) substr(bytea,int4,int4)", "pg_bytes_substring({0}, {1}, {2})")
declare("btrim(bytea,bytea)", "pg_bytes_trim({0}, {1}, true, true)")
declare("ltrim(bytea,bytea)", "pg_bytes_trim({0}, {1}, true, false)")
declare("rtrim(bytea,bytea)", "pg_bytes_trim({0}, {1}, false, true)")
declare("text_pattern_lt bpchar_pattern_lt", "({0} < {1})")
declare("text_pattern_le bpchar_pattern_le", "({0} <= {1})")
declare("text_pattern_gt bpchar_pattern_gt", "({0} > {1})")
declare("text_pattern_ge bpchar_pattern_ge", "({0} >= {1})")


def get_name_byte(value: str, position: str) -> str:
    """Returns one of a name's 64 bytes, from 0, as a "char": empty beyond the text, NULL beyond the 64."""
    byte = f"TRY_CAST('0x' || substr(hex(encode({value})), 2 * {position} + 1, 2) AS INTEGER)"
    char = f"(CASE WHEN {byte} < 128 THEN chr({byte}) ELSE format('\\{{:o}}', {byte}) END)"
    return (
        f"(CASE WHEN {value} IS NULL OR {position} NOT BETWEEN 0 AND 63 THEN NULL"
        f" WHEN {position} >= strlen({value}) THEN '' ELSE {char} END)"
    )
