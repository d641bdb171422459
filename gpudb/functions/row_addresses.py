"""tid and the addresses of rows (`gpudb.catalog.row_addresses`): comparisons, and what `ctid` is computed by."""

from __future__ import annotations

from gpudb.functions.registry import declare
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS

ROW_ADDRESS = "gpudb_row_address"
"""The function of a file's path and a row's number that `ctid` is."""

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"tid{_name}", f"({{0}} {_symbol} {{1}})")
declare("bttidcmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")
declare("tidlarger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("tidsmaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")
declare(ROW_ADDRESS, "pg_row_address({0}, {1})")


def to_tid(sql: str, source: SqlType) -> str | None:
    """Converts a text to an address."""
    return f"pg_tid_in({sql})" if source.name in STRINGS else sql if source.name == "tid" else None
