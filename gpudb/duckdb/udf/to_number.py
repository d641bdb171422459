"""to_number: parsing of numbers by a template of digits, signs and separators (PostgreSQL's formatting.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from gpudb.duckdb.udf.number_templates import Template, parse_template
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values.wide_numerics import EXACT, round_to

_MAX_DECIMALS = 20
"""Maximal number of decimals of a quotient or product."""
_PLAIN = re.compile(r"(0|[1-9]\d*)(\.\d+)?", re.ASCII)
"""A number whose text is that of its value."""
_DATA = frozenset("0123456789.,+-")


def register(registry: FunctionRegistry) -> None:
    """Registers pg_read_number(text, template) → digits."""
    registry.add_scalar("pg_read_number", "VARCHAR VARCHAR", "VARCHAR", _read)


def _read(text: str, template_text: str) -> str | None:
    """Returns the number's digits; 22P02 without digits, 22003 if there are more than the template allows."""
    if not template_text:
        return None
    room = _get_room(template_text)
    if room is not None and (found := _PLAIN.fullmatch(text)) is not None:
        whole, fraction = found.groups()
        if len(whole) <= room[0] and (fraction is None or len(fraction) - 1 <= room[1]):
            return text
    template = parse_template(template_text)
    if template.exponent:
        raise FeatureNotSupported('"EEEE" not supported for input')
    if template.roman:
        raise FeatureNotSupported('"RN" not supported for input')
    parser = _Parser(template, text.encode().decode("latin-1"))
    for kind, word in template.parts:
        if parser.at_end():
            break
        parser.consume(kind, word)
    if not parser.whole and not parser.fraction:
        raise SqlError.of("invalid_text_representation", 'invalid input syntax for type numeric: " "')
    value = Decimal(f"{parser.whole or '0'}.{parser.fraction}" if parser.fraction else parser.whole)
    before = template.before
    if value and value.adjusted() >= before:
        detail = (
            f"A field with precision {before + len(parser.fraction)}, scale {len(parser.fraction)} must round to an"
            f" absolute value less than {f'10^{before}' if before else '1'}."
        )
        raise SqlError.of("numeric_value_out_of_range", "numeric field overflow", detail=detail)
    if template.shift:  # the result is a product with a power of ten, whose decimals are displayed
        value = round_to(value.scaleb(-template.shift, EXACT), min(16 + template.shift, _MAX_DECIMALS))
    return format(value.copy_negate() if parser.sign == "-" and value else value, "f")


@lru_cache(maxsize=256)
def _get_room(template_text: str) -> tuple[int, int] | None:
    """Returns how many digits a template has before and after its point; None for one with anything else."""
    template = parse_template(template_text)
    if any(kind not in {"digit", "point"} for kind, _ in template.parts) or template.sign or template.shift:
        return None
    if (
        template.exponent
        or template.roman
        or template.before + template.after + template.decimal != len(template.parts)
    ):
        return None
    return template.before, template.after if template.decimal else -1


@dataclass(slots=True)
class _Parser:
    """State of parsing a text by a template, byte by byte: a digit consumes one byte of a multibyte character."""

    template: Template
    text: str
    at: int = 0
    sign: str = ""
    whole: str = ""
    fraction: str = ""
    after_point: bool = False

    def at_end(self) -> bool:
        """Returns whether the text is consumed."""
        return self.at >= len(self.text)

    def consume(self, kind: str, word: str) -> None:
        """Consumes the text that matches one part of the template."""
        character = self.text[self.at]
        match kind:
            case "digit" | "point":
                self._consume_digit(first=kind == "digit")
            case "group":
                # with FM, to_char omits a separator before the first digit: none is consumed here
                self.at += character == "," and self.template.fill
            case "sign" if word in {"MI", "PL", "SG"}:
                if character in {"MI": "-", "PL": "+", "SG": "+-"}[word]:
                    self.sign = character
                    self.at += 1
                else:
                    self._skip(1)
            case "ordinal":
                self._skip(2)
            case "currency":
                self._skip(1)
            case "text":
                for _ in word:
                    self._skip_character()

    def _skip(self, count: int) -> None:
        """Skips characters that are no part of a number."""
        while count and not self.at_end() and self.text[self.at] not in _DATA:
            self._skip_character()
            count -= 1

    def _skip_character(self) -> None:
        """Skips one character, all its bytes."""
        self.at += 1
        while not self.at_end() and "\x80" <= self.text[self.at] < "\xc0":
            self.at += 1

    def _consume_digit(self, *, first: bool) -> None:
        """Consumes a digit or the point, and a sign before the first or after the last digit; at least one byte."""
        template = self.template
        if self.text[self.at] == " ":
            self.at += 1
        if self.at_end():
            return
        none = not self.whole and not self.fraction
        if not self.sign and first and none:
            character = self.text[self.at]
            if character in "+-" or (character == "<" and template.sign == "PR"):
                self.sign = "+" if character == "+" else "-"
                self.at += 1
        if self.at_end():
            return
        character, read = self.text[self.at], False
        if character in "0123456789":
            if self.after_point and len(self.fraction) == template.after:
                self.at += 1
                return
            if self.after_point:
                self.fraction += character
            else:
                self.whole += character
            read = True
        elif template.decimal and not self.after_point and character == ".":
            self.after_point = read = True
        if not self.sign and (self.whole or self.fraction):
            self._consume_trailing_sign(read=read)
        self.at += 1

    def _consume_trailing_sign(self, *, read: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if self.template.sign == "S":
            if read and following in {"+", "-"}:
                self.sign, self.at = following, self.at + 1
        elif not read and self.template.sign in {"PL", "MI", "SG"} and self.text[self.at] in "+-":
            self.sign = self.text[self.at]
