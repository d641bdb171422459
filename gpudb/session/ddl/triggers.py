"""CREATE, ALTER, DROP and COMMENT ON TRIGGER, and ALTER TABLE … ENABLE and DISABLE TRIGGER."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.relations import Relation, View
from gpudb.catalog.routines import Routine, get_routine_path
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, BEFORE, DELETE, INSERT, INSTEAD, TRUNCATE, UPDATE, Trigger
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedColumn, UndefinedFunction, UndefinedTable
from gpudb.session.authorization.privileges import check_privilege, get_current_role
from gpudb.session.context import Context
from gpudb.session.execution.routines.languages import TRIGGER
from gpudb.session.objects.constraints import referencing_keys
from gpudb.session.objects.names import check_not_system, range_text, resolve_range, truncate_identifier
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.session.objects.stored_expressions import deparse_expression
from gpudb.session.results import Result
from gpudb.session.triggers.built_in import find_built_in
from gpudb.sql.bind.dml.checks import parse_expression, qualify_expression
from gpudb.sql.bind.dml.trigger_conditions import bind_trigger_condition
from gpudb.sql.bind.dml.view_targets import view_as_table
from gpudb.sql.bound import Column
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import children, inner, present, strings
from gpudb.sql.traverse import walk

# The bits of PostgreSQL's trigger.h
_TIMINGS = {0: AFTER, 2: BEFORE, 64: INSTEAD}
_EVENTS = {4: INSERT, 8: DELETE, 16: UPDATE, 32: TRUNCATE}


def create_trigger(context: Context) -> Result:
    """CREATE [OR REPLACE] TRIGGER."""
    node: Any = context.statement.node
    context.check_writable("CREATE TRIGGER")
    if node.isconstraint:
        raise FeatureNotSupported("CREATE CONSTRAINT TRIGGER is not supported")
    relation = _find_relation(context, node.relation)
    timing = _TIMINGS[node.timing]
    events = tuple(name for bit, name in _EVENTS.items() if node.events & bit)
    _check_relation(relation, timing, events, for_each_row=node.row)
    check_privilege(context.transaction.catalog, get_current_role(context), relation, "t")
    assert isinstance(relation, Table | View)
    old_table, new_table = _transition_tables(node, relation, timing, events)
    if timing == INSTEAD:
        _check_instead(node)
    if TRUNCATE in events and node.row:
        raise FeatureNotSupported("TRUNCATE FOR EACH ROW triggers are not supported")
    columns = _columns(relation, strings(node.columns))
    condition = _condition(context, node, relation, timing, events) if present(node.when_clause) else None
    function = _find_function(context, strings(node.funcname))
    if function.schema == context.session.temporary_schema != relation.schema:
        raise FeatureNotSupported("triggers of permanent relations that call temporary functions are not supported")
    name = truncate_identifier(node.trigname)
    old = next((each for each in relation.triggers if each.name == name), None)
    if old is not None and not node.replace:
        message = f'trigger "{name}" for relation "{relation.name}" already exists'
        raise SqlError.of("duplicate_object", message)
    if old is not None:
        oid = old.oid
    else:
        oid, catalog = context.transaction.catalog.allocate_oid()
        context.transaction.set_catalog(catalog)
    trigger = Trigger(
        oid,
        name,
        function.oid,
        timing,
        events,
        bool(node.row),
        columns,
        condition,
        strings(node.args),
        old_table,
        new_table,
        comment=old.comment if old is not None else None,
    )
    if trigger.for_each_row and isinstance(relation, Table) and relation.partitioned_by is not None:
        if old_table or new_table:
            detail = "ROW triggers with transition tables are not supported on partitioned tables."
            raise FeatureNotSupported(f'"{relation.name}" is a partitioned table', detail=detail)
    others = tuple(each for each in relation.triggers if each.name != name)
    relation = replace(relation, triggers=(*others, trigger))
    put_relation(context, relation)
    _change_copies(context, relation, trigger, lambda copy: None)  # CREATE OR REPLACE copies it again
    if isinstance(relation, Table):
        for each in list_partitions(context.transaction.catalog, relation):
            put_relation(context, copy_row_triggers(context, relation, each))
    return Result("CREATE TRIGGER")


def copy_row_triggers(context: Context, parent: Table, table: Table) -> Table:
    """Returns a partition with copies of the row-level triggers of its table that it lacks; 42710."""
    for trigger in parent.triggers:
        origin = trigger.parent or trigger.oid
        if not trigger.for_each_row or any(each.parent == origin for each in table.triggers):
            continue
        if any(each.name == trigger.name for each in table.triggers):
            message = f'trigger "{trigger.name}" for relation "{table.name}" already exists'
            raise SqlError.of("duplicate_object", message)
        oid, catalog = context.transaction.catalog.allocate_oid()
        context.transaction.set_catalog(catalog)
        copy = replace(trigger, oid=oid, parent=origin, comment=None)
        table = replace(table, triggers=(*table.triggers, copy))
    return table


def _change_copies(
    context: Context, relation: Relation, trigger: Trigger, change: Callable[[Trigger], Trigger | None]
) -> None:
    """Changes the copies of a trigger that partitions have, or drops those for which there is None."""
    for each in list_partitions(context.transaction.catalog, relation) if isinstance(relation, Table) else ():
        if any(own.parent == trigger.oid for own in each.triggers):
            made = (change(own) if own.parent == trigger.oid else own for own in each.triggers)
            _put_triggers(context, each, tuple(own for own in made if own is not None))


def _check_own(context: Context, relation: Relation, trigger: Trigger, what: str) -> None:
    """Raises 2BP01 to drop, or 0A000 to rename, a trigger that a partition has from its table."""
    if not trigger.parent:
        return
    tables = context.transaction.catalog.tables()
    parent = next((each.name for each in tables if any(own.oid == trigger.parent for own in each.triggers)), "")
    named = f"trigger {trigger.name} on table {relation.name}"
    if what == "drop":
        above = f"trigger {trigger.name} on table {parent}"
        hint = f"You can drop {above} instead."
        message = f"cannot drop {named} because {above} requires it"
        raise SqlError.of("dependent_objects_still_exist", message, hint=hint)
    message = f'cannot rename trigger "{trigger.name}" on table "{relation.name}"'
    hint = f'Rename the trigger on the partitioned table "{parent}" instead.'
    raise FeatureNotSupported(message, hint=hint)


def _find_relation(context: Context, node: Any) -> Relation:
    """The relation that a RangeVar names; 42P01, 42501 for a system catalog."""
    relation = resolve_range(context, node)
    if relation is None:
        check_not_system(context, node.schemaname, node.relname)
        raise UndefinedTable(f'relation "{range_text(node)}" does not exist')
    if isinstance(relation, Table) and relation.query is None:
        lock_table(context, relation)
        return context.transaction.table(relation.oid)
    return relation


def _check_relation(relation: Relation, timing: str, events: tuple[str, ...], *, for_each_row: bool) -> None:
    """42809 for a relation that cannot have such a trigger."""
    detail = None
    if isinstance(relation, View):
        if timing != INSTEAD and for_each_row:
            detail = "Views cannot have row-level BEFORE or AFTER triggers."
        elif TRUNCATE in events:
            detail = "Views cannot have TRUNCATE triggers."
        if detail is not None:
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is a view', detail=detail)
    elif isinstance(relation, Table) and relation.query is None:
        if relation.is_elsewhere:
            raise FeatureNotSupported(f'triggers on foreign table "{relation.name}" are not supported')
        if for_each_row and relation.partition_bound is not None:
            hint = "Create the trigger on the partitioned table."
            raise FeatureNotSupported("a row trigger of a partition alone is not supported", hint=hint)
        if timing == INSTEAD:
            detail = "Tables cannot have INSTEAD OF triggers."
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is a table', detail=detail)
    else:
        noun = "materialized views" if isinstance(relation, Table) else "sequences"
        detail = f"This operation is not supported for {noun}."
        raise SqlError.of("wrong_object_type", f'relation "{relation.name}" cannot have triggers', detail=detail)


def _check_instead(node: Any) -> None:
    if not node.row:
        raise FeatureNotSupported("INSTEAD OF triggers must be FOR EACH ROW")
    if present(node.when_clause):
        raise FeatureNotSupported("INSTEAD OF triggers cannot have WHEN conditions")
    if len(node.columns):
        raise FeatureNotSupported("INSTEAD OF triggers cannot have column lists")


def _transition_tables(node: Any, relation: Table | View, timing: str, events: tuple[str, ...]) -> tuple[str, str]:
    """The names of OLD TABLE and NEW TABLE; 0A000, 42P17."""
    found = {True: "", False: ""}
    for each in map(inner, node.transition_rels):
        if not each.is_table:
            hint = "Use OLD TABLE or NEW TABLE for naming transition tables."
            raise FeatureNotSupported("ROW variable naming in the REFERENCING clause is not supported", hint=hint)
        if isinstance(relation, View):
            detail = "Triggers on views cannot have transition tables."
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is a view', detail=detail)
        if timing != AFTER:
            message = "transition table name can only be specified for an AFTER trigger"
            raise SqlError.of("invalid_object_definition", message)
        if TRUNCATE in events:
            raise FeatureNotSupported("TRUNCATE triggers with transition tables are not supported")
        if len(events) > 1:
            message = "transition tables cannot be specified for triggers with more than one event"
            raise FeatureNotSupported(message)
        if len(node.columns):
            raise FeatureNotSupported("transition tables cannot be specified for triggers with column lists")
        side, other, event = ("NEW", INSERT, DELETE) if each.is_new else ("OLD", DELETE, INSERT)
        if event in events:
            kinds = f"{'an' if other == INSERT else 'a'} {other} or UPDATE"
            message = f"{side} TABLE can only be specified for {kinds} trigger"
            raise SqlError.of("invalid_object_definition", message)
        if found[each.is_new]:
            message = f"{side} TABLE cannot be specified multiple times"
            raise SqlError.of("invalid_object_definition", message)
        found[each.is_new] = each.name
    if found[True] and found[True] == found[False]:
        message = "OLD TABLE name and NEW TABLE name cannot be the same"
        raise SqlError.of("invalid_object_definition", message)
    return found[False], found[True]


def _columns(relation: Table | View, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of UPDATE OF; 42703, 42701."""
    known = {column.name for column in relation.columns}
    for place, name in enumerate(names):
        if name not in known:
            raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')
        if name in names[:place]:
            raise SqlError.of("duplicate_column", f'column "{name}" specified more than once')
    return names


