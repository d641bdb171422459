"""Policies that ask for the current role: what reads a table for its owner must do so as that role."""

from __future__ import annotations

import re

from gpudb.catalog.model import Catalog

_ASKS = re.compile(r"\b(current_user|current_role|user|current_setting)\b", re.IGNORECASE)


def asks_for_role(catalog: Catalog, role: str) -> bool:
    """Whether a policy that restricts what a role sees may depend on which role is the current one."""
    known = catalog.roles.get(role)
    if known is not None and (known.superuser or known.bypassrls):
        return False
    return any(
        table.row_security
        and (table.forces_row_security or table.owner != role)
        and any(_ASKS.search(text) for each in table.policies for text in each.texts)
        for table in catalog.tables()
    )
