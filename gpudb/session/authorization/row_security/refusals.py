"""Statements that read or write whole tables or their files, which policies cannot restrict."""

from __future__ import annotations

from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported
from gpudb.session.authorization.row_security.applicable import has_row_security, make_filtered_error
from gpudb.session.context import Context


def refuse_row_security(context: Context, table: Table, what: str, hint: str) -> None:
    """0A000 if policies restrict the current role's rows of a table; 42501 while row_security is off."""
    catalog, role = context.transaction.catalog, context.session.user
    if not has_row_security(catalog, role, table):
        return
    if context.session.settings["row_security"] == "off":
        raise make_filtered_error(catalog, role, table)
    raise FeatureNotSupported(f"{what} not supported with row-level security", hint=hint)
