"""Assignment to array elements and slices (UPDATE … SET a[i] = …): PostgreSQL's rules for NULLs, growth and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.functions.let_binding import let, raises
from gpudb.types import SqlType

_MOST = 134217727
_START = "arrays whose subscripts do not start at 1 are not supported"

_EMPTY = "assigning to an item of an empty array of several dimensions is not supported"


def item(array: str, places: Sequence[str], value: str, held: SqlType) -> str:
    """Renders the array with the element at the subscripts `places` replaced. 22004, 2202E, 54000, 0A000."""
    if len(places) > 1:
        return _inner_item(array, places, value, held)
    kind = held.duckdb

    def made(old: str, place: str, new: str) -> str:
        grown = f"list_concat(list_resize({old}, {place} - 1), [{new}], list_slice({old}, {place} + 1, len({old})))"
        return (
            f"(CASE WHEN {place} IS NULL THEN {_null('array subscript', kind)}"
            f" WHEN {place} < 1 OR ({place} > 1 AND len({old}) = 0) THEN {raises('0A000', _quoted(_START), kind)}"
            f" WHEN {place} > {_MOST} THEN {_large(kind)} ELSE CAST({grown} AS {kind}) END)"
        )

    return let(made, _there(array, kind), places[0], f"CAST({value} AS {kind[:-2]})")


def _inner_item(array: str, places: Sequence[str], value: str, held: SqlType) -> str:
    """Renders the assignment to an element of a multidimensional array, which does not grow."""
    kind = held.duckdb
    out = raises("2202E", "'array subscript out of range'", kind)
    inside = held.item
    assert inside is not None

    def made(old: str, place: str) -> str:
        below = item(f"{old}[{place}]", places[1:], value, inside)
        last = len(places) == 2
        fits = f" WHEN {places[1]} NOT BETWEEN 1 AND len({old}[{place}]) THEN {out}" if last else ""
        changed = f"list_concat({old}[:{place} - 1], [{below}], list_slice({old}, {place} + 1, len({old})))"
        return (
            f"(CASE WHEN {place} IS NULL THEN {_null('array subscript', kind)}"
            f" WHEN len({old}) = 0 THEN {raises('0A000', _quoted(_EMPTY), kind)}"
            f" WHEN {place} NOT BETWEEN 1 AND len({old}) THEN {out}{fits} ELSE CAST({changed} AS {kind}) END)"
        )

    return let(made, _there(array, kind), places[0])


def items(array: str, low: str | None, high: str | None, values: str, held: SqlType) -> str:
    """Renders the array with the slice `low` to `high` replaced by the first elements of `values`.

    A bound that is None is the array's own bound. If `values` is NULL, the array is unchanged.
    22004, 2202E, 54000, 0A000.
    """
    kind = held.duckdb

    def made(old: str, first: str, last: str, new: str) -> str:
        cut = f"list_slice({new}, 1, {last} - {first} + 1)"
        grown = f"list_concat(list_resize({old}, {first} - 1), {cut}, list_slice({old}, {last} + 1, len({old})))"
        message = _quoted("array slice subscript must provide both boundaries")
        detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified."
        unsaid = raises("2202E", message, kind, detail=detail)
        both = "" if low is not None and high is not None else f" WHEN len({old}) = 0 THEN {unsaid}"
        crossed = raises("2202E", "'upper bound cannot be less than lower bound'", kind)
        short = raises("2202E", "'source array too small'", kind)
        start = raises("0A000", _quoted(_START), kind)
        return (
            f"(CASE WHEN {first} IS NULL OR {last} IS NULL THEN {_null('array slice subscript', kind)}{both}"
            f" WHEN {first} > {last} THEN {crossed} WHEN {last} - {first} + 1 > len({new}) THEN {short}"
            f" WHEN {first} < 1 OR ({first} > 1 AND len({old}) = 0) THEN {start}"
            f" WHEN {last} > {_MOST} THEN {_large(kind)} ELSE CAST({grown} AS {kind}) END)"
        )

    old = _there(array, kind)
    first, last = low or "1", high or f"len({old})"
    changed = let(made, old, first, last, f"CAST({values} AS {kind})")
    return f"(CASE WHEN {values} IS NULL THEN {array} ELSE {changed} END)"


def _there(array: str, kind: str) -> str:
    return f"coalesce({array}, CAST([] AS {kind}))"


def _null(what: str, kind: str) -> str:
    return raises("22004", f"'{what} in assignment must not be null'", kind)


def _large(kind: str) -> str:
    return raises("54000", f"'array size exceeds the maximum allowed ({_MOST})'", kind)


def _quoted(text: str) -> str:
    return f"'{text}'"
