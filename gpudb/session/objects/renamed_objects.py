"""Renamed objects in what the catalog stores as SQL text: queries, bodies of routines, and expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.policies import Policy
from gpudb.catalog.relations import Relation, Sequence, View, get_stored_query
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Check, Column, Exclude, Index, Table, Unique
from gpudb.catalog.triggers import Trigger
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported
from gpudb.functions.library import functions_by_name
from gpudb.sql.rewrite import rewrite_renamed
from gpudb.sql.rewrite.rule import Renames

_SELECT = "SELECT "


def rename_in_texts(catalog: Catalog, renames: Renames) -> Catalog:
    """Returns the catalog in which every stored text names objects by their new names.

    Bodies in quotes keep what they say, as in PostgreSQL.
    """
    for relation in list(catalog.relations.values()):
        changed = relation if isinstance(relation, Sequence) else _change_relation(relation, renames)
        if changed != relation:
            catalog = catalog.put(changed)
    for routine in list(catalog.routines.values()):
        altered = _change_routine(routine, renames)
        if altered != routine:
            catalog = catalog.put(altered)
    for definition in list(catalog.types.values()):
        kept = _change_type(definition, renames)
        if kept != definition:
            catalog = catalog.put(kept)
    return catalog


def rename_function(catalog: Catalog, old: Routine, new: Routine) -> Catalog:
    """Returns the catalog in which stored texts call a function by its new name.

    Texts of earlier versions have no OIDs: 0A000 if one names it and it shares its name with another function of its
    schema. Without a schema they call none that shares its name (`expression_users.check_bare_callers`).
    """
    names = {(old.schema, old.name): (new.schema, new.name)}
    same = [each for each in catalog.routines.values() if each.name == old.name and each.oid != new.oid]
    is_ambiguous = any(each.schema == old.schema for each in same)
    if old.name not in functions_by_name() and (is_ambiguous or not same):
        names["", old.name] = _bare(old.schema, new.schema, new.name)
    renamed = rename_in_texts(catalog, Renames({}, functions=names))
    if is_ambiguous and renamed is not catalog:
        message = (
            f"renaming {old.name}() is not supported while stored queries or expressions call functions of its name"
        )
        raise FeatureNotSupported(message, hint="Drop what calls them first.")
    return rename_in_texts(renamed, Renames({}, routines={old.oid: (new.schema, new.name)}))


def rename_type_in_texts(catalog: Catalog, old: TypeDefinition, new: TypeDefinition) -> Catalog:
    """Returns the catalog in which stored texts name a type by its new name."""
    names = {(old.schema, old.name): (new.schema, new.name)}
    if not any(each.name == old.name and each.oid != new.oid for each in catalog.types.values()):
        names["", old.name] = _bare(old.schema, new.schema, new.name)
    return rename_in_texts(catalog, Renames({}, types=names))


def _bare(old_schema: str, schema: str, name: str) -> tuple[str, str]:
    return ("" if schema == old_schema else schema), name


def _change_relation(relation: Table | View, renames: Renames) -> Relation:
    changes: dict[str, Any] = {}
    query = get_stored_query(relation)
    if query is not None and renames.may_concern(query):
        text = rewrite_renamed(query, renames)
        if text != query:
            changes["query"] = text
    if isinstance(relation, Table | View):
        changes["triggers"] = tuple(_change_trigger(each, renames) for each in relation.triggers)
    if isinstance(relation, Table):
        changes["columns"] = tuple(_change_column(each, renames) for each in relation.columns)
        changes["policies"] = tuple(_change_policy(each, renames) for each in relation.policies)
        changes["constraints"] = tuple(_change_constraint(each, renames) for each in relation.constraints)
    return replace(relation, **changes)


def _change_column(column: Column, renames: Renames) -> Column:
    default, generated = _change(column.default, renames), _change(column.generated, renames)
    return replace(column, default=default, generated=generated)


def _change_constraint(constraint: Any, renames: Renames) -> Any:
    if isinstance(constraint, Check):
        return replace(constraint, expression=_change(constraint.expression, renames) or "")
    if isinstance(constraint, Index | Unique) and constraint.details is not None:
        details = constraint.details
        keys = tuple(replace(each, expression=_change(each.expression, renames) or "") for each in details.keys)
        predicate = _change(details.predicate, renames) or ""
        return replace(constraint, details=replace(details, keys=keys, predicate=predicate))
    if isinstance(constraint, Exclude):
        keys = tuple(replace(each, expression=_change(each.expression, renames) or "") for each in constraint.keys)
        return replace(constraint, keys=keys, predicate=_change(constraint.predicate, renames) or "")
    return constraint


def _change_trigger(trigger: Trigger, renames: Renames) -> Trigger:
    return replace(trigger, condition=_change(trigger.condition, renames))


def _change_policy(policy: Policy, renames: Renames) -> Policy:
    return replace(policy, using=_change(policy.using, renames), check=_change(policy.check, renames))


def _change_routine(routine: Routine, renames: Renames) -> Routine:
    body = routine.body
    if routine.standard and renames.may_concern(body):
        body = rewrite_renamed(body, renames)
    arguments = tuple(replace(each, default=_change(each.default, renames)) for each in routine.arguments)
    return replace(routine, body=body, arguments=arguments)


def _change_type(definition: TypeDefinition, renames: Renames) -> TypeDefinition:
    checks = tuple(_change_constraint(each, renames) for each in definition.checks)
    return replace(definition, default=_change(definition.default, renames), checks=checks)


def _change(expression: str | None, renames: Renames) -> str | None:
    """Returns an expression with new names, or as it is if it has none of the old ones."""
    if not expression or not renames.may_concern(expression):
        return expression
    return rewrite_renamed(_SELECT + expression, renames).removeprefix(_SELECT)
