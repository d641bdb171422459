"""Positions in the history of commits, as PostgreSQL's functions over its log of changes show them.

gpudb keeps no such log. The number of the last commit stands for the position: it grows with every commit, and is the
same on all servers over one catalog once they have caught up. There are no files of a log.
"""

from __future__ import annotations

from gpudb.functions.registry import declare
from gpudb.types import MAX_DIGITS, exact_numeric

_SEGMENT = 1 << 24
"""The bytes of a file of PostgreSQL's log, for the names that positions have in it."""


def _read(operand: str) -> str:
    """Returns a position as a number; `operand` is its text."""
    high, low = (f"CAST('0x' || split_part({operand}, '/', {place}) AS UBIGINT)" for place in (1, 2))
    return f"(CAST({high} AS HUGEINT) * 4294967296 + {low})"


def _write(number: str) -> str:
    high, low = (f"CAST(({number}) {operator} 4294967296 AS BIGINT)" for operator in ("//", "%"))
    return f"format('{{{{:X}}}}/{{{{:X}}}}', {high}, {low})"


_ONE, _OTHER = _read("{0}"), _read("{1}")
for _name, _symbol in (("lt", "<"), ("le", "<="), ("eq", "="), ("ge", ">="), ("gt", ">"), ("ne", "<>")):
    declare(f"pg_lsn_{_name}", f"({_ONE} {_symbol} {_OTHER})")
declare("pg_lsn_larger", f"(CASE WHEN {_ONE} >= {_OTHER} THEN {{0}} ELSE {{1}} END)")
declare("pg_lsn_smaller", f"(CASE WHEN {_ONE} <= {_OTHER} THEN {{0}} ELSE {{1}} END)")
declare(
    "pg_lsn_mi pg_wal_lsn_diff",
    f"CAST({_ONE} - {_OTHER} AS DECIMAL(38,0))",
    result=lambda types, constants: exact_numeric(MAX_DIGITS, 0),
)
declare("pg_lsn_pli", _write(f"{_ONE} + CAST({{1}} AS HUGEINT)"))
declare("pg_lsn_mii", _write(f"{_ONE} - CAST({{1}} AS HUGEINT)"))
declare(
    "pg_walfile_name",
    f"format('00000001{{{{:08X}}}}{{{{:08X}}}}', CAST({_ONE} // 4294967296 AS BIGINT),"
    f" CAST(({_ONE} % 4294967296) // {_SEGMENT} AS BIGINT))",
)
declare("pg_current_wal_lsn pg_current_wal_insert_lsn pg_current_wal_flush_lsn", session="last_commit_lsn")
