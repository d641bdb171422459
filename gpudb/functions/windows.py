"""Window functions: ranks and offsets. Aggregates over windows are the aggregates themselves."""

from __future__ import annotations

from gpudb.functions.let import raises
from gpudb.functions.registry import Operands, declare

for _name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"):
    declare(_name, lambda o, name=_name: o.call(name))
declare("ntile", lambda o: f"CAST({o.call('ntile', *o.sql)} AS INTEGER)")


def _offset(name: str) -> None:
    """A value of another row; a carried numeric's scale comes from the same row."""

    def scale(operands: Operands) -> str:
        others = [operands.scales[0], *operands.sql[1:2], *operands.scales[2:]]
        return operands.call(name, *others)

    declare(name, lambda o: o.call(name, *o.sql), scale=scale)


for _name in ("lag", "lead", "first_value", "last_value"):
    _offset(_name)


def _place(operands: Operands) -> str:
    place = operands.sql[1]
    wrong = raises("22016", "'argument of nth_value must be greater than zero'", "INTEGER")
    return f"(CASE WHEN {place} <= 0 THEN {wrong} ELSE {place} END)"


declare(
    "nth_value",
    lambda o: o.call("nth_value", o.sql[0], _place(o)),
    scale=lambda o: o.call("nth_value", o.scales[0], _place(o)),
)
