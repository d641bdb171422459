"""The settings with which sessions begin, as ALTER ROLE … SET and ALTER DATABASE … SET store them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.catalog.secured_objects import get_database


def list_initial_settings(catalog: Catalog, role: Role) -> Mapping[str, str]:
    """Returns the settings with which a role's sessions begin, by name.

    As in PostgreSQL, a role's settings for the database prevail over the role's, these over the database's, and these
    over those of all roles in all databases.
    """
    database = get_database(catalog)
    return {**database.all_settings, **database.settings, **role.settings, **role.database_settings}


def iter_initial_settings(catalog: Catalog) -> Iterator[tuple[bool, int, Mapping[str, str]]]:
    """Yields stored settings: whether they are of the database alone, the OID of their role or 0, and themselves."""
    database = get_database(catalog)
    yield False, 0, database.all_settings
    yield True, 0, database.settings
    for role in catalog.roles.values():
        yield False, role.oid, role.settings
        yield True, role.oid, role.database_settings