def _condition(context: Context, node: Any, relation: Table | View, timing: str, events: tuple[str, ...]) -> str:
    """The WHEN condition as SQL text that means the same under any search path; 42P17."""
    table = view_as_table(relation) if isinstance(relation, View) else relation
    binder = context.binder()
    rel = binder.new_rel()
    binder.expansions = Expansions()
    test = bind_trigger_condition(binder, table, node.when_clause, rel)
    used = {each.index for each in walk(test) if isinstance(each, Column) and each.rel == rel}
    width, wrong = len(table.columns), None
    if used and not node.row:
        wrong = "statement trigger's WHEN condition cannot reference column values"
    elif any(place >= width for place in used) and INSERT in events:
        wrong = "INSERT trigger's WHEN condition cannot reference OLD values"
    elif any(place < width for place in used) and DELETE in events:
        wrong = "DELETE trigger's WHEN condition cannot reference NEW values"
    if wrong is not None:
        raise _locate(binder, SqlError.of("invalid_object_definition", wrong), node.when_clause)
    if timing == BEFORE:
        for place in sorted(used):
            if place < width and table.columns[place].generated is not None:
                message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns"
                detail = f'Column "{table.columns[place].name}" is a generated column.'
                error = SqlError.of("invalid_object_definition", message, detail=detail)
                raise _locate(binder, error, node.when_clause)
    return deparse_expression(qualify_expression(binder, node.when_clause))


