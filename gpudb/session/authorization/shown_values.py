"""Values of rows in an error's detail: a role sees those that it wrote itself or may read."""

from __future__ import annotations

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError, ShownValues
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import list_column_privileges, list_object_privileges
from gpudb.session.authorization.row_security.applicable import has_row_security
from gpudb.sql.accesses import Accesses


def hide_values(catalog: Catalog, role: str, accesses: Accesses | None, error: GpudbError) -> None:
    """Takes the values that a role may not see out of an error's detail, as PostgreSQL does.

    Of a row, the columns remain that the statement assigns or the role may read. A key is shown if the role may read
    all of its columns. Under row level security nothing is shown. `accesses` are those of the statement, None for a
    check that no statement waits for.
    """
    shown = error.shown
    if shown is None or is_superuser(catalog, role):
        return
    schema, name = shown.table or (error.objects.get("schema", ""), error.objects.get("table", ""))
    relation = catalog.relation(schema, name)
    if isinstance(relation, Table) and has_row_security(catalog, role, relation):
        error.detail, error.shown = None if shown.whole_row else shown.without, None
        return
    if relation is not None and "r" in list_object_privileges(catalog, role, relation):
        return
    may_see = {each for each in shown.values if relation is not None and _may_read(catalog, role, relation, each)}
    if shown.whole_row:
        if accesses is not None and relation is not None:
            may_see |= _list_assigned(accesses, relation)
        error.detail = _describe_part(shown, may_see)
    elif not may_see >= set(shown.values):
        error.detail = shown.without
    error.shown = None


def _may_read(catalog: Catalog, role: str, relation: Relation, column: str) -> bool:
    return "r" in list_column_privileges(catalog, role, relation, column)


def _list_assigned(accesses: Accesses, relation: Relation) -> set[str]:
    """Returns the columns of a relation that a statement assigns."""
    found: set[str] = set()
    for each in accesses.relations:
        if not isinstance(each.relation, str) and each.relation.oid == relation.oid:
            found |= each.inserted | each.updated
    return found


def _describe_part(shown: ShownValues, names: set[str]) -> str | None:
    part = {name: value for name, value in shown.values.items() if name in names}
    if not part:
        return None
    return f"Failing row contains ({', '.join(part)}) = ({', '.join(part.values())})."
