"""gpudb's own tables of privileges, which the macros behind `has_table_privilege` and its family read.

A grant is the text `privilege:role`, with the role's OID (0 for PUBLIC) and a star behind a privilege that the role may
grant on.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gpudb import pgdata
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import Catalog, Schema
from gpudb.catalog.postgres.row_builder import SystemRows
from gpudb.catalog.relations import Sequence, View
from gpudb.catalog.role_memberships import list_roles_of
from gpudb.catalog.secured_objects import SecuredObject, get_acl, get_kind, get_owner, list_secured_objects
from gpudb.catalog.tables import Table
from gpudb.values.acl import APPLICABLE, PUBLIC, Acl, format_acl

_CODES = {
    "table": "r",
    "sequence": "r",
    "schema": "n",
    "function": "f",
    "type": "T",
    "database": "d",
    "foreign-data wrapper": "F",
    "foreign server": "S",
    "language": "l",
}
_READ_ALL, _WRITE_ALL = "pg_read_all_data", "pg_write_all_data"
ANY_COLUMN = -1
"""The number under which a relation's grants on any of its columns are."""


def show_acl(acl: Acl | None) -> list[str] | None:
    """Returns a list as a value of type aclitem[]; None for no list."""
    return None if acl is None else format_acl(acl)


def add_privileges(rows: SystemRows, catalog: Catalog) -> None:
    """Adds the grants on every object."""
    numbers = _number_roles(catalog)
    for found in list_secured_objects(catalog):
        if isinstance(found, LargeObject):
            continue  # no function asks for them
        oid, kind, grants = found.oid, get_kind(found), _list_grants(catalog, found)
        rows.add("acl_lists", kind=_CODES[kind], oid=oid, number=0, grants=_number(grants, numbers))
        if isinstance(found, Table | View):
            _add_columns(rows, found, numbers)
    for oid, grants in _list_guarded_relations():
        rows.add("acl_lists", kind="r", oid=oid, number=0, grants=_number(grants, numbers))


def _number_roles(catalog: Catalog) -> dict[str, int]:
    """Returns the OIDs of roles and of PUBLIC by name."""
    return {**{role.name: role.oid for role in catalog.roles.values()}, PUBLIC: 0}


def list_held_privileges(catalog: Catalog, role: str) -> dict[str, list[str]]:
    """Returns the privileges that a role has, by object: `r16384` is a relation and `r16384.2` its second column."""
    rows = SystemRows()
    add_privileges(rows, catalog)
    reached = (*list_roles_of(catalog, role, lambda grant: grant.inherit), PUBLIC)
    roles = {str(number) for name, number in _number_roles(catalog).items() if name in reached}
    held: dict[str, list[str]] = {}
    for row in rows.tables()["acl_lists"].to_pylist():
        key = f"{row['kind']}{row['oid']}" + (f".{row['number']}" if row["number"] else "")
        pairs = (grant.partition(":") for grant in row["grants"])
        held[key] = [privilege for privilege, _, number in pairs if number in roles]
    return held


def _list_grants(catalog: Catalog, found: SecuredObject) -> list[tuple[str, str]]:
    """Returns the grants on an object as pairs of a privilege and a role."""
    grants = [(letter, item.grantee) for item in get_acl(catalog, found) for letter in item.privileges]
    grants += [(f"{letter}*", item.grantee) for item in get_acl(catalog, found) for letter in item.options]
    grants += [(f"{letter}*", get_owner(catalog, found)) for letter in APPLICABLE[get_kind(found)]]
    if isinstance(found, Table | View | Sequence):
        grants += [("r", _READ_ALL), *((letter, _WRITE_ALL) for letter in "awd")]
    elif isinstance(found, Schema):
        grants += [("U", _READ_ALL), ("U", _WRITE_ALL)]
    return grants


def _add_columns(rows: SystemRows, relation: Table | View, numbers: dict[str, int]) -> None:
    together: list[str] = []
    for number, column in enumerate(relation.columns, 1):
        if column.acl:
            grants = [(letter, item.grantee) for item in column.acl for letter in item.privileges]
            grants += [(f"{letter}*", item.grantee) for item in column.acl for letter in item.options]
            shown = _number(grants, numbers)
            together += shown
            rows.add("acl_lists", kind="r", oid=relation.oid, number=number, grants=shown)
    if together:
        rows.add("acl_lists", kind="r", oid=relation.oid, number=ANY_COLUMN, grants=together)


def _number(grants: Iterable[tuple[str, str]], numbers: dict[str, int]) -> list[str]:
    return [f"{privilege}:{numbers[role]}" for privilege, role in grants if role in numbers]


@cache
def _list_guarded_relations() -> list[tuple[int, list[tuple[str, str]]]]:
    """Returns OIDs and grants of PostgreSQL's system relations on which not every role has SELECT alone."""
    relations = pgdata.load_table("pg_class")
    found = []
    for oid, acl in zip(relations.column("oid"), relations.arrays("relacl"), strict=True):
        items = [item.partition("/")[0] for item in acl]
        if items and "=r" not in items:
            parts = (item.partition("=") for item in items)
            # The first is the owner's, a superuser
            grants = [(letter, role or PUBLIC) for role, _, letters in list(parts)[1:] for letter in letters]
            found.append((int(str(oid)), grants))
    return found