def _locate(binder: Any, error: GpudbError, node: Any) -> GpudbError:
    """The error with the position of the first reference to OLD or NEW."""
    found = next(_iter_references(node), None)
    located: GpudbError = error if found is None else binder.locate(error, found)
    return located


def _iter_references(node: Any) -> Iterator[int]:
    if node.DESCRIPTOR.name == "ColumnRef":
        yield node.location
    for each in children(node):
        yield from _iter_references(each)


def _find_function(context: Context, names: tuple[str, ...]) -> Routine:
    """The function of a trigger; 42883, 42501, 42P17."""
    catalog = context.transaction.catalog
    path = get_routine_path("".join(names[-2:-1]), context.session.search_path())
    found = catalog.find_routines(names[-1], path)
    function = next((each for each in found if not each.inputs), None)
    if function is None and names[:-1] in {(), ("pg_catalog",)}:
        function = find_built_in(names[-1])
        if function is not None:
            return function
    if function is None:
        raise UndefinedFunction(f"function {'.'.join(names)}() does not exist")
    check_privilege(catalog, get_current_role(context), function, "X")
    if function.result != TRIGGER:
        message = f"function {function.name} must return type trigger"
        raise SqlError.of("invalid_object_definition", message)
    return function


def _put_triggers(context: Context, relation: Table | View, triggers: tuple[Trigger, ...]) -> None:
    put_relation(context, replace(relation, triggers=triggers))


