"""What depends on a role: the objects that it owns, and the grants of roles that it made."""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.catalog.model import Role
from gpudb.catalog.postgres.deparse import quote_name
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.objects.dependents import describe_relation

_SHOWN = 100


def check_no_dependents(context: Context, role: Role) -> None:
    """2BP01 with PostgreSQL's list if anything depends on a role that is to be dropped."""
    found = [text for _, text in sorted(_list_dependents(context, role))]
    if not found:
        return
    shown = found[:_SHOWN]
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} other objects (see server log for list)")
    message = f'role "{role.name}" cannot be dropped because some objects depend on it'
    raise SqlError.of("dependent_objects_still_exist", message, detail="\n".join(shown))


def _list_dependents(context: Context, role: Role) -> Iterator[tuple[int, str]]:
    """Yields OID and description of each object."""
    catalog = context.transaction.catalog
    path = context.session.search_path()
    for relation in catalog.relations.values():
        if relation.owner == role.name:
            yield relation.oid, f"owner of {describe_relation(context, relation)}"
    for schema in catalog.schemas.values():
        if schema.owner == role.name and not schema.name.startswith("pg_temp_"):
            yield schema.oid, f"owner of schema {quote_name(schema.name)}"
    for definition in catalog.types.values():
        if definition.owner == role.name:
            found = catalog.find_type(definition.name, path)
            is_visible = found is not None and found.oid == definition.oid
            name = quote_name(definition.name)
            yield definition.oid, f"owner of type {name if is_visible else f'{quote_name(definition.schema)}.{name}'}"
    for routine in catalog.routines.values():
        if routine.owner == role.name:
            qualifier = "" if routine in catalog.find_routines(routine.name, path) else f"{quote_name(routine.schema)}."
            yield routine.oid, f"owner of function {qualifier}{routine.identity}"
    for grant in catalog.memberships.values():
        if grant.grantor == role.name:
            yield grant.oid, f"privileges for membership of role {grant.member} in role {grant.role}"
