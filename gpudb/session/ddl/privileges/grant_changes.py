"""Changes of one object's access control list by GRANT and REVOKE, with PostgreSQL's checks and warnings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpudb.catalog.grants import choose_grantor, grant, revoke
from gpudb.catalog.relations import Relation, Sequence, View
from gpudb.catalog.secured_objects import SecuredObject, get_acl, get_kind, get_owner, replace_acl
from gpudb.catalog.tables import SYSTEM_COLUMNS, Column, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.authorization.membership import inherited_roles, is_superuser
from gpudb.session.authorization.privileges import (
    get_current_role,
    list_object_privileges,
    make_denied_error,
)
from gpudb.session.context import Context
from gpudb.session.objects.relations import put_relation
from gpudb.values.acl import APPLICABLE, NAMES, Acl, list_privileges, sort_privileges


@dataclass(frozen=True, slots=True)
class PrivilegeChange:
    """A GRANT (`grants`) or REVOKE on objects of the kind `what`, as the statement names it.

    `privileges` are those on whole objects, None for ALL; `columns` are pairs of a privilege, None for ALL, and the
    columns that it is for. `option` is WITH GRANT OPTION, or GRANT OPTION FOR.
    """

    grants: bool
    what: str
    grantees: tuple[str, ...]
    privileges: str | None
    columns: tuple[tuple[str | None, tuple[str, ...]], ...] = ()
    option: bool = False
    cascade: bool = False

    def apply(self, acl: Acl, privileges: str, grantor: str, owner: str) -> Acl:
        """The list after the change of some privileges in the name of `grantor`; 0LP01, 2BP01."""
        if self.grants:
            return grant(acl, self.grantees, privileges, grantor, owner, option=self.option)
        return revoke(acl, self.grantees, privileges, grantor, owner, option_only=self.option, cascade=self.cascade)


def change_privileges(context: Context, found: SecuredObject, change: PrivilegeChange) -> None:
    """Changes the privileges on an object and on its columns. 42501, 0LP01, 2BP01, 42703, 42809."""
    if isinstance(found, Table | View | Sequence):
        _change_relation(context, found, change)
        return
    privileges = APPLICABLE[get_kind(found)] if change.privileges is None else change.privileges
    _change_object(context, found, change, privileges)


def _change_object(context: Context, found: SecuredObject, change: PrivilegeChange, privileges: str) -> None:
    catalog, role = context.transaction.catalog, get_current_role(context)
    acl, owner = get_acl(catalog, found), get_owner(catalog, found)
    grantor, grantable = _choose_grantor(context, acl, owner, privileges)
    if not grantable:
        roles = inherited_roles(catalog, role)
        options = list_privileges(acl, roles, owner, options=True)
        if not (list_object_privileges(catalog, role, found) | options) & set(APPLICABLE[get_kind(found)]):
            raise make_denied_error(get_kind(found), found.name)
    _warn(context, change, privileges, grantable, f'"{found.name}"')
    changed = change.apply(acl, sort_privileges(grantable), grantor, owner)
    context.transaction.set_catalog(replace_acl(catalog, found, changed))


def _choose_grantor(context: Context, acl: Acl, owner: str, privileges: str) -> tuple[str, frozenset[str]]:
    catalog, role = context.transaction.catalog, get_current_role(context)
    roles = inherited_roles(catalog, role)
    if is_superuser(catalog, role):
        roles |= {owner}
    return choose_grantor(acl, role, roles, owner, privileges)


def _warn(context: Context, change: PrivilegeChange, privileges: str, grantable: Iterable[str], shown: str) -> None:
    """Warns of privileges that cannot be granted or revoked; ALL means those that can."""
    missing = set(privileges) - set(grantable)
    if missing == set(privileges):
        amount = "no privileges"
    elif missing and change.privileges is not None:
        amount = "not all privileges"
    else:
        return
    message = f"{amount} were granted for {shown}" if change.grants else f"{amount} could be revoked for {shown}"
    context.notice(message, severity="WARNING", sqlstate="01007" if change.grants else "01006")


# ---- relations


def _change_relation(context: Context, relation: Relation, change: PrivilegeChange) -> None:
    is_sequence = isinstance(relation, Sequence)
    if change.what == "SEQUENCE" and not is_sequence:
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a sequence')
    applicable = APPLICABLE[get_kind(relation)]
    privileges = applicable if change.privileges is None else change.privileges
    if change.what == "TABLE" and set(privileges) - set(applicable):
        if not is_sequence:
            raise SqlError.of("invalid_grant_operation", "invalid privilege type USAGE for table")
        message = f'sequence "{relation.name}" only supports USAGE, SELECT, and UPDATE privileges'
        context.notice(message, severity="WARNING", sqlstate="0LP01")
        privileges = sort_privileges(set(privileges) & set(applicable))
    columns = _list_column_privileges(relation, change)
    parts = "".join(sorted(set(privileges) & set(APPLICABLE["column"])))
    if not change.grants and parts:
        # Without a privilege on the whole, none is left on a part: as in PostgreSQL, of system columns either
        hidden = () if isinstance(relation, View) else SYSTEM_COLUMNS
        for name in (*hidden, *(column.name for column in relation.columns)):
            columns[name] = sort_privileges(parts + columns.get(name, ""))
    if privileges:
        _change_object(context, relation, change, privileges)
    for name in (*SYSTEM_COLUMNS, *(column.name for column in relation.columns)):
        if columns.get(name):
            _change_column(context, relation.oid, name, columns[name], change)


def _list_column_privileges(relation: Relation, change: PrivilegeChange) -> dict[str, str]:
    """The privileges that a statement changes on each column that it names; 42703, 0LP01."""
    columns: dict[str, str] = {}
    known = {column.name for column in relation.columns}
    for letter, names in change.columns:
        if letter is not None and letter not in APPLICABLE["column"]:
            message = f"invalid privilege type {NAMES[letter]} for column"
            raise SqlError.of("invalid_grant_operation", message)
        if isinstance(relation, Sequence):
            raise FeatureNotSupported("privileges on columns of sequences are not supported")
        for name in names:
            if name not in known:
                raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')
            columns[name] = sort_privileges(columns.get(name, "") + (letter or APPLICABLE["column"]))
    return columns


def _change_column(context: Context, oid: int, name: str, privileges: str, change: PrivilegeChange) -> None:
    catalog, role = context.transaction.catalog, get_current_role(context)
    relation = catalog.find_relation_by_oid(oid)
    assert relation is not None
    column = next((each for each in relation.columns if each.name == name), None)
    own: Acl = (column.acl if column is not None else None) or ()
    # Who may grant on the whole relation may grant on its columns
    merged = (*get_acl(catalog, relation), *own)
    grantor, grantable = _choose_grantor(context, merged, relation.owner, privileges)
    if not grantable:
        roles = inherited_roles(catalog, role)
        held = list_privileges(merged, roles, relation.owner) | list_privileges(
            merged, roles, relation.owner, options=True
        )
        if not held & set(APPLICABLE["column"]):
            message = f'permission denied for column "{name}" of relation "{relation.name}"'
            raise SqlError.of("insufficient_privilege", message)
    everything = replace(change, privileges=None if privileges == APPLICABLE["column"] else privileges)
    _warn(context, everything, privileges, grantable, f'column "{name}" of relation "{relation.name}"')
    changed = change.apply(own, sort_privileges(grantable), grantor, relation.owner)
    if column is not None and changed != own:
        assert isinstance(relation, Table | View)
        put_relation(context, _with_column_acl(relation, column, changed or None))


def _with_column_acl(relation: Table | View, column: Column, acl: Acl | None) -> Relation:
    """The relation in which a column has another access control list."""
    columns = tuple(replace(each, acl=acl) if each is column else each for each in relation.columns)
    return replace(relation, columns=columns)
