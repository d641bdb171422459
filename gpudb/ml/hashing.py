"""A hash in SQL, of 30 bits: the same on every engine, number of workers and PostgreSQL itself.

Integers, dates and timestamps go twice through x (2x + 1) modulo 2³⁰, which RC6 uses: its high bits depend on all bits
of x. The value is read four times, so that the statement stays short. All else is hashed as text by md5: on workers by
the host, once for each distinct text.
"""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported
from gpudb.ml.literals import INPUT, refer
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS

RANGE = 1 << 30
"""Hashes are below this."""
_MASK = RANGE - 1
_HIGH, _STEP, _ADDED = 0x2C9277B5, 0x1A2B3C4D, 0x01F35A7D
"""Odd factors and a summand below RANGE, so that no product leaves 64 bits."""
_HELD_AS_INTEGERS = INTEGERS | {"oid", "bool"}
_TEXTS = frozenset({"text", "varchar", "bpchar", "uuid", "numeric"})


def mix(value: int, seed: int = 0) -> int:
    """Returns the hash of an integer of 64 bits."""
    high = abs(value) // RANGE * (-1 if value < 0 else 1)
    x = ((value & _MASK) + (high & _MASK) * _HIGH + _salt(seed)) & _MASK
    x = (x * (2 * x + 1) & _MASK) * _STEP + _ADDED & _MASK
    return x * (2 * x + 1) & _MASK


def _salt(seed: int) -> int:
    return seed * _STEP & _MASK


def to_bucket(hashed: str, count: int) -> str:
    """Returns the bucket of a hash, of `count` ones of equal size, as an expression."""
    return f"({hashed} * {count} / {RANGE})"


def hash_column(name: str, type_: SqlType, seed: int = 0, alias: str = INPUT) -> str:
    """Returns the hash of a column as an expression of bigint, from 0 to RANGE - 1; NULL for NULL."""
    return hash_expression(refer(name, alias), type_, seed)


def hash_expression(value: str, type_: SqlType, seed: int = 0) -> str:
    """Returns the hash of an expression of a type. 0A000 for types whose text depends on settings, as of floats."""
    if type_.name in _TEXTS:
        return f"(('x' || substr(md5('{seed}:' || {value}::text), 1, 8))::bit(32)::bigint & {_MASK})"
    if type_.name == "date":
        number = f"({value} - date '2000-01-01')::bigint"
    elif type_.name == "bool":
        number = f"{value}::int::bigint"
    elif type_.name in _HELD_AS_INTEGERS:
        number = f"{value}::bigint"
    elif type_.name in {"timestamp", "timestamptz"}:
        number = f"(extract(epoch FROM {value}) * 1000000)::bigint"
    else:
        raise FeatureNotSupported(f"hashing of type {type_} is not supported", hint="Cast it to text, or to integer.")
    x = f"((({number} & {_MASK}) + ({number} / {RANGE} & {_MASK}) * {_HIGH} + {_salt(seed)}) & {_MASK})"
    x = f"((({x} * (2 * {x} + 1)) & {_MASK}) * {_STEP} + {_ADDED} & {_MASK})"
    return f"(({x} * (2 * {x} + 1)) & {_MASK})"
