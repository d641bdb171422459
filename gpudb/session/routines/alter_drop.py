"""DROP, ALTER and COMMENT of functions, procedures and aggregates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog
from gpudb.catalog.model_functions import drop_function, has_namesake, list_with_model
from gpudb.catalog.pinned_routines import calls_routine
from gpudb.catalog.relations import Relation, View
from gpudb.catalog.routines import Routine, get_routine_path
from gpudb.catalog.row_types import refresh_row_types
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import Trigger
from gpudb.errors import SqlError, UndefinedFunction
from gpudb.functions.library import functions_by_name
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.context import Context
from gpudb.session.objects.dependents import Dependent, describe_relation, refuse_or_report, view_dependents
from gpudb.session.objects.names import permanent_schema
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.objects.renamed_objects import rename_function
from gpudb.session.results import Result
from gpudb.session.routines.create_routine import parameter_type
from gpudb.session.routines.expression_users import (
    check_bare_callers,
    find_expression_users,
    query_calls,
    remove_expressions,
)
from gpudb.session.routines.options import read_options
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.parse.parser import inner, parse, strings

KINDS = {"FUNCTION": "fa", "PROCEDURE": "p", "AGGREGATE": "a", "ROUTINE": "fpa"}


def find_routine(context: Context, node: Any, what: str) -> Routine | None:
    """The routine of an ObjectWithArgs message, or None; 42725, 42809."""
    names = strings(node.objname)
    path = get_routine_path("".join(names[-2:-1]), context.session.search_path())
    catalog = context.transaction.catalog
    found = [refresh_row_types(catalog, each) for each in catalog.find_routines(names[-1], path)]
    fitting = [each for each in found if each.kind in KINDS[what]]
    if not node.args_unspecified:
        types = [parameter_type(context, inner(each)) for each in node.objargs]
        found = [each for each in found if [a.type for a in each.inputs] == types]
        fitting = [each for each in found if each.kind in KINDS[what]]
    if found and not fitting and not node.args_unspecified:
        if what == "AGGREGATE":
            raise SqlError.of("wrong_object_type", f"function {_signature(node, context)} is not an aggregate")
        raise SqlError.of("wrong_object_type", f"{_signature(node, context)} is not a {what.lower()}")
    if len(fitting) > 1:
        message = f'{what.lower()} name "{names[-1]}" is not unique'
        hint = f"Specify the argument list to select the {what.lower()} unambiguously."
        raise SqlError.of("ambiguous_function", message, hint=hint)
    return fitting[0] if fitting else None


def _signature(node: Any, context: Context) -> str:
    types = ", ".join(str(parameter_type(context, inner(each))) for each in node.objargs)
    return f"{'.'.join(strings(node.objname))}({types})"


def _check_not_aggregate(context: Context, node: Any) -> None:
    """42809 if DROP FUNCTION names an aggregate."""
    found = find_routine(context, node, "ROUTINE")
    if found is not None and found.kind == "a":
        hint = "Use DROP AGGREGATE to drop aggregate functions."
        raise SqlError.of("wrong_object_type", f'"{found.name}" is an aggregate function', hint=hint)


def _missing_message(node: Any, context: Context, what: str) -> str:
    if node.args_unspecified:
        return f'could not find a {what.lower()} named "{".".join(strings(node.objname))}"'
    shown = _signature(node, context)
    if what == "AGGREGATE":
        shown = shown.replace("()", "(*)")
    return f"{what.lower()} {shown} does not exist"


def require_routine(context: Context, node: Any, what: str) -> Routine:
    """The routine of an ObjectWithArgs message; 42883."""
    found = find_routine(context, node, what)
    if found is None:
        raise UndefinedFunction(_missing_message(node, context, what))
    return found


def drop_routines(context: Context, node: Any, what: str) -> Result:
    """DROP FUNCTION, PROCEDURE or ROUTINE [IF EXISTS] name [(types)], … [CASCADE]."""
    for each in node.objects:
        if what == "FUNCTION":
            _check_not_aggregate(context, inner(each))
        found = find_routine(context, inner(each), what)
        if found is None:
            message = _missing_message(inner(each), context, what)
            if not node.missing_ok:
                raise UndefinedFunction(message)
            if inner(each).args_unspecified:
                message = f"{what.lower()} {'.'.join(strings(inner(each).objname))}() does not exist"
            context.notice(f"{message}, skipping")
            continue
        check_no_model(found)
        drop_routine(context, found, cascade=node.behavior == pg.DROP_CASCADE)
    return Result(f"DROP {what}")


def check_no_model(routine: Routine, verb: str = "drop") -> None:
    """2BP01 for a function of a model, which is dropped and altered with that alone."""
    if routine.model is not None:
        what = f"model {routine.model.name}"
        message = f"cannot {verb} function {routine.identity} because {what} requires it"
        hint = f"You can drop {what} instead." if verb == "drop" else f"Use ALTER MODEL {routine.model.name}."
        raise SqlError.of("dependent_objects_still_exist", message, hint=hint)


def require_altered(context: Context, node: Any, what: str) -> Routine:
    """The routine that ALTER changes; 42883, and 2BP01 for one of a model unless it is that which is altered."""
    found = require_routine(context, node, what)
    if not context.statement.for_model:
        check_no_model(found, "alter")
    return found


def drop_routine(context: Context, routine: Routine, *, cascade: bool) -> None:
    """Drops a routine and, with CASCADE, the views, aggregates, defaults and checks that call it; 2BP01 without."""
    catalog = context.transaction.catalog
    users = [relation for relation in catalog.relations.values() if query_calls(context, relation, routine)]
    what = f"function {routine.identity}" if routine.model is None else f"model {routine.model.name}"
    callers = [*find_aggregates(catalog, routine), *_find_callers(catalog, routine)]
    found = [Dependent(f"{'procedure' if each.kind == 'p' else 'function'} {each.identity}", what) for each in callers]
    expressions = find_expression_users(context, routine)
    found += [each.describe(context, what) for each in expressions]
    triggers = find_trigger_users(catalog, routine)
    found += [
        Dependent(f"trigger {each.name} on {describe_relation(context, relation)}", what) for relation, each in triggers
    ]
    removed: dict[int, Relation] = {}
    found += view_dependents(context, sorted(users, key=lambda each: each.oid), what, removed)
    refuse_or_report(context, what, found, cascade=cascade)
    remove_expressions(context, expressions)
    remove_triggers(context, routine)
    # Before those that call it, of which it may call some
    context.transaction.set_catalog(drop_function(context.transaction.catalog, routine))
    for each in callers:
        if context.transaction.catalog.find_routine_by_oid(each.oid) is not None:
            drop_routine(context, each, cascade=True)
    if users:
        drop_with_dependents(
            context, [each for each in users if context.transaction.catalog.find_relation_by_oid(each.oid)], True
        )


def find_trigger_users(catalog: Catalog, routine: Routine) -> list[tuple[Table | View, Trigger]]:
    """The triggers that call a function, also in WHEN, each with its relation."""
    return [
        (relation, each)
        for relation in catalog.relations.values()
        if isinstance(relation, Table | View)
        for each in relation.triggers
        if _is_called(routine, each)
    ]


def _find_callers(catalog: Catalog, routine: Routine) -> list[Routine]:
    """The routines whose bodies in the standard's form, or whose parameters' defaults, call another one."""
    return [
        each
        for each in sorted(catalog.routines.values(), key=lambda each: each.oid)
        if each.oid != routine.oid
        and (
            (each.standard and any(calls_routine(part.node, routine) for part in parse(each.body)))
            or any(
                argument.default is not None and calls_routine(parse_expression(argument.default), routine)
                for argument in each.arguments
            )
        )
    ]


def _is_called(routine: Routine, trigger: Trigger) -> bool:
    if trigger.function == routine.oid:
        return True
    return trigger.condition is not None and calls_routine(parse_expression(trigger.condition), routine)


def remove_triggers(context: Context, routine: Routine) -> None:
    """Removes the triggers that call a function."""
    for relation, _ in find_trigger_users(context.transaction.catalog, routine):
        kept = tuple(each for each in relation.triggers if not _is_called(routine, each))
        put_relation(context, replace(relation, triggers=kept))


def find_aggregates(catalog: Catalog, routine: Routine) -> list[Routine]:
    """The aggregates that use a function."""
    return [
        each
        for each in catalog.routines.values()
        if each.aggregate is not None and routine.oid in each.aggregate.functions
    ]


def replace_routine(context: Context, old: Routine, new: Routine) -> None:
    """Replaces a routine by one with another name or schema; 42723."""
    catalog = context.transaction.catalog
    if new.key != old.key and new.key in catalog.routines:
        where = f' in schema "{new.schema}"'
        message = f"function {new.signature} already exists{where}"
        raise SqlError.of("duplicate_function", message)
    is_renamed = (new.schema, new.name) != (old.schema, old.name)
    shares = old.name in functions_by_name() or any(
        each.name == old.name and each.oid != old.oid for each in catalog.routines.values()
    )
    if is_renamed and shares:
        check_bare_callers(context, old)
    catalog = catalog.drop(old).put(new)
    if is_renamed:
        catalog = rename_function(catalog, old, new)
    context.transaction.set_catalog(catalog)


def rename_routine(context: Context, node: Any, what: str, new: str) -> Result:
    """ALTER FUNCTION … RENAME TO."""
    found = require_altered(context, inner(node.object), what)
    replace_routine(context, found, replace(found, name=new))
    return Result(f"ALTER {what}")


def move_routine(context: Context, node: Any, what: str) -> Result:
    """ALTER FUNCTION … SET SCHEMA."""
    found = require_altered(context, inner(node.object), what)
    schema = permanent_schema(context, node.newschema, "functions")
    for each in list_with_model(context.transaction.catalog, found):
        if has_namesake(context.transaction.catalog.routines.values(), replace(each, schema=schema)):
            message = f'model "{each.model.name}" already exists in schema "{schema}"' if each.model else ""
            raise SqlError.of("duplicate_object", message)
        replace_routine(context, each, replace(each, schema=schema))
    return Result(f"ALTER {what}")


def comment_on_routine(context: Context, node: Any, what: str) -> Result:
    """COMMENT ON FUNCTION."""
    found = require_routine(context, inner(node.object), what)
    replace_routine(context, found, replace(found, comment=node.comment or None))
    return Result("COMMENT")


def alter_routine(context: Context) -> Result:
    """ALTER FUNCTION, PROCEDURE or ROUTINE name [(types)] option … [RESTRICT]: options, SET and RESET. 22023, 42809."""
    node: Any = context.statement.node
    what = pg.ObjectType.Name(node.objtype).removeprefix("OBJECT_")
    context.check_writable(f"ALTER {what}")
    found = require_altered(context, node.func, what)
    if found.kind == "a":
        raise SqlError.of("wrong_object_type", f'"{found.name}" is an aggregate function')
    changes = read_options(context, node.actions, dict(found.settings), is_procedure=found.kind == "p")
    if "rows" in changes and not found.returns_set:
        message = "ROWS is not applicable when function does not return a set"
        raise SqlError.of("invalid_parameter_value", message)
    if changes.get("leakproof") and not is_superuser(context.transaction.catalog, context.session.user):
        raise SqlError.of("insufficient_privilege", "only superuser can define a leakproof function")
    replace_routine(context, found, replace(found, **changes))
    return Result(f"ALTER {what}")
