"""Functions of DuckDB, ClickHouse and Snowflake that are names for expressions of PostgreSQL's functions.

`composed.tsv` has the expressions by name and number of operands; `$n` are the operands. Expressions whose root is an
aggregate are aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("composed.tsv")


@cache
def composed_functions() -> Mapping[tuple[str, int], str]:
    """Returns the expressions by name and number of operands."""
    rows = (line.split("\t") for line in _FILE.read_text(encoding="utf-8").splitlines()[1:])
    return {(name, int(operands)): expression for name, operands, expression in rows}
