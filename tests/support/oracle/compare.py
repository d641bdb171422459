"""Comparison of two outcomes: SQLSTATE, columns, types, type modifiers and rows, with a readable difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.support.oracle.wire import Outcome

RELATIVE_TOLERANCE = 1e-9

_FLOATS = frozenset({700, 701})
_FLOAT_ARRAYS = frozenset({1021, 1022})
_FLOAT4_TOLERANCE = 1e-6
_SHOWN = 10
_FIRST_USER_OID = 16384

Row = tuple[str | None, ...]


def assert_same(oracle: Outcome, gpudb: Outcome, ordered: bool, messages: bool = False) -> None:
    """Raises AssertionError with the differences unless a client sees the same.

    With `messages`, an error's message, detail, hint and position are compared too.
    """
    found = differences(oracle, gpudb, ordered)
    if messages and not found and oracle.failed:
        found = error_differences(oracle, gpudb)
    assert not found, "\n".join(found)


def differences(oracle: Outcome, gpudb: Outcome, ordered: bool) -> list[str]:
    """Lists how `gpudb` differs from `oracle`; rows count as a multiset unless `ordered`."""
    if oracle.sqlstate != gpudb.sqlstate:
        return [f"outcome: oracle {_end(oracle)}, gpudb {_end(gpudb)}"]
    found = []
    for name, ours, theirs in (
        ("columns", oracle.columns, gpudb.columns),
        ("type OIDs", _shared(oracle.oids), _shared(gpudb.oids)),
        ("type modifiers", oracle.typmods, gpudb.typmods),
        ("command tag", oracle.tag, gpudb.tag),
        ("transaction status", oracle.status, gpudb.status),
    ):
        if ours != theirs:
            found.append(f"{name}: oracle {ours!r}, gpudb {theirs!r}")
    if len(oracle.columns) == len(gpudb.columns):
        found += _row_differences(oracle, gpudb, ordered)
    return found


def _shared(oids: Sequence[int]) -> tuple[int, ...]:
    """System OIDs unchanged, user types' OIDs as one value: each server assigns those differently."""
    return tuple(min(oid, _FIRST_USER_OID) for oid in oids)


def error_differences(oracle: Outcome, gpudb: Outcome) -> list[str]:
    """Lists how two errors differ in message, detail, hint and position."""
    found = []
    for name in ("message", "detail", "hint", "position"):
        expected, actual = getattr(oracle, name), getattr(gpudb, name)
        if expected != actual:
            found.append(f"{name}: oracle {expected!r}, gpudb {actual!r}")
    return found


def _row_differences(oracle: Outcome, gpudb: Outcome, ordered: bool) -> list[str]:
    expected: Sequence[Row] = oracle.rows
    actual: Sequence[Row] = gpudb.rows
    if not ordered:
        expected = sorted(expected, key=lambda row: _sort_key(row, oracle.oids))
        actual = sorted(actual, key=lambda row: _sort_key(row, oracle.oids))
    found = []
    if len(expected) != len(actual):
        found.append(f"row count: oracle {len(expected)}, gpudb {len(actual)}")
        missing, extra = _multiset_difference(expected, actual)
        found += [f"  only oracle: {_show(row)}" for row in missing[:_SHOWN]]
        found += [f"  only gpudb:  {_show(row)}" for row in extra[:_SHOWN]]
        return found
    wrong = [
        (number, left, right)
        for number, (left, right) in enumerate(zip(expected, actual, strict=True))
        if not _same_row(left, right, oracle.oids)
    ]
    if wrong:
        kind = "in order" if ordered else "as a multiset, sorted here"
        found.append(f"rows ({kind}): {len(wrong)} of {len(expected)} differ")
        for number, left, right in wrong[:_SHOWN]:
            found += [f"  row {number} oracle: {_show(left)}", f"  row {number} gpudb:  {_show(right)}"]
    return found


def _same_row(left: Row, right: Row, oids: Sequence[int]) -> bool:
    return all(_same_value(a, b, oid) for a, b, oid in zip(left, right, oids, strict=True))


def _same_value(left: str | None, right: str | None, oid: int) -> bool:
    if left == right:
        return True
    if left is None or right is None:
        return False
    if oid in _FLOATS:
        return _same_float(left, right, _tolerance(oid))
    if oid in _FLOAT_ARRAYS:
        ours, theirs = left.strip("{}").split(","), right.strip("{}").split(",")
        pairs = zip(ours, theirs, strict=False)
        return len(ours) == len(theirs) and all(_same_float(a, b, _tolerance(oid)) for a, b in pairs)
    return False


def _tolerance(oid: int) -> float:
    # A float4 has 24 bits: its last digit is already coarser than the double's tolerance.
    return _FLOAT4_TOLERANCE if oid in (700, 1021) else RELATIVE_TOLERANCE


def _same_float(left: str, right: str, tolerance: float) -> bool:
    if left == right:
        return True
    try:
        a, b = float(left), float(right)
    except ValueError:
        return False
    if not (math.isfinite(a) and math.isfinite(b)):
        return False  # NaN and infinities have one spelling each, compared above
    if a == b:
        return False  # equal values have one shortest text: another text is a wrong format (or zero's sign)
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=0.0)


def _sort_key(row: Row, oids: Sequence[int]) -> tuple[object, ...]:
    exact = tuple(
        (value is not None, value or "")
        for value, oid in zip(row, oids, strict=True)
        if oid not in _FLOATS | _FLOAT_ARRAYS
    )
    inexact = tuple(_float_key(value) for value, oid in zip(row, oids, strict=True) if oid in _FLOATS | _FLOAT_ARRAYS)
    return exact, inexact


def _float_key(value: str | None) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    try:
        number = float(value)
    except ValueError:
        return (3, 0.0, value)
    return (2, 0.0, "") if math.isnan(number) else (1, number, "")


def _multiset_difference(left: Sequence[Row], right: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    extra = list(right)
    missing = []
    for row in left[:10_000]:
        if row in extra:
            extra.remove(row)
        else:
            missing.append(row)
    return missing, extra


def _end(outcome: Outcome) -> str:
    if outcome.failed:
        return f"{outcome.sqlstate} ({outcome.message})"
    rows = "; ".join(_show(row) for row in outcome.rows[:3])
    return f"success [{outcome.tag}] {rows}".rstrip()


def _show(row: Row) -> str:
    text = " | ".join("NULL" if value is None else repr(value) for value in row)
    return text if len(text) <= 400 else text[:400] + "..."
