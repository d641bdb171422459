"""Prepared INSERTs of several rows of parameters: the INSERT of one row, and the parameters of all rows.

The one row is planned once for texts of any number of rows. Clients may declare a value's type by the value, an integer
as the narrowest that holds it, or leave it open where the value is NULL: the row has one type a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    size = rows.width * rows.count
    declared = [*oids, *[0] * (size - len(oids))]
    if len(declared) > size:
        return None
    common = []
    for place in range(rows.width):
        kinds = set(declared[place :: rows.width]) - {0}
        if len(kinds) > 1 and not kinds <= set(_INTEGERS):
            return None
        common.append(max(kinds, key=_INTEGERS.index) if len(kinds) > 1 else next(iter(kinds), 0))
    one = prepare(rows.text, common)
    if not one.repeats or len(one.parameters) != rows.width:
        return None
    types = [
        type_by_oid(oid) if oid in _INTEGERS else one.parameters[place % rows.width]
        for place, oid in enumerate(declared)
    ]
    unknown = tuple(place for place, oid in enumerate(declared) if not oid and common[place % rows.width])
    return Prepared(sql, tuple(types), None, None, rows=RowsOfOne(one, rows.count, unknown))
