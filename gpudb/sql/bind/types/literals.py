"""Literals, and untyped text as a value of the type that its context demands."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from gpudb.catalog.postgres.relations import get_system_relation as system_relation
from gpudb.errors import NumericOutOfRange
from gpudb.functions.library import functions_by_name
from gpudb.sql.bound import Constant
from gpudb.text_search.configurations import get_configuration_oid, get_dictionary_oid
from gpudb.types import (
    BIT,
    BOOL,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    MAX_DIGITS,
    UNKNOWN,
    WIDE_NUMERIC,
    SqlType,
    exact_numeric,
)
from gpudb.types.facts import INTEGERS, fits_integer
from gpudb.values.array import count_dimensions
from gpudb.values.bit_strings import parse_bits
from gpudb.values.interval import parse_restricted_interval
from gpudb.values.text import parse_text
from gpudb.values.wide_numerics import normalize, scale_of

_MAX_CHARACTERS = 4_000  # Python's limit on digits of an int


def bind_literal(node: Any) -> Constant:
    """Binds an A_Const message: integers as narrow as PostgreSQL types them, decimals exact."""
    if node.isnull:
        return Constant(None, UNKNOWN)
    match node.WhichOneof("val"):
        case "ival":
            return Constant(node.ival.ival, INT4)
        case "fval":
            return parse_number(node.fval.fval)
        case "boolval":
            return Constant(node.boolval.boolval, BOOL)
        case "sval":
            return Constant(node.sval.sval, UNKNOWN)
        case _:
            return Constant(parse_bits(BIT, node.bsval.bsval), BIT)


def parse_number(text: str) -> Constant:
    """Returns a number that is too large for the parser's int4, or has a point or an exponent."""
    digits = text.replace("_", "")
    if digits.lstrip("+-").isdigit() and len(digits) <= _MAX_CHARACTERS:
        value = int(digits)
        for item in (INT4, INT8):
            if fits_integer(value, item.name):
                return Constant(value, item)
    elif digits[:2].lower() in {"0x", "0o", "0b"}:
        return parse_number(str(int(digits, 0)))
    try:
        return build_numeric(Decimal(digits))
    except InvalidOperation:
        raise NumericOutOfRange("value overflows numeric format") from None


def build_numeric(value: Decimal) -> Constant:
    """Returns a numeric constant of exactly its digits, wide if 128 bits have no room; 22003 beyond the limits."""
    value = normalize(value)
    if not value.is_finite():
        return Constant(value, WIDE_NUMERIC)
    scale = scale_of(value)
    digits = max(len(value.as_tuple().digits) if value else 1, scale)
    return Constant(value, exact_numeric(digits, scale) if digits <= MAX_DIGITS else WIDE_NUMERIC)


def convert_literal(constant: Constant, target: SqlType, timezone: str) -> Constant | None:
    """Converts a literal to `target` without an engine; None if that is not possible.

    22P02, 22007, 22008 or 22003 for text that is no such value.
    """
    value, source = constant.value, constant.type.name
    if value is None:
        return Constant(None, target)
    if source == "unknown":
        return _convert_text(str(value), target, timezone)
    if source in INTEGERS and isinstance(value, int):
        if target.name in INTEGERS:
            if not fits_integer(value, target.name):
                raise NumericOutOfRange(f"{target.plain} out of range")
            return Constant(value, target)
        if target.name == "numeric" and target.modifier == -1 and target.wide:
            return Constant(Decimal(value), target)
        if target.name == "numeric" and target.modifier == -1:
            result = build_numeric(Decimal(value))
            return result if target.digits is None else None
        if target in (FLOAT4, FLOAT8) and abs(value) < 2**24:
            return Constant(float(value), target)
        if target.name == "oid" and 0 <= value < 2**32:
            return Constant(value, target)
    if source == "numeric" and isinstance(value, Decimal) and target in (FLOAT4, FLOAT8):
        return Constant(parse_text(target, format(value, "f"), timezone), target)
    return None


_TEXT_SEARCH = {"regconfig": get_configuration_oid, "regdictionary": get_dictionary_oid}
"""There are no others than PostgreSQL's own."""


def find_system_object(text: str, kind: str) -> int | None:
    """Returns the OID of a number or of one of PostgreSQL's own objects, as a `kind` (regclass …)."""
    if text.isascii() and text.isdigit():
        return int(text)
    name = text.removeprefix("pg_catalog.")
    if not name.replace("_", "").isalnum() or not name.islower():
        return None
    if kind == "regclass" and name.startswith("pg_"):
        found = system_relation("pg_catalog", name)
        return None if found is None else found.oid
    if kind == "regproc":
        functions = functions_by_name().get(name, ())
        return functions[0].oid if len(functions) == 1 else None
    if kind in _TEXT_SEARCH:
        return _TEXT_SEARCH[kind](text)
    if kind == "regnamespace":
        return 11 if text == "pg_catalog" else None
    return None


def _convert_text(text: str, target: SqlType, timezone: str) -> Constant | None:
    if target.name == "interval" and target.modifier != -1:
        return Constant(parse_restricted_interval(text, target.modifier), target)
    if target.name in {"unknown", "cstring"}:
        return Constant(text, target)
    if target.name.startswith("reg") or target.name.lstrip("_").startswith("reg"):
        known = find_system_object(text, target.name)
        return None if known is None else Constant(known, target)
    if target.name == "numeric" and target.modifier == -1:
        value = parse_text(WIDE_NUMERIC, text, timezone)
        if target.wide:
            return Constant(value, target)
        return build_numeric(value) if isinstance(value, Decimal) else Constant(value, target)
    if target.name == "bpchar" and target.modifier == -1:
        return Constant(text.rstrip(" "), replace(target, digits=(len(text), 0)))
    value = parse_text(target, text, timezone)
    if target.element is not None and isinstance(value, list) and count_dimensions(value) != target.dims:
        target = replace(target, dims=count_dimensions(value))
    return Constant(value, target)


def narrow_integer(constant: Constant) -> Constant:
    """Returns an integer literal as a numeric of its digits, which widens no decimal beside it."""
    if constant.type in (INT2, INT4, INT8) and isinstance(constant.value, int):
        return build_numeric(Decimal(constant.value))
    return constant
