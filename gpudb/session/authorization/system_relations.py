"""Privileges on the relations of the system catalog: PostgreSQL's own lists, which cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpudb import pgdata
from gpudb.catalog.model import Catalog
from gpudb.session.authorization.membership import inherited_roles

_KINDS = {"v": "view", "r": "table"}


def may_access_system_relation(catalog: Catalog, role: str, name: str) -> bool:
    """Whether a role may read a system relation by its qualified name."""
    grantees, _ = _load_readers().get(name, (None, ""))
    return grantees is None or not grantees.isdisjoint(inherited_roles(catalog, role))


def get_system_kind(name: str) -> str:
    """Returns how messages call a system relation: table or view."""
    return _KINDS.get(_load_readers().get(name, (None, "v"))[1], "table")


@cache
def _load_readers() -> Mapping[str, tuple[frozenset[str], str]]:
    """Returns the roles that may read each system relation that not all may read, and its kind."""
    relations = pgdata.load_table("pg_class")
    found = {}
    for (name, kind), items in zip(relations.select("relname", "relkind"), relations.arrays("relacl"), strict=True):
        if kind not in _KINDS:
            continue
        readers = {item.partition("=")[0] for item in items if "r" in item.partition("=")[2].partition("/")[0]}
        # All may read most columns of pg_subscription, which is empty
        if items and "" not in readers and name != "pg_subscription":
            found[f"pg_catalog.{name}"] = frozenset(readers), kind
    return found
