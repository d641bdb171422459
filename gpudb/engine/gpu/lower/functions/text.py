"""Text functions: LIKE, length, case, substring and others. Patterns are constants; lengths count characters."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce

import polars as pl

from gpudb.engine.gpu.lower.error_codes import SUBSTRING, error_if, first_error
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.functions.text_output import to_text
from gpudb.engine.gpu.lower.values import Value, maximum
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import BOOL, SqlType
from gpudb.values.letter_case import capitalize

_MAX_PARTS, _MAX_LENGTH, _MAX_TIMES = 64, 10_000, 16
"""Limits beyond which columns for the parts are too expensive."""


def constant_text(value: Value) -> str:
    """Returns the text of a constant; NotSupportedOnWorkers for anything else."""
    if not value.constant:
        raise NotSupportedOnWorkers("a pattern that is not constant")
    text = pl.select(value.expr).item()
    if text is None:
        raise NotSupportedOnWorkers("a pattern that is NULL")
    return str(text)


def like(value: pl.Expr, pattern: str) -> pl.Expr:
    """Lowers LIKE to a search, a prefix, a suffix, or a regular expression."""
    parts = re.split(r"(\\.|%|_)", pattern, flags=re.S)
    literal = [part for part in parts if part]
    if literal and re.search(r"(?<!\\)(\\\\)*\\$", pattern):
        raise NotSupportedOnWorkers("a pattern that ends with its escape")
    if "_" not in literal and not any(part[0] == "\\" for part in literal):
        body = pattern.strip("%")
        if "%" not in body:
            starts, ends = pattern.startswith("%"), pattern.endswith("%")
            if not body:
                return value.str.len_bytes() >= 0 if pattern else value == ""
            if starts and ends:
                return value.str.contains(body, literal=True)
            if starts:
                return value.str.ends_with(body)
            return value.str.starts_with(body) if ends else value == body
    result = "".join(_piece(part) for part in literal)
    return value.str.contains(f"(?s)^{result}$")


def _piece(part: str) -> str:
    if part == "%":
        return ".*"
    if part == "_":
        return "."
    return re.escape(part[1:] if part[0] == "\\" and len(part) > 1 else part)


_EXPANDING = {each: chr(0x100000 + each) for each in range(0x80, 0xFFFF) if len(chr(each).upper()) > 1}
"""Characters whose upper case is several characters (ß), and their temporary replacements, which no text contains."""


def _upper(value: pl.Expr) -> pl.Expr:
    """Upper case, one character to one, as in PostgreSQL."""
    several, substitutes = list(map(chr, _EXPANDING)), list(_EXPANDING.values())
    result = value.str.replace_many(several, substitutes).str.to_uppercase()
    return result.str.replace_many(substitutes, list(map(capitalize, several)))


def _lower(value: pl.Expr) -> pl.Expr:
    """Lower case, one character to one, at any position in a word."""
    return value.str.replace_many(["Σ", "İ"], ["σ", "i"]).str.to_lowercase()


def _subject(value: Value) -> pl.Expr:
    """Returns the matched text; a char(n) with its padding, which counts here."""
    size = value.type.padded_length
    if size is not None and size > _MAX_LENGTH:
        raise NotSupportedOnWorkers("LIKE over a long char(n)")
    return value.expr if size is None else value.expr.str.pad_end(size)


def _declare_like(names: str, *, negated: bool, ignore_case: bool) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        value, pattern = _subject(args[0]), constant_text(args[1])
        result = like(_lower(value), pl.select(_lower(pl.lit(pattern))).item()) if ignore_case else like(value, pattern)
        return Value(BOOL, ~result if negated else result)


_declare_like("textlike bpcharlike like(text,text)", negated=False, ignore_case=False)
_declare_like("textnlike bpcharnlike notlike(text,text)", negated=True, ignore_case=False)
_declare_like("texticlike bpchariclike", negated=False, ignore_case=True)
_declare_like("texticnlike bpcharicnlike", negated=True, ignore_case=True)
_LITERAL = re.compile(r"(\^?)([^\\.^$*+?()\[\]{}|]*)(\$?)")
"""A regular expression of one literal text, which may be anchored."""


def _declare_regular(name: str, *, negated: bool) -> None:
    @lowers(name)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        found = _LITERAL.fullmatch(constant_text(args[1]))
        if found is None:
            raise NotSupportedOnWorkers("a regular expression")
        value, (start, text, end) = args[0].expr, found.groups()
        if start:
            result = value == text if end else value.str.starts_with(text)
        else:
            result = value.str.ends_with(text) if end else value.str.contains(text, literal=True)
        return Value(BOOL, ~result if negated else result)


_declare_regular("textregexeq", negated=False)
_declare_regular("textregexne", negated=True)


def _declare_plain(names: str, result: Callable[[pl.Expr], pl.Expr]) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        return Value(kind, result(args[0].expr))


_declare_plain("upper(text)", _upper)
_declare_plain("lower(text)", _lower)
_declare_plain(
    "length(text) char_length(text) character_length(text)", lambda value: value.str.len_chars().cast(pl.Int32)
)
_declare_plain("octet_length(text)", lambda value: value.str.len_bytes().cast(pl.Int32))
_declare_plain("btrim(text)", lambda value: value.str.strip_chars(" "))
_declare_plain("ltrim(text)", lambda value: value.str.strip_chars_start(" "))
_declare_plain("rtrim(text)", lambda value: value.str.strip_chars_end(" "))


_declare_plain(
    "length(bpchar) char_length(bpchar) character_length(bpchar)", lambda value: value.str.len_chars().cast(pl.Int32)
)
_declare_plain("bit_length(text)", lambda value: value.str.len_bytes().cast(pl.Int32) * 8)


def _declare_strip(names: str, strip: Callable[[pl.Expr, str], pl.Expr]) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        characters = constant_text(args[1])
        return Value(kind, strip(args[0].expr, characters) if characters else args[0].expr)


_declare_strip("btrim(text,text)", lambda value, characters: value.str.strip_chars(characters))
_declare_strip("ltrim(text,text)", lambda value, characters: value.str.strip_chars_start(characters))
_declare_strip("rtrim(text,text)", lambda value, characters: value.str.strip_chars_end(characters))


@lowers("textcat")
def _concatenate(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, args[0].expr + args[1].expr)


def _constant_integer(value: Value) -> int | None:
    """Returns a constant integer; None for anything else. Constant positions need no column."""
    found: int | None = pl.select(value.expr).item() if value.constant else None
    return found


@lowers("substring(text,int4,int4) substr(text,int4,int4)")
def _substring(args: tuple[Value, ...], kind: SqlType) -> Value:
    text, start, length = args[0].expr, args[1].expr.cast(pl.Int64), args[2].expr.cast(pl.Int64)
    begin, size = _constant_integer(args[1]), _constant_integer(args[2])
    if begin is not None and size is not None and size >= 0:
        skipped = max(begin - 1, 0)
        return Value(kind, text.str.slice(skipped, max(begin + size - 1 - skipped, 0)))
    end = start + length
    first = maximum(start - 1, pl.lit(0, pl.Int64))
    count = maximum(end - 1 - first, pl.lit(0, pl.Int64))
    known = args[2].constant and args[2].bounds is not None and args[2].bounds[0] >= 0
    result = text.str.slice(first, count)
    nothing = start.is_null() | length.is_null()
    if not (args[1].constant and args[2].constant):
        result = pl.when(nothing).then(None).otherwise(result)
    return Value(kind, result, None if known else error_if((length < 0) & ~nothing & text.is_not_null(), SUBSTRING))


@lowers("substring(text,int4) substr(text,int4)")
def _substring_from(args: tuple[Value, ...], kind: SqlType) -> Value:
    begin = _constant_integer(args[1])
    if begin is not None:
        return Value(kind, args[0].expr.str.slice(max(begin - 1, 0)))
    start = maximum(args[1].expr.cast(pl.Int64) - 1, pl.lit(0, pl.Int64))
    result = args[0].expr.str.slice(start)
    return Value(kind, result if args[1].constant else pl.when(args[1].expr.is_null()).then(None).otherwise(result))


@lowers("overlay(text,text,int4) overlay(text,text,int4,int4)")
def _overlay(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Lowers overlay at constant positions; without a length by a constant text."""
    start = _constant_integer(args[2])
    length = _constant_integer(args[3]) if len(args) > 3 else len(constant_text(args[1]))
    if start is None or start <= 0 or length is None or start + length < 1:
        raise NotSupportedOnWorkers("overlay at a position that is not constant or precedes the text")
    text = args[0].expr
    return Value(kind, text.str.slice(0, start - 1) + args[1].expr + text.str.slice(start + length - 1))


