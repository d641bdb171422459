"""to_char of numbers by a template of digits, signs and separators, for all rows (PostgreSQL's formatting.c)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.distinct_rows import find_valid, map_by_name
from gpudb.duckdb.udf.number_templates import Template, parse_template
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.values.text_pieces import Bytes, Integers, Mask, Piece, join_pieces, make_literal, pick_words, write_integers

_EXACT = Context(prec=200_000, Emax=999_999, Emin=-999_999, rounding=ROUND_HALF_UP)
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
          (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
_MAX_ROMAN, _ROMAN_WIDTH = 3999, 15
_FLOAT4_DIGITS = 6
_FAST_DIGITS = 18
"""Numbers of more digits are rounded one by one."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_FLOAT_POWERS = 10.0 ** np.arange(1, 309)
_NON_FINITE = ("NaN", "Infinity", "-Infinity")
_ORDINALS = ("th", "st", "nd", "rd")


def register(registry: FunctionRegistry) -> None:
    """Registers pg_format_number(digits, template, significant digits) → text."""
    registry.add_columnar("pg_format_number", "VARCHAR VARCHAR INTEGER", "VARCHAR", _format_numbers)


def _format_numbers(numbers: pa.Array, templates: pa.Array, significant: pa.Array) -> pa.Array:
    """Formats numbers, each by its template.

    `significant` is a float's number of significant digits, 0 for exact numbers. -1 is as 0, but EEEE prints floats. It
    belongs to the numbers' type: all rows have the same.
    """
    sure = significant[0].as_py() if len(significant) else 0

    def compute(template: str, rows: Integers) -> pa.Array:
        chosen = numbers if len(rows) == len(numbers) else numbers.take(pa.array(rows))
        return _format_rows(chosen, parse_template(template), sure) if template else pa.array([""] * len(rows))

    return map_by_name(templates, find_valid(numbers, templates), pa.string(), compute)


def _format_rows(numbers: pa.Array, template: Template, significant: int) -> pa.Array:
    if template.roman:
        return _format_roman(numbers, template, significant)
    if template.exponent:
        return pa.array([_format_exponential(text, template, significant) for text in numbers.to_pylist()], pa.string())
    if significant > 0:
        return _fill_template(template, _round_floats(numbers, template, significant))
    return _fill_template(template, _round_exact(numbers, template))


# ---------------------------------------------------------------------------------------------- digits


@dataclass(slots=True)
class _Digits:
    """The digits of numbers, rounded to a template's decimals.

    `whole` has the characters before the point, to the right of zeros, and `lengths` how many; `fraction` those behind
    the point, and `places` how many. `crossed` numbers are too large for the template, `words` are NaN or infinite.
    """

    whole: Bytes
    lengths: Integers
    fraction: Bytes
    places: Integers
    negative: Mask
    crossed: Mask
    words: Mask

    def put(self, row: int, text: str) -> None:
        """Sets a row's digits by its text; not its sign."""
        whole, _, fraction = text.lstrip("-").partition(".")
        before, after = self.whole.shape[1], self.fraction.shape[1]
        self.lengths[row], self.places[row] = len(whole), len(fraction)
        self.crossed[row] = len(whole) > before or not before
        self.words[row] = not whole.isdigit()
        self.whole[row] = np.frombuffer(whole.rjust(before, "0")[:before].encode(), np.uint8)
        self.fraction[row] = np.frombuffer(fraction.ljust(after, "0").encode(), np.uint8)


def _split(texts: pa.Array) -> tuple[Mask, Integers, Integers, Mask]:
    """Returns which numbers have a sign, their digits as one integer, the numbers of their decimals, and which have too
    many digits for it, or none.
    """
    negative = pc.starts_with(texts, "-").to_numpy(zero_copy_only=False)
    points = pc.find_substring(texts, ".").to_numpy(zero_copy_only=False)
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    decimals = np.where(points >= 0, sizes - points - 1, 0)
    slow = sizes - negative - (points >= 0) > _FAST_DIGITS
    digits = pc.replace_substring(pc.ascii_ltrim(texts, "-"), ".", "")
    digits = pc.if_else(pa.array(slow), "0", digits) if slow.any() else digits
    try:
        units = pc.cast(digits, pa.int64())
    except pa.ArrowInvalid:  # words
        plain = pc.match_substring_regex(digits, "^[0-9]+$")
        slow |= ~plain.to_numpy(zero_copy_only=False)
        units = pc.cast(pc.if_else(plain, digits, "0"), pa.int64())
    return negative, units.to_numpy(), decimals, slow


