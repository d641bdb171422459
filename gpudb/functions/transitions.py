"""Plain functions of which PostgreSQL's aggregates are composed; user-defined aggregates can use them too."""

from __future__ import annotations

from gpudb.functions.registry import declare

declare("int8inc", "({0} + 1)")
declare("int8dec", "({0} - 1)")
declare("booland_statefunc", "({0} AND {1})")
declare("boolor_statefunc", "({0} OR {1})")

# DuckDB compares the months of intervals first, so those functions are missing here; all are strict.
_ORDERED = "int2 int4 int8 float4 float8 text date time timestamp timestamptz".split()
declare(" ".join(f"{name}{'' if name[:3] in {'int', 'flo'} else '_'}larger" for name in _ORDERED), "greatest({0}, {1})")
declare(" ".join(f"{name}{'' if name[:3] in {'int', 'flo'} else '_'}smaller" for name in _ORDERED), "least({0}, {1})")
