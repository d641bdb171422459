"""to_char of numbers by a template of digits, signs and separators (PostgreSQL's formatting.c)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

import numpy as np

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import FeatureNotSupported, SqlError

_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
_TOKEN = re.compile(
    r'FM|EEEE|RN|SG|PR|PL|MI|TH|[90.,DGLSVCB]|\\"|"((?:[^"\\]|\\.)*)(?:"|$)|.', re.IGNORECASE | re.DOTALL
)
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
          (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
MAX_ROMAN = 3999
_FLOAT4_DIGITS = 6


@dataclass(slots=True)
class Template:
    """A parsed template: its parts in order, and its options."""

    parts: list[tuple[str, str]] = field(default_factory=list)
    before: int = 0
    after: int = 0
    shift: int = 0
    first_zero: int | None = None
    last_zero: int = 0
    fill: bool = True
    sign: str = ""
    decimal: bool = False
    exponent: bool = False
    roman: str = ""
    blank: bool = False


def register(registry: FunctionRegistry) -> None:
    """Registers pg_format_number(digits, template, significant digits) → text."""
    registry.add_scalar("pg_format_number", "VARCHAR VARCHAR INTEGER", "VARCHAR", format_number)


_MAX_TEMPLATE = 1 << 16
_PATTERNS = frozenset("FM 9 0 . D , G V S MI PL SG PR EEEE RN TH L C B".split())


def _syntax_error(message: str) -> SqlError:
    return SqlError.of("syntax_error", message)


@lru_cache(maxsize=256)
def parse_template(text: str) -> Template:
    """Parses a template; 42601 if it contradicts itself, 0A000 for C, 54000 if it is longer than any number needs."""
    if len(text) > _MAX_TEMPLATE:
        raise SqlError.of("program_limit_exceeded", "requested length too large")
    result = Template()
    for found in _TOKEN.finditer(text):
        word = found.group()
        key = word.upper()
        if found.group(1) is not None:
            result.parts.append(("text", re.sub(r"\\(.)", r"\1", found.group(1))))
            continue
        if result.exponent and key in _PATTERNS:
            twice = key == "EEEE"
            raise _syntax_error('cannot use "EEEE" twice' if twice else '"EEEE" must be the last pattern used')
        match key:
            case "FM":
                result.fill = False
            case "9" | "0":
                if result.sign == "PR":
                    raise _syntax_error('"9" must be ahead of "PR"' if key == "9" else '"0" must be ahead of "PR"')
                if result.decimal:
                    result.after += 1
                    if key == "0":
                        result.last_zero = result.after
                elif result.shift and key == "9":
                    result.shift += 1
                else:
                    if key == "0" and result.first_zero is None:
                        result.first_zero = result.before
                    result.before += 1
                result.parts.append(("digit", key))
            case "." | "D":
                if result.decimal:
                    raise _syntax_error("multiple decimal points")
                if result.shift:
                    raise _syntax_error('cannot use "V" and decimal point together')
                result.decimal = True
                result.parts.append(("point", "."))
            case "," | "G":
                result.parts.append(("group", ","))
            case "V":
                if result.decimal:
                    raise _syntax_error('cannot use "V" and decimal point together')
                result.shift = 1
            case "S" | "MI" | "PL" | "SG" | "PR":
                _check_sign(result.sign, key)
                result.sign = result.sign or key
                result.parts.append(("sign", key))
            case "EEEE":
                if result.sign or not result.fill or result.roman or result.shift:
                    raise _syntax_error('"EEEE" is incompatible with other formats')
                result.exponent = True
            case "RN":
                result.roman = word
                result.parts.append(("roman", word))
            case "TH":
                result.parts.append(("ordinal", word))
            case "L":
                # the C locale has no currency symbol: a blank replaces it
                result.parts.append(("currency", " "))
            case "B":
                result.blank = True
            case "C":
                raise FeatureNotSupported(f'the template pattern "{key}" is not supported')
            case '\\"':
                result.parts.append(("text", '"'))
            case _:
                result.parts.append(("text", word))
    if result.shift:
        result.shift -= 1
        result.before += result.shift
    return result


def _check_sign(first: str, key: str) -> None:
    """Raises 42601 for a sign that cannot be combined with the first one."""
    if key == "S" and first:
        raise _syntax_error(
            'cannot use "S" twice' if first == "S" else 'cannot use "S" and "PL"/"MI"/"SG"/"PR" together'
        )
    if key == "PR" and first not in {"", "PR"}:
        raise _syntax_error('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')
    if first == "S":
        raise _syntax_error(f'cannot use "S" and "{key}" together')


def format_number(number: str, template_text: str, significant: int) -> str:
    """Formats a number by a template.

    `significant` is a float's number of significant digits, 0 for exact numbers. -1 is as 0, but EEEE prints floats.
    """
    if not template_text:
        return ""
    template = parse_template(template_text)
    if significant > 0 and not template.exponent and not template.roman:
        return _format_float(_round_to_type(float(number), significant), template, significant)
    if number in {"NaN", "Infinity", "-Infinity"}:
        return _format_non_finite(template)
    value = Decimal(number)
    if template.roman:
        units = int(value.to_integral_value(ROUND_HALF_EVEN if significant > 0 else ROUND_HALF_UP))
        if not significant and not -(2**31) <= units < 2**31:
            raise SqlError.of("numeric_value_out_of_range", "integer out of range")
        return _format_roman(units, template)
    if template.exponent:
        return (
            _format_exponential(value, template)
            if not significant
            else _format_float_exponential(_round_to_type(float(number), significant), template)
        )
    value = value.scaleb(template.shift, _EXACT)
    negative = value < 0
    size = abs(value)
    size = size.quantize(Decimal(1).scaleb(-template.after), context=_EXACT)
    whole, _, fraction = format(size, "f").partition(".")
    negative = negative and bool(size)
    overflow = len(whole.lstrip("0")) > template.before or template.before == 0
    trimmed = not template.fill and not fraction.strip("0") and not template.last_zero
    whole = "" if whole == "0" and template.after and not trimmed else whole
    if overflow:
        whole, fraction = "#" * template.before, "#" * template.after
    return _fill_template(template, whole, fraction, negative)


def _round_to_type(value: float, significant: int) -> float:
    """Rounds a value to its type: a float4 has more digits than are displayed."""
    if significant != _FLOAT4_DIGITS:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _format_float(value: float, template: Template, significant: int) -> str:
    """Formats a float as C prints it, with no more digits than its type guarantees, as PostgreSQL does."""
    value = _round_to_type(value * 10.0**template.shift, significant)
    length = len(_print_float(abs(value), 0))
    places = 0 if length >= significant else min(template.after, significant - length)
    text = _print_float(value, places)
    negative = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    trimmed = not template.fill and not fraction.strip("0") and not template.last_zero
    if len(whole) > template.before or template.before == 0:
        whole, fraction = "#" * template.before, "#" * places
    elif whole == "0" and template.after and not trimmed:
        whole = ""
    if not math.isfinite(value) and template.decimal and "#" not in whole:
        # NaN and infinity have no decimals: the text ends at the template's point
        parts = [kind for kind, _ in template.parts]
        template = replace(template, parts=template.parts[: parts.index("point")])
    return _fill_template(template, whole, fraction, negative)


def _print_float(value: float, places: int) -> str:
    if math.isfinite(value):
        return f"{value:.{places}f}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _format_non_finite(template: Template) -> str:
    """Formats NaN or infinity in Roman numerals or with an exponent: crosses in place of digits."""
    if template.roman:
        return "#" * 15
    return " " + "#" * template.before + "." + "#" * (template.after + 4)


def _sign(template: Template, key: str, negative: bool) -> str:
    match key:
        case "S" | "SG":
            return "-" if negative else "+"
        case "MI":
            return "-" if negative else " " if template.fill else ""
        case "PL":
            return " " if negative and template.fill else "" if negative else "+"
    return ""


def _fill_template(template: Template, whole: str, fraction: str, negative: bool) -> str:
    """Fills the template from the left; a leading sign is printed right before the first digit."""
    lead = template.before - len(whole)
    if template.first_zero is not None:
        starts = min(template.first_zero, lead)
    else:
        starts = lead
    kept = len(fraction)
    if not template.fill:
        kept = min(max(len(fraction.rstrip("0")), template.last_zero), len(fraction))
    own_sign = template.sign in {"", "PR", "PL"}
    floating = template.sign == "S" and template.parts[0] == ("sign", "S")
    mark = ""
    if template.sign == "PR":
        mark = "<" if negative else " "
    elif own_sign:
        mark = "-" if negative else " "
    elif floating:
        mark = "-" if negative else "+"
    out: list[str] = []
    placed = not mark
    position = after = 0
    after_point = False

    def place() -> None:
        nonlocal placed
        if not placed:
            placed = True
            if mark != " " or template.fill:
                out.append(mark)

    for kind, text in template.parts:
        if kind == "digit" and not after_point:
            if position >= starts:
                place()
                out.append("0" if position < lead else whole[position - lead])
            elif template.fill:
                out.append(" ")
            position += 1
        elif kind == "digit":
            place()
            if after < kept:
                out.append(fraction[after])
            after += 1
        elif kind == "point":
            place()
            after_point = True
            if fraction or "#" in whole or not template.before:
                out.append(".")
        elif kind == "group":
            # a separator is printed after a printed digit
            if 0 < after <= kept if after_point else position > starts:
                out.append(text)
            elif template.fill:
                out.append(" ")
        elif kind == "sign" and not (floating and text == "S"):
            if text == "PR":
                place()
                if negative or template.fill:
                    out.append(">" if negative else " ")
            else:
                out.append(_sign(template, text, negative))
        elif kind == "ordinal":
            if not negative and not template.decimal and "#" not in whole:
                out.append(_ordinal(int(whole) if whole.isdigit() else 0, text))
        elif kind == "currency" or kind == "text":
            out.append(text)
    return "".join(out)


def _ordinal(number: int, case: str) -> str:
    last = number % 100
    suffix = "th" if 11 <= last <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(last % 10, "th")
    return suffix.upper() if case[0] == "T" else suffix


def _format_roman(number: int, template: Template) -> str:
    if not 1 <= number <= MAX_ROMAN:
        text = "#" * 15
    else:
        text = ""
        for size, letters in _ROMAN:
            text += letters * (number // size)
            number %= size
    text = text.lower() if template.roman == "rn" else text
    text = text.rjust(15) if template.fill else text
    return "".join(text if kind == "roman" else word for kind, word in template.parts if kind in {"roman", "text"})


def _format_exponential(value: Decimal, template: Template) -> str:
    exponent = value.adjusted() if value else 0
    # rounded after the exponent is known, so that 9.995 becomes 10.00
    digits = value.scaleb(-exponent, _EXACT).quantize(Decimal(1).scaleb(-template.after), context=_EXACT)
    text = f"{digits:f}e{exponent:+03d}"
    return text if value < 0 or not template.fill else " " + text


def _format_float_exponential(value: float, template: Template) -> str:
    """Formats as C prints a double: rounding its digits may increase the exponent."""
    text = f"{value:.{template.after}e}"
    return text if text.startswith("-") or not template.fill else " " + text