# ---- changes


def _find_trigger(relation: Relation, name: str) -> Trigger:
    """The trigger of a relation; 42704."""
    for each in relation.triggers if isinstance(relation, Table | View) else ():
        if each.name == name:
            return each
    raise SqlError.of("undefined_object", f'trigger "{name}" for table "{relation.name}" does not exist')


def _replace_trigger(context: Context, relation: Relation, old: Trigger, new: Trigger) -> None:
    assert isinstance(relation, Table | View)
    _put_triggers(context, relation, tuple(new if each is old else each for each in relation.triggers))


def rename_trigger(context: Context, node: Any, new: str) -> Result:
    """ALTER TRIGGER … RENAME TO."""
    relation = _find_relation(context, node.relation)
    found = _find_trigger(relation, node.subname)
    if isinstance(relation, Table | View) and any(each.name == new for each in relation.triggers):
        raise SqlError.of("duplicate_object", f'trigger "{new}" for relation "{relation.name}" already exists')
    _check_own(context, relation, found, "rename")
    _replace_trigger(context, relation, found, replace(found, name=new))
    _change_copies(context, relation, found, lambda copy: replace(copy, name=new))
    return Result("ALTER TRIGGER")


def _named_relation(context: Context, path: tuple[str, ...]) -> Relation | None:
    return context.transaction.catalog.find(path[-1], path[-2:-1] or context.session.search_path())


def comment_on_trigger(context: Context, names: tuple[str, ...], text: str | None) -> Result:
    """COMMENT ON TRIGGER name ON relation."""
    relation = _named_relation(context, names[:-1])
    if relation is None:
        raise UndefinedTable(f'relation "{".".join(names[:-1])}" does not exist')
    found = _find_trigger(relation, names[-1])
    _replace_trigger(context, relation, found, replace(found, comment=text))
    return Result("COMMENT")


