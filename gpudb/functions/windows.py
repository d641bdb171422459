"""Window functions: ranks and offsets. Aggregates over windows are the aggregates themselves."""

from __future__ import annotations

from gpudb.functions.registry import declare

for _name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"):
    declare(_name, lambda o, name=_name: o.call(name))  # type: ignore[misc]
declare("ntile", lambda o: f"CAST({o.call('ntile', *o.sql)} AS INTEGER)")
for _name in ("lag", "lead", "first_value", "last_value", "nth_value"):
    declare(_name, lambda o, name=_name: o.call(name, *o.sql))  # type: ignore[misc]
