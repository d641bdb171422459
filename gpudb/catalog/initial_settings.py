"""The settings with which sessions begin, as ALTER ROLE … SET and ALTER DATABASE … SET store them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudb.catalog.model import FIRST_DATABASE, Catalog
from gpudb.catalog.roles import Role
from gpudb.catalog.secured_objects import get_database


def list_initial_settings(catalog: Catalog, role: Role) -> Mapping[str, str]:
    """Returns the settings with which a role's sessions begin, by name.

    As in PostgreSQL, a role's settings for the database prevail over the role's, these over the database's, and these
    over those of all roles in all databases.
    """
    database = get_database(catalog)
    in_database = database.role_settings.get(str(role.oid), {})
    return {**_get_all_settings(catalog), **database.settings, **role.settings, **in_database}


def iter_initial_settings(catalog: Catalog) -> Iterator[tuple[int, int, Mapping[str, str]]]:
    """Yields stored settings: the OIDs of their database and role, 0 for all of them, and themselves."""
    yield 0, 0, _get_all_settings(catalog)
    for database in catalog.databases.values():
        yield database.oid, 0, database.settings
        for oid, settings in database.role_settings.items():
            yield database.oid, int(oid), settings
    for role in catalog.roles.values():
        yield 0, role.oid, role.settings


def _get_all_settings(catalog: Catalog) -> Mapping[str, str]:
    return catalog.databases[FIRST_DATABASE].all_settings if FIRST_DATABASE in catalog.databases else {}