def _count_digits(values: Integers) -> Integers:
    return np.searchsorted(_POWERS[1:], values, side="right") + 1


def _write_digits(units: Integers, places: Integers, negative: Mask, template: Template) -> _Digits:
    """Returns the digits of numbers that count units of a template's last decimal."""
    before, after = template.before, template.after
    whole, fraction = np.divmod(units, int(_POWERS[after])) if after <= _FAST_DIGITS else (units, units)
    lengths = _count_digits(whole)
    crossed = ((lengths > before) & (whole > 0)) | (not before)
    shown = write_integers(np.where(crossed, 0, whole), before).data[:, :before]
    decimals = write_integers(fraction, after).data[:, :after]
    return _Digits(shown, lengths, decimals, places, negative, crossed, np.zeros(len(units), np.bool_))


def _round_exact(texts: pa.Array, template: Template) -> _Digits:
    """Rounds exact numbers to the template's decimals, halves away from zero."""
    negative, units, decimals, slow = _split(texts)
    up = template.after + template.shift - decimals
    slow |= (_count_digits(units) + np.maximum(up, 0) > _FAST_DIGITS) | (up < -_FAST_DIGITS)
    slow |= template.after > _FAST_DIGITS
    multiplied, divided = (_POWERS[np.clip(each, 0, _FAST_DIGITS)] for each in (up, -up))
    units = (np.where(slow, 0, units) * multiplied + divided // 2) // divided
    digits = _write_digits(units, np.full(len(units), template.after), negative & (units != 0), template)
    for row in np.flatnonzero(slow).tolist():
        value = Decimal(texts[row].as_py())
        if not value.is_finite():
            digits.negative[row] = value.is_signed()
            digits.put(row, "NaN" if value.is_nan() else "Infinity")
            digits.places[row] = template.after if digits.crossed[row] else 0
            continue
        value = value.scaleb(template.shift, _EXACT)
        size = value.copy_abs().quantize(Decimal(1).scaleb(-template.after), context=_EXACT)
        digits.negative[row] = value < 0 and bool(size)
        digits.put(row, format(size, "f"))
    return digits


def _round_floats(texts: pa.Array, template: Template, significant: int) -> _Digits:
    """Rounds floats as C prints them, with no more digits than their type guarantees, as PostgreSQL does."""
    values = _round_to_type(pc.cast(texts, pa.float64()).to_numpy(), significant)
    with np.errstate(over="ignore", invalid="ignore"):
        values = _round_to_type(values * 10.0**template.shift, significant)
    finite = np.isfinite(values)
    lengths = np.searchsorted(_FLOAT_POWERS, np.rint(np.abs(np.where(finite, values, 0))), side="right") + 1
    lengths = np.where(finite, lengths, np.where(np.isnan(values), len("NaN"), len("Infinity")))
    places = np.where(lengths >= significant, 0, np.minimum(template.after, significant - lengths))
    printed = pa.array(
        [_print_float(*each) for each in zip(values.tolist(), places.tolist(), strict=True)], pa.string()
    )
    negative, units, _, slow = _split(printed)
    up = template.after - places
    slow |= (_count_digits(units) + up > _FAST_DIGITS) | (up > _FAST_DIGITS)
    units = np.where(slow, 0, units) * _POWERS[np.clip(up, 0, _FAST_DIGITS)]
    digits = _write_digits(units, places.copy(), negative, template)
    for row in np.flatnonzero(slow).tolist():
        digits.put(row, printed[row].as_py())
        if digits.crossed[row]:
            digits.places[row] = places[row]
    return digits


def _round_to_type(values: npt.NDArray[np.float64], significant: int) -> npt.NDArray[np.float64]:
    """Rounds values to their type: a float4 has more digits than are displayed."""
    if significant != _FLOAT4_DIGITS:
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _print_float(value: float, places: int) -> str:
    if value - value == 0:
        return f"{value:.{places}f}"
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


# ---------------------------------------------------------------------------------------------- templates


def _fill_template(template: Template, digits: _Digits) -> pa.Array:
    """Fills the template from the left; a leading sign is printed right before the first digit.

    A text ends where the template asks for a point or digit that its number does not have.
    """
    rows, before, after = len(digits.lengths), template.before, template.after
    crossed, negative = digits.crossed, digits.negative
    digits.whole[crossed] = digits.fraction[crossed] = ord("#")
    shown = np.arange(1, after + 1) * ((digits.fraction != ord("0")) & (np.arange(after) < digits.places[:, None]))
    last = shown.max(axis=1, initial=0)
    trimmed = (last == 0) if not template.fill and not template.last_zero else np.zeros(rows, np.bool_)
    empty = (digits.lengths == 1) & (digits.whole[:, -1] == ord("0")) if before and after else np.zeros(rows, np.bool_)
    lead = np.where(crossed, 0, before - np.where(empty & ~trimmed, 0, digits.lengths))
    starts = lead if template.first_zero is None else np.minimum(template.first_zero, lead)
    kept = digits.places if template.fill else np.minimum(np.maximum(last, template.last_zero), digits.places)
    floating = template.sign == "S" and template.parts[0] == ("sign", "S")
    marks = (" ", "<") if template.sign == "PR" else ("+", "-") if floating else (" ", "-")
    marked = template.sign in {"", "PR", "PL"} or floating
    pieces: list[Piece] = []
    placed = np.full(rows, not marked)

    def place(here: Mask) -> None:
        """Prints the sign of rows that have none yet."""
        now = here & ~placed
        if now.any():
            printed = now if template.fill or marks[0] != " " else now & negative
            pieces.append(pick_words(marks, negative.astype(np.int64)).when(printed))
            np.logical_or(placed, now, out=placed)

    everywhere = np.ones(rows, np.bool_)
    alive = everywhere
    position = decimal = 0
    after_point = False
    for kind, text in template.parts:
        start = len(pieces)
        if kind == "digit" and not after_point:
            if position == before:
                alive = ~everywhere
                break
            printed = starts <= position
            place(printed)
            pieces.append(Piece(digits.whole[:, position : position + 1]).when(printed))
            if template.fill:
                pieces.append(make_literal(" ").when(~printed))
            position += 1
        elif kind == "digit":
            place(everywhere)
            if text == "0" or template.fill:
                alive = alive & (decimal < digits.places)
            pieces.append(Piece(digits.fraction[:, decimal : decimal + 1]).when(decimal < kept))
            decimal += 1
        elif kind == "point":
            alive = (digits.places > 0) | crossed
            place(alive)
            after_point = True
            pieces.append(make_literal("."))
        elif kind == "group":
            # a separator is printed after a printed digit
            printed = (decimal > 0) & (decimal <= kept) if after_point else starts < position
            pieces.append(make_literal(text).when(printed))
            if template.fill:
                pieces.append(make_literal(" ").when(~printed))
        elif kind == "sign" and text == "PR":
            place(everywhere)
            pieces.append(pick_words((" " if template.fill else "", ">"), negative.astype(np.int64)))
        elif kind == "sign" and not (floating and text == "S"):
            pieces.append(pick_words(_get_signs(template, text), negative.astype(np.int64)))
        elif kind == "ordinal":
            words = tuple(map(str.upper, _ORDINALS)) if text[0] == "T" else _ORDINALS
            shown_rows = ~negative & ~(crossed & bool(before)) if not template.decimal else ~everywhere
            _check_ordinals(digits, shown_rows)
            pieces.append(pick_words(words, _get_ordinals(digits)).when(shown_rows))
        elif kind in {"currency", "text"}:
            pieces.append(make_literal(text))
        if alive is not everywhere:
            pieces[start:] = [piece.when(alive) for piece in pieces[start:]]
    return join_pieces(pieces, rows)


def _get_signs(template: Template, key: str) -> tuple[str, str]:
    """Returns what a sign prints of positive and of negative numbers."""
    blank = " " if template.fill else ""
    return {"MI": (blank, "-"), "PL": ("+", blank)}.get(key, ("+", "-"))


def _check_ordinals(digits: _Digits, rows: Mask) -> None:
    """Raises 22P02 for NaN or infinity among some rows."""
    found = np.flatnonzero(digits.words & rows)
    if len(found):
        word = "NaN" if digits.lengths[found[0]] == len("NaN") else "Infinity"
        raise SqlError.of("invalid_text_representation", f'"{word}" is not a number')


def _get_ordinals(digits: _Digits) -> Integers:
    """Returns the place of each number's ordinal among th, st, nd, rd."""
    numbers = digits.whole[:, -2:].astype(np.int64) - ord("0")
    units = numbers[:, -1] if numbers.shape[1] else np.zeros(len(numbers), np.int64)
    tens = numbers[:, 0] if numbers.shape[1] > 1 else np.zeros_like(units)
    return np.where((tens == 1) | (units > 3) | digits.words | digits.crossed, 0, units)


# ---------------------------------------------------------------------------------------------- other forms


@cache
def _list_roman() -> tuple[str, ...]:
    """Returns the Roman numerals from 1, in a field's width; before them that of other numbers."""
    numerals = ["#" * _ROMAN_WIDTH]
    for number in range(1, _MAX_ROMAN + 1):
        text = ""
        for size, letters in _ROMAN:
            text += letters * (number // size)
            number %= size
        numerals.append(text)
    return tuple(numerals)


def _format_roman(numbers: pa.Array, template: Template, significant: int) -> pa.Array:
    values = [
        0 if text in _NON_FINITE
        else int(Decimal(text).to_integral_value(ROUND_HALF_EVEN if significant > 0 else ROUND_HALF_UP))
        for text in numbers.to_pylist()
    ]  # fmt: skip
    if not significant and not all(-(2**31) <= value < 2**31 for value in values):
        raise SqlError.of("numeric_value_out_of_range", "integer out of range")
    places = np.array([value if 1 <= value <= _MAX_ROMAN else 0 for value in values], np.int64)
    words = tuple(map(str.lower, _list_roman())) if template.roman == "rn" else _list_roman()
    words = tuple(word.rjust(_ROMAN_WIDTH) for word in words) if template.fill else words
    pieces = [
        pick_words(words, places) if kind == "roman" else make_literal(word)
        for kind, word in template.parts
        if kind in {"roman", "text"}
    ]
    texts = join_pieces(pieces, len(numbers))
    words_found = pc.is_in(numbers, pa.array(_NON_FINITE))
    return pc.if_else(words_found, "#" * _ROMAN_WIDTH, texts)


def _format_exponential(number: str, template: Template, significant: int) -> str:
    """Formats a number with an exponent; NaN and infinities as crosses."""
    if number in _NON_FINITE:
        return " " + "#" * template.before + "." + "#" * (template.after + 4)
    if significant:
        value = float(_round_to_type(np.array([float(number)]), significant)[0])
        text = f"{value:.{template.after}e}"  # as C prints a double: rounding its digits may increase the exponent
        return text if text.startswith("-") or not template.fill else " " + text
    exact = Decimal(number)
    exponent = exact.adjusted() if exact else 0
    # rounded after the exponent is known, so that 9.995 becomes 10.00
    digits = exact.scaleb(-exponent, _EXACT).quantize(Decimal(1).scaleb(-template.after), context=_EXACT)
    text = f"{digits:f}e{exponent:+03d}"
    return text if exact < 0 or not template.fill else " " + text