def drop_triggers(context: Context, node: Any) -> Result:
    """DROP TRIGGER [IF EXISTS] name ON relation."""
    for each in node.objects:
        *path, name = strings(inner(each).items)
        relation = _named_relation(context, tuple(path))
        if relation is None:
            message = f'relation "{".".join(path)}" does not exist'
            if not node.missing_ok:
                raise UndefinedTable(message)
            context.notice(f"{message}, skipping")
            continue
        known = relation.triggers if isinstance(relation, Table | View) else ()
        if node.missing_ok and all(trigger.name != name for trigger in known):
            context.notice(f'trigger "{name}" for relation "{relation.name}" does not exist, skipping')
            continue
        found = _find_trigger(relation, name)
        assert isinstance(relation, Table | View)
        _check_own(context, relation, found, "drop")
        if isinstance(relation, Table):
            lock_table(context, relation)
            relation = context.transaction.table(relation.oid)
        _put_triggers(context, relation, tuple(each for each in relation.triggers if each.oid != found.oid))
        _change_copies(context, relation, found, lambda copy: None)
    return Result("DROP TRIGGER")


_ENABLED = {"EnableTrig": "O", "EnableAlwaysTrig": "A", "EnableReplicaTrig": "R", "DisableTrig": "D"}
_ENABLED_ALL = {"EnableTrigAll": "O", "EnableTrigUser": "O", "DisableTrigAll": "D", "DisableTrigUser": "D"}
ENABLING = frozenset({*_ENABLED, *_ENABLED_ALL})
"""The actions of ALTER TABLE that enable or disable triggers."""


def enable_trigger(context: Context, relation: Table | View, step: Any) -> None:
    """ENABLE [ALWAYS | REPLICA] or DISABLE TRIGGER name, ALL or USER."""
    action = pg.AlterTableType.Name(step.subtype).removeprefix("AT_")
    if isinstance(relation, View):
        verb = "DISABLE" if action.startswith("Disable") else "ENABLE"
        message = f'ALTER action {verb} TRIGGER cannot be performed on relation "{relation.name}"'
        detail = "This operation is not supported for views."
        raise SqlError.of("wrong_object_type", message, detail=detail)
    if action in _ENABLED:
        found = _find_trigger(relation, step.name)
        _replace_trigger(context, relation, found, replace(found, enabled=_ENABLED[action]))
        _change_copies(context, relation, found, lambda copy: replace(copy, enabled=_ENABLED[action]))
        return
    if action == "DisableTrigAll" and isinstance(relation, Table):
        if relation.foreign_keys or referencing_keys(context.transaction.catalog, relation.oid):
            context.notice(f'foreign keys of "{relation.name}" stay enforced: they are no triggers in gpudb')
    _put_triggers(context, relation, tuple(replace(each, enabled=_ENABLED_ALL[action]) for each in relation.triggers))
    for each in relation.triggers:
        _change_copies(context, relation, each, lambda copy: replace(copy, enabled=_ENABLED_ALL[action]))


# ---- columns


def rename_trigger_columns(table: Table, old: str, new: str) -> tuple[Trigger, ...]:
    """The triggers of a table after a column is renamed."""
    return tuple(
        replace(
            each,
            columns=tuple(new if name == old else name for name in each.columns),
            condition=_rename_in_condition(each.condition, old, new),
        )
        for each in table.triggers
    )


def _rename_in_condition(text: str | None, old: str, new: str) -> str | None:
    if text is None:
        return None
    node = parse_expression(text)
    for reference in _iter_column_references(node):
        last = reference.fields[-1]
        if last.WhichOneof("node") == "string" and last.string.sval == old:
            last.string.sval = new
    return deparse_expression(node)


def _iter_column_references(node: Any) -> Iterator[Any]:
    if node.DESCRIPTOR.name == "ColumnRef":
        yield node
    for each in children(node):
        yield from _iter_column_references(each)


def triggers_of_column(table: Table, name: str) -> list[Trigger]:
    """The triggers of a table that name a column, in UPDATE OF or in WHEN."""
    found = []
    for each in table.triggers:
        names = set(each.columns)
        if each.condition is not None:
            for reference in _iter_column_references(parse_expression(each.condition)):
                names |= set(strings(reference.fields)[-1:])
        if name in names:
            found.append(each)
    return found
