"""Assignment to array elements and slices (UPDATE … SET a[i] = …): PostgreSQL's rules for NULLs, growth and bounds."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.types import SqlType

_MAX_ITEMS = 134217727
_START_MESSAGE = "arrays whose subscripts do not start at 1 are not supported"

_EMPTY_MESSAGE = "assigning to an item of an empty array of several dimensions is not supported"


def assign_element(array: str, subscripts: Sequence[str], value: str, array_type: SqlType) -> str:
    """Renders the array with the element at the subscripts `subscripts` replaced. 22004, 2202E, 54000, 0A000."""
    if len(subscripts) > 1:
        return _assign_inner_element(array, subscripts, value, array_type)
    kind = array_type.duckdb

    def render_assignment(old: str, subscript: str, new: str) -> str:
        grown = (
            f"list_concat(list_resize({old}, {subscript} - 1), [{new}], list_slice({old}, {subscript} + 1, len({old})))"
        )
        start = render_error("0A000", _quoted(_START_MESSAGE), kind)
        return (
            f"(CASE WHEN {subscript} IS NULL THEN {_null_error('array subscript', kind)}"
            f" WHEN {subscript} < 1 OR ({subscript} > 1 AND len({old}) = 0) THEN {start}"
            f" WHEN {subscript} > {_MAX_ITEMS} THEN {_size_error(kind)} ELSE CAST({grown} AS {kind}) END)"
        )

    return bind_values(render_assignment, _empty_if_null(array, kind), subscripts[0], f"CAST({value} AS {kind[:-2]})")


def _assign_inner_element(array: str, subscripts: Sequence[str], value: str, array_type: SqlType) -> str:
    """Renders the assignment to an element of a multidimensional array, which does not grow."""
    kind = array_type.duckdb
    out = render_error("2202E", "'array subscript out of range'", kind)
    inner_type = array_type.item
    assert inner_type is not None

    def render_assignment(old: str, subscript: str) -> str:
        below = assign_element(f"{old}[{subscript}]", subscripts[1:], value, inner_type)
        last = len(subscripts) == 2
        fits = f" WHEN {subscripts[1]} NOT BETWEEN 1 AND len({old}[{subscript}]) THEN {out}" if last else ""
        changed = f"list_concat({old}[:{subscript} - 1], [{below}], list_slice({old}, {subscript} + 1, len({old})))"
        return (
            f"(CASE WHEN {subscript} IS NULL THEN {_null_error('array subscript', kind)}"
            f" WHEN len({old}) = 0 THEN {render_error('0A000', _quoted(_EMPTY_MESSAGE), kind)}"
            f" WHEN {subscript} NOT BETWEEN 1 AND len({old}) THEN {out}{fits} ELSE CAST({changed} AS {kind}) END)"
        )

    return bind_values(render_assignment, _empty_if_null(array, kind), subscripts[0])


def assign_slice(array: str, low: str | None, high: str | None, values: str, array_type: SqlType) -> str:
    """Renders the array with the slice `low` to `high` replaced by the first elements of `values`.

    A bound that is None is the array's own bound. If `values` is NULL, the array is unchanged.
    22004, 2202E, 54000, 0A000.
    """
    kind = array_type.duckdb

    def render_assignment(old: str, first: str, last: str, new: str) -> str:
        cut = f"list_slice({new}, 1, {last} - {first} + 1)"
        grown = f"list_concat(list_resize({old}, {first} - 1), {cut}, list_slice({old}, {last} + 1, len({old})))"
        message = _quoted("array slice subscript must provide both boundaries")
        detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified."
        unspecified = render_error("2202E", message, kind, detail=detail)
        bounds = "" if low is not None and high is not None else f" WHEN len({old}) = 0 THEN {unspecified}"
        crossed = render_error("2202E", "'upper bound cannot be less than lower bound'", kind)
        short = render_error("2202E", "'source array too small'", kind)
        start = render_error("0A000", _quoted(_START_MESSAGE), kind)
        return (
            f"(CASE WHEN {first} IS NULL OR {last} IS NULL THEN {_null_error('array slice subscript', kind)}{bounds}"
            f" WHEN {first} > {last} THEN {crossed} WHEN {last} - {first} + 1 > len({new}) THEN {short}"
            f" WHEN {first} < 1 OR ({first} > 1 AND len({old}) = 0) THEN {start}"
            f" WHEN {last} > {_MAX_ITEMS} THEN {_size_error(kind)} ELSE CAST({grown} AS {kind}) END)"
        )

    old = _empty_if_null(array, kind)
    first, last = low or "1", high or f"len({old})"
    changed = bind_values(render_assignment, old, first, last, f"CAST({values} AS {kind})")
    return f"(CASE WHEN {values} IS NULL THEN {array} ELSE {changed} END)"


def _empty_if_null(array: str, kind: str) -> str:
    return f"coalesce({array}, CAST([] AS {kind}))"


def _null_error(what: str, kind: str) -> str:
    return render_error("22004", f"'{what} in assignment must not be null'", kind)


def _size_error(kind: str) -> str:
    return render_error("54000", f"'array size exceeds the maximum allowed ({_MAX_ITEMS})'", kind)


def _quoted(text: str) -> str:
    return f"'{text}'"
