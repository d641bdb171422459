"""The authorisation step between binding and the engine: may the current role do what a statement does?"""

from __future__ import annotations

from collections.abc import Iterable, Set

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.secured_objects import describe_kind
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import (
    check_privilege,
    get_current_role,
    has_any_column_privilege,
    list_column_privileges,
    list_object_privileges,
    make_denied_error,
)
from gpudb.session.authorization.row_security.applicable import has_row_security
from gpudb.session.authorization.row_security.rewrite import RowSecurity
from gpudb.session.authorization.system_relations import get_system_kind, may_access_system_relation
from gpudb.session.context import Context
from gpudb.session.identity import Identity
from gpudb.sql.accesses import Accesses, RelationAccess
from gpudb.sql.bound import Scan, Statement
from gpudb.sql.traverse import iter_queries, walk


def authorize(context: Context, bound: Statement, accesses: Accesses) -> Statement:
    """Returns a bound statement that the current role may run; 42501 if it may not.

    This is the one place where the privileges of SELECT, INSERT, UPDATE, DELETE, MERGE and of everything that runs them
    are checked. The returned statement is the one to run: where policies restrict rows it differs from `bound`.
    """
    return authorize_for_cache(context, bound, accesses)[0]


def authorize_for_cache(context: Context, bound: Statement, accesses: Accesses) -> tuple[Statement, bool]:
    """Returns such a statement, and whether it depends on the role, on row_security and on the catalog alone, so that
    callers may keep it for as long as these stay the same.
    """
    policies = RowSecurity(context, bound, accesses)
    result = policies.apply()  # as in PostgreSQL, errors about policies precede those about privileges
    for each in (accesses, *policies.added):
        check_accesses(context, each)
    _check_scans(context, bound, accesses)
    return result, policies.cacheable


def _check_scans(context: Context, bound: Statement, accesses: Accesses) -> None:
    """42501 for a scan of a table that no access names, unless the current role may read all rows of the table.

    The binder records every table that it scans. This holds even if a way to name one is added that does not.
    """
    catalog, role = context.transaction.catalog, get_current_role(context)
    if is_superuser(catalog, role):
        return
    named = {each.relation.oid for each in accesses.relations if not isinstance(each.relation, str)}
    for query in iter_queries(bound):
        for node in walk(query):
            if isinstance(node, Scan) and node.table.catalog_oid not in named:
                check_privilege(catalog, role, node.table, "r")
                if has_row_security(catalog, role, node.table):
                    raise make_denied_error(describe_kind(node.table), node.table.name)


def check_accesses(context: Context, accesses: Accesses) -> None:
    """42501 if the current role, or the owner of a view or routine for what is below it, lacks a privilege."""
    catalog, current = context.transaction.catalog, get_current_role(context)
    for name in accesses.schemas:
        check_schema(catalog, context.session.identity, name)
    for each in accesses.relations:
        role = each.role or current
        if not is_superuser(catalog, role):
            check_relation(catalog, role, each)
    for routine, checked_as in accesses.routines:
        role = checked_as or current
        if not is_superuser(catalog, role):
            check_privilege(catalog, role, routine, "X")


def check_named_relation(
    context: Context, accesses: Accesses, relation: Relation, privileges: str, inserted: Iterable[str] = ()
) -> None:
    """42501 if the current role lacks privileges on a relation that a statement without a bound form names, or if it
    may not use a schema in `accesses`.
    """
    accesses.add_relation(relation, privileges).inserted.update(inserted)
    context.session.accesses = accesses
    check_accesses(context, accesses)


def check_schema(catalog: Catalog, identity: Identity, name: str) -> None:
    """42501 for a schema that a session's current role may not use."""
    if not may_use_schema(catalog, identity, name):
        raise make_denied_error("schema", name)


def may_use_schema(catalog: Catalog, identity: Identity, name: str) -> bool:
    """Whether a session's current role may look up names in a schema; true for a schema that does not exist."""
    if is_superuser(catalog, identity.user):
        return True
    if name.startswith("pg_temp"):
        return name in ("pg_temp", identity.temporary_schema)
    schema = catalog.schemas.get(name)
    return schema is None or "U" in list_object_privileges(catalog, identity.user, schema)


def check_relation(catalog: Catalog, role: str, access: RelationAccess) -> None:
    """42501 if a role lacks a privilege on a relation and on the columns that the privilege is needed for."""
    relation = access.relation
    if isinstance(relation, str):
        if not may_access_system_relation(catalog, role, relation):
            raise make_denied_error(get_system_kind(relation), relation.rpartition(".")[2])
        return
    missing = access.privileges - list_object_privileges(catalog, role, relation)
    columns = {"r": access.selected, "a": access.inserted, "w": access.updated}
    for privilege in missing:
        if privilege not in columns or not _has_on_columns(catalog, role, relation, privilege, columns[privilege]):
            raise make_denied_error(describe_kind(relation), relation.name)


def _has_on_columns(catalog: Catalog, role: str, relation: Relation, privilege: str, names: Set[str]) -> bool:
    """Whether a role has a privilege on each of some columns, or on any column if there are none."""
    if isinstance(relation, Sequence):
        return False
    if not names:
        return has_any_column_privilege(catalog, role, relation, privilege)
    return all(privilege in list_column_privileges(catalog, role, relation, name) for name in names)
