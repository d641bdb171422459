"""Window functions: ranks and offsets. Aggregates over windows are the aggregates themselves."""

from __future__ import annotations

from gpudb.functions.let_binding import let, raises
from gpudb.functions.registry import MISSING, Operands, declare

for _name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"):
    declare(_name, lambda o, name=_name: o.call(name))


def _tile(operands: Operands) -> str:
    """Takes the number of tiles, if it is not constant, from the partition's first row; DuckDB evaluates it for each
    row.
    """
    tiles = operands.sql[0]
    if operands.constants[0] is not MISSING:
        return f"CAST({operands.call('ntile', tiles)} AS INTEGER)"
    later = raises("0A000", "'an argument of ntile that is NULL in the first rows alone is not supported'", "INTEGER")
    wrong = raises("22014", "'argument of ntile must be greater than zero'", "INTEGER")

    def made(own: str, first: str, size: str, place: str) -> str:
        # the first tiles have one row more than the others, which may be empty
        few = f"{size} // {first}"
        tile = f"greatest({place} // ({few} + 1), ({place} - {size} % {first}) // nullif({few}, 0)) + 1"
        unknown = f"CASE WHEN {own} IS NOT NULL THEN {later} END"
        none = f"WHEN {first} IS NULL THEN {unknown} WHEN {first} <= 0 THEN {wrong}"
        return f"(CASE {none} ELSE CAST({tile} AS INTEGER) END)"

    place = f"({operands.call('row_number')} - 1)"
    return let(made, tiles, operands.call("first_value", tiles), operands.call("count", "*"), place)


declare("ntile", _tile)


def _offset(name: str) -> None:
    """Returns a value of another row; a carried numeric's scale comes from the same row."""

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
