"""References to the system catalog in rendered SQL."""

from __future__ import annotations

import re

FUNCTION_PREFIX = "fn "
"""Prefix of the tables that hold the rows of functions over the server's state."""

_REFERENCE = re.compile(
    rf'\b(?:sys_\w+|pg_reg(?!ex_)\w+|pg_to_reg\w+)\(|AS tableoid, |"{FUNCTION_PREFIX}|pg_class AS u'
)


def reads_system_catalog(sql: str) -> bool:
    """Returns whether a statement's SQL refers to system relations or functions that read them."""
    return _REFERENCE.search(sql) is not None
