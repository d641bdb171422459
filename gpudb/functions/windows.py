"""Window functions: ranks and offsets. Aggregates over windows are the aggregates themselves."""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import MISSING, Operands, declare

for _name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"):
    declare(_name, lambda o, name=_name: o.call(name))


def _render_ntile(operands: Operands) -> str:
    """Takes the number of tiles, if it is not constant, from the partition's first row; DuckDB evaluates it for each
    row.
    """
    tiles = operands.sql[0]
    if operands.constants[0] is not MISSING:
        return f"CAST({operands.call('ntile', tiles)} AS INTEGER)"
    first_row_error = render_error(
        "0A000", "'an argument of ntile that is NULL in the first rows alone is not supported'", "INTEGER"
    )
    error = render_error("22014", "'argument of ntile must be greater than zero'", "INTEGER")

    def body(tile_count: str, first: str, size: str, position: str) -> str:
        # the first tiles have one row more than the others, which may be empty
        few = f"{size} // {first}"
        tile = f"greatest({position} // ({few} + 1), ({position} - {size} % {first}) // nullif({few}, 0)) + 1"
        unknown = f"CASE WHEN {tile_count} IS NOT NULL THEN {first_row_error} END"
        none = f"WHEN {first} IS NULL THEN {unknown} WHEN {first} <= 0 THEN {error}"
        return f"(CASE {none} ELSE CAST({tile} AS INTEGER) END)"

    position = f"({operands.call('row_number')} - 1)"
    return bind_values(body, tiles, operands.call("first_value", tiles), operands.call("count", "*"), position)


declare("ntile", _render_ntile)


def _declare_offset(name: str) -> None:
    """Returns a value of another row; a carried numeric's scale comes from the same row."""

    def scale(operands: Operands) -> str:
        others = [operands.scales[0], *operands.sql[1:2], *operands.scales[2:]]
        return operands.call(name, *others)

    declare(name, lambda o: o.call(name, *o.sql), scale=scale)


for _name in ("lag", "lead", "first_value", "last_value"):
    _declare_offset(_name)


def _check_position(operands: Operands) -> str:
    position = operands.sql[1]
    error = render_error("22016", "'argument of nth_value must be greater than zero'", "INTEGER")
    return f"(CASE WHEN {position} <= 0 THEN {error} ELSE {position} END)"


declare(
    "nth_value",
    lambda o: o.call("nth_value", o.sql[0], _check_position(o)),
    scale=lambda o: o.call("nth_value", o.scales[0], _check_position(o)),
)
