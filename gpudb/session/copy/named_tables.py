"""Tables that options and functions name as text."""

from __future__ import annotations

from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.authorize import check_named_relation
from gpudb.session.authorization.row_security.refusals import refuse_row_security
from gpudb.session.context import Context
from gpudb.sql.bind.query.sources import find_relation
from gpudb.sql.parse.distribute_by import fold_identifier


def find_named_table(context: Context, name: str, privileges: str) -> Table:
    """Returns the table of a name, optionally with its schema; 42P01, 42602, 42809; 42501 without privileges on it."""
    parts = [fold_identifier(part.strip()) for part in name.split(".")]
    if len(parts) > 2 or not all(parts):
        raise SqlError.of("invalid_name", f'invalid table name "{name}"')
    binder = context.binder()
    relation = find_relation(binder, parts[0] if len(parts) == 2 else "", parts[-1])
    if not isinstance(relation, Table) or relation.query is not None:
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
    if relation.is_elsewhere:
        raise SqlError.of("feature_not_supported", f'cannot insert into foreign table "{relation.name}"')
    check_named_relation(context, binder.accesses, relation, privileges, [c.name for c in relation.columns])
    refuse_row_security(context, relation, "changing a whole table by a function is", "Use INSERT statements instead.")
    return context.transaction.table(relation.oid)
