"""Prepared INSERTs of several rows of parameters: the INSERT of one row, and the parameters of all rows.

The one row is planned once for texts of any number of rows. Clients may declare a value's type by the value, an integer
as the narrowest that holds it, or leave it open where the value is NULL: the row has one type a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.errors import GpudbError, QueryCanceled
from gpudb.session.results import Prepared, RowsOfOne
from gpudb.sql.parse.parameter_rows import ParameterRows
from gpudb.types import type_by_oid

_INTEGERS = tuple(type_by_oid(oid).oid for oid in (21, 23, 20))
"""The OIDs of smallint, integer and bigint."""


def prepare_rows(
    rows: ParameterRows, sql: str, oids: Sequence[int], prepare: Callable[[str, Sequence[int]], Prepared]
) -> Prepared | None:
    """Returns the prepared INSERT of rows of parameters with types as the client declares them (0: open).

    `prepare` prepares the INSERT of one row. None if the statement has to be prepared whole.
    """
    size, width = rows.width * rows.count, rows.width
    declared = (*oids, *[0] * (size - len(oids)))
    if len(declared) > size:
        return None
    kinds = [set(declared[place::width]) for place in range(width)]
    named = [each - {0} for each in kinds]
    if any(len(each) > 1 and not each <= set(_INTEGERS) for each in named):
        return None
    common = [max(each, key=_INTEGERS.index) if len(each) > 1 else next(iter(each), 0) for each in named]
    is_uniform = all(len(each) == 1 for each in kinds)
    try:
        one = prepare(rows.text, common)
        # The types that targets and casts give to values whose type is open
        inferred = one if is_uniform else prepare(rows.text, [0 if 0 in each else max(each) for each in kinds])
    except QueryCanceled:
        raise
    except GpudbError:
        if is_uniform:
            raise
        return None  # the error is that of another row, or of another type
    if not one.repeats or len(one.parameters) != width:
        return None
    types = tuple(
        type_by_oid(oid) if oid in _INTEGERS else (one if oid else inferred).parameters[place % width]
        for place, oid in enumerate(declared)
    )
    empty = tuple(place for place, oid in enumerate(declared) if not oid and common[place % width])
    return Prepared(sql, types, None, None, rows=RowsOfOne(one, rows.count, declared, empty, is_uniform))
