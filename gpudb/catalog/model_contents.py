"""The tables that keep trained models and large objects, which no other statement makes, fills or drops."""

from __future__ import annotations

from dataclasses import replace

from gpudb.catalog.large_objects import CONTENT_NAME
from gpudb.catalog.model import Catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError


def make_content_error(name: str) -> SqlError:
    """Returns the error for a change of a model's rows, as PostgreSQL has it for TOAST tables."""
    return SqlError.of("wrong_object_type", f'cannot change TOAST relation "{name}"')


def check_definitions(before: Catalog, after: Catalog) -> None:
    """42501 if such a table has another definition than before, or is dropped while its model lives.

    Its owner, privileges, comment and statistics may change.
    """
    if before.relations is after.relations:
        return
    for key, old in before.relations.items():
        new = after.relations.get(key)
        if key[0] != CONTENT_SCHEMA or new is old:
            continue
        in_use = old.name == CONTENT_NAME or any(
            each.model is not None and each.model.content == old.oid for each in after.routines.values()
        )
        if (in_use and new is None) or (new is not None and _strip(new) != _strip(old)):
            message = f'permission denied: "{old.name}" is a system catalog'
            raise SqlError.of("insufficient_privilege", message)


def _strip(relation: Relation) -> Relation:
    if isinstance(relation, Table):
        return replace(relation, owner="", acl=None, comment=None, statistics=())
    return relation