@lowers("left(text,int4)")
def _left(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, args[0].expr.str.head(args[1].expr))


@lowers("right(text,int4)")
def _right(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, args[0].expr.str.tail(args[1].expr))


@lowers("replace(text,text,text)")
def _replace(args: tuple[Value, ...], kind: SqlType) -> Value:
    searched, value, by = constant_text(args[1]), args[0].expr, args[2].expr
    if args[2].constant:
        result = value.str.replace_all(searched, constant_text(args[2]), literal=True) if searched else value
        return Value(kind, result)
    # As long as the column, even if the text is constant. For a single row replace_all takes no NULL, which Polars
    # inserts for a branch of CASE that is not reached.
    value = pl.when(by.is_null()).then(None).otherwise(value)
    return Value(kind, value.str.split(searched).list.join(by) if searched else value)


@lowers("starts_with(text,text)")
def _starts_with(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, args[0].expr.str.starts_with(args[1].expr))


@lowers("strpos(text,text) position(text,text)")
def _position(args: tuple[Value, ...], kind: SqlType) -> Value:
    searched = constant_text(args[1])
    if not searched:
        return Value(kind, pl.when(args[0].expr.is_null()).then(None).otherwise(pl.lit(1, pl.Int32)))
    byte = args[0].expr.str.find(searched, literal=True)
    before = args[0].expr.str.split_exact(searched, 1).struct.field("field_0").str.len_chars()
    found = pl.when(byte.is_null()).then(pl.lit(0, pl.Int64)).otherwise(before.cast(pl.Int64) + 1)
    return Value(kind, pl.when(args[0].expr.is_null()).then(None).otherwise(found).cast(pl.Int32))


@lowers("textanycat anytextcat")
def _concatenate_any(args: tuple[Value, ...], kind: SqlType) -> Value:
    left, right = map(to_text, args)
    return Value(kind, left.expr + right.expr, first_error(left.error, right.error))


@lowers("concat(any)")
def _concatenate_all(args: tuple[Value, ...], kind: SqlType) -> Value:
    result = [to_text(each, output=True) for each in args]
    whole = reduce(lambda left, right: left + right, [each.expr.fill_null("") for each in result])
    return Value(kind, whole, first_error(*(each.error for each in result)))


@lowers("concat_ws(text,any)")
def _concatenate_between(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Joins the non-NULL values with a constant separator."""
    separator = pl.lit(constant_text(args[0]))
    result = [to_text(each, output=True) for each in args[1:]]
    whole, begun = pl.lit(""), pl.lit(False)
    for each in result:
        is_present = each.expr.is_not_null()
        whole = whole + pl.when(is_present & begun).then(separator + each.expr).otherwise(each.expr.fill_null(""))
        begun = begun | is_present
    return Value(kind, whole, first_error(*(each.error for each in result)))


@lowers("split_part(text,text,int4)")
def _split_part(args: tuple[Value, ...], kind: SqlType) -> Value:
    separator, place = constant_text(args[1]), _constant_integer(args[2])
    if not separator or place is None or not 0 < place <= _MAX_PARTS:
        raise NotSupportedOnWorkers("split_part with an empty separator or a negative position")
    part = args[0].expr.str.split_exact(separator, place).struct.field(f"field_{place - 1}").fill_null("")
    return Value(kind, pl.when(args[0].expr.is_null()).then(None).otherwise(part))


def _declare_pad(names: str, pad: Callable[[pl.Expr, int, str], pl.Expr]) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        length, fill = _constant_integer(args[1]), constant_text(args[2]) if len(args) > 2 else " "
        if length is None or length > _MAX_LENGTH or len(fill) != 1:
            raise NotSupportedOnWorkers("padding with more than one character, or to a length that is not constant")
        size = max(length, 0)
        return Value(kind, pad(args[0].expr.str.head(size), size, fill))


_declare_pad("lpad(text,int4) lpad(text,int4,text)", lambda value, size, fill: value.str.pad_start(size, fill))
_declare_pad("rpad(text,int4) rpad(text,int4,text)", lambda value, size, fill: value.str.pad_end(size, fill))


@lowers("repeat(text,int4)")
def _repeat(args: tuple[Value, ...], kind: SqlType) -> Value:
    times = _constant_integer(args[1])
    if times is None or times > _MAX_TIMES:
        raise NotSupportedOnWorkers("repeat with a count that is large or not constant")
    nothing = pl.when(args[0].expr.is_null()).then(None).otherwise(pl.lit(""))
    return Value(kind, reduce(lambda left, right: left + right, [args[0].expr] * times) if times > 0 else nothing)


@lowers("translate(text,text,text)")
def _translate(args: tuple[Value, ...], kind: SqlType) -> Value:
    source, target = constant_text(args[1]), constant_text(args[2])
    if not source:
        return Value(kind, args[0].expr)
    pairs = {each: target[place : place + 1] for place, each in reversed(list(enumerate(source)))}
    return Value(kind, args[0].expr.str.replace_many(list(pairs), list(pairs.values())))
