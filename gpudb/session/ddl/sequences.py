"""CREATE SEQUENCE and ALTER SEQUENCE: options and checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.objects.names import check_name_free, find_new_name, range_text, resolve_range
from gpudb.session.objects.relations import put_relation
from gpudb.session.results import Result
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.parse.parser import inner, present, strings
from gpudb.types import INT8, SqlType
from gpudb.types.facts import INTEGER_LIMITS, INTEGERS


def create_sequence(context: Context) -> Result:
    """CREATE [TEMPORARY] SEQUENCE [IF NOT EXISTS] name [option …]."""
    node: Any = context.statement.node
    context.check_writable("CREATE SEQUENCE")
    if node.sequence.relpersistence == "u":
        raise FeatureNotSupported("unlogged sequences are not supported")
    temporary = node.sequence.relpersistence == "t"
    found = find_new_name(context, node.sequence, if_not_exists=node.if_not_exists, temporary=temporary)
    if found is None:
        return Result("CREATE SEQUENCE")
    schema, name = found
    check_name_free(context.transaction.catalog, schema, name)
    sequence = new_sequence(context, schema, name, INT8, node.options, temporary=temporary)
    put_relation(context, sequence)
    return Result("CREATE SEQUENCE")


def new_sequence(
    context: Context, schema: str, name: str, item: SqlType, options: Iterable[Any], *, temporary: bool
) -> Sequence:
    """Creates a sequence that is not in the catalog yet; its OID and file number are allocated."""
    oid, catalog = context.transaction.catalog.allocate_oid()
    file, catalog = catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    plain = Sequence(oid, schema, name, context.session.user, file, type=item, temporary=temporary)
    values = _options(context, options)
    sequence = _with_options(plain, values, created=True)
    return _with_owner(context, sequence, values)


def alter_sequence(context: Context) -> Result:
    """ALTER SEQUENCE [IF EXISTS] name option …"""
    node: Any = context.statement.node
    context.check_writable("ALTER SEQUENCE")
    relation = resolve_range(context, node.sequence)
    if relation is None:
        if node.missing_ok:
            context.notice(f'relation "{node.sequence.relname}" does not exist, skipping')
            return Result("ALTER SEQUENCE")
        raise UndefinedTable(f'relation "{range_text(node.sequence)}" does not exist')
    if not isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a sequence')
    change_sequence(context, relation, node.options)
    return Result("ALTER SEQUENCE")


def change_sequence(context: Context, sequence: Sequence, options: Iterable[Any]) -> None:
    """Changes a sequence by options; RESTART continues in a new file, so that a rollback restores the old one."""
    values = _options(context, options)
    if sequence.identity and "owned_by" in values:
        table = context.transaction.catalog.find_relation_by_oid(sequence.owned_by[0]) if sequence.owned_by else None
        detail = f'Sequence "{sequence.name}" is linked to table "{table.name if table else ""}".'
        raise FeatureNotSupported("cannot change ownership of identity sequence", detail=detail)
    state = sequence_values.sequence_state(context, sequence)
    changed = _with_options(replace(sequence, first=state.value, called=state.called), values, created=False)
    if "restart" in values:
        file, catalog = context.transaction.catalog.allocate_oid()
        context.transaction.set_catalog(catalog)
        sequence = replace(changed, file=file)
    else:
        # Other sessions may draw from the file meanwhile: its state is not changed.
        sequence = replace(changed, first=sequence.first, called=sequence.called)
    context.session.sequences.ready.pop(sequence.file, None)
    sequence = _with_owner(context, sequence, values)
    put_relation(context, sequence)


# ---- options


def _options(context: Context, nodes: Iterable[Any]) -> dict[str, Any]:
    """The options by name, each given once: integers, booleans, a type, a tuple of names, None for NO …"""
    found: dict[str, Any] = {}
    for each in nodes:
        node = inner(each)
        if node.defname in found:
            error = SqlError.of("syntax_error", "conflicting or redundant options")
            raise context.binder().locate(error, node.location)
        found[node.defname] = _value(context, node)
    return found


def _value(context: Context, node: Any) -> Any:
    if not present(node.arg):
        return None
    argument = inner(node.arg)
    match argument.DESCRIPTOR.name:
        case "Integer":
            return int(argument.ival)
        case "Float":
            return _parse_integer(argument.fval)
        case "Boolean":
            return bool(argument.boolval)
        case "TypeName":
            return _sequence_type(resolve_type_name(argument, context.binder()))
        case "List":
            return strings(argument.items)
    raise FeatureNotSupported(f"sequence option {node.defname} is not supported in this form")


def _parse_integer(text: str) -> int:
    if not text.lstrip("-").isdigit():
        raise SqlError.of("invalid_text_representation", f'invalid input syntax for type bigint: "{text}"')
    if not -(1 << 63) <= int(text) < 1 << 63:
        raise SqlError.of("numeric_value_out_of_range", f'value "{text}" is out of range for type bigint')
    return int(text)


def _sequence_type(item: SqlType) -> SqlType:
    if item.name not in INTEGERS:
        raise SqlError.of("invalid_parameter_value", "sequence type must be smallint, integer, or bigint")
    return item


def _with_options(sequence: Sequence, options: dict[str, Any], *, created: bool) -> Sequence:
    """The sequence with options applied, checked in PostgreSQL's order; 22023."""
    if unknown := options.keys() - _KNOWN:
        raise FeatureNotSupported(f"sequence option {min(unknown)} is not supported")
    item: SqlType = options.get("as") or sequence.type
    least, greatest = INTEGER_LIMITS[sequence.type.name]
    # The old type's bounds become the new type's bounds.
    follow_up = not created and "as" in options and sequence.maximum == greatest
    follow_down = not created and "as" in options and sequence.minimum == least
    increment = options.get("increment", sequence.increment)
    if increment == 0:
        raise _invalid("INCREMENT must not be zero")
    cycle = bool(options.get("cycle", sequence.cycle))
    least, greatest = INTEGER_LIMITS[item.name]
    maximum, minimum = options.get("maxvalue"), options.get("minvalue")
    if maximum is None:
        again = created or follow_up or "maxvalue" in options
        maximum = (greatest if increment > 0 or follow_up else -1) if again else sequence.maximum
    if minimum is None:
        again = created or follow_down or "minvalue" in options
        minimum = (1 if increment > 0 and not follow_down else least) if again else sequence.minimum
    for word, value in (("MAXVALUE", maximum), ("MINVALUE", minimum)):
        if not least <= value <= greatest:
            raise _invalid(f"{word} ({value}) is out of range for sequence data type {item}")
    if minimum >= maximum:
        raise _invalid(f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})")
    start = options.get("start")
    if start is None:
        start = (minimum if increment > 0 else maximum) if created else sequence.start
    _check_within("START", start, minimum, maximum)
    first, called = (start, False) if created else (sequence.first, sequence.called)
    if "restart" in options:
        first, called = options["restart"] if options["restart"] is not None else start, False
    _check_within("RESTART", first, minimum, maximum)
    cache = options.get("cache", sequence.cache)
    if cache <= 0:
        raise _invalid(f"CACHE ({cache}) must be greater than zero")
    return replace(
        sequence, type=item, increment=increment, cycle=cycle, maximum=maximum, minimum=minimum, start=start,
        first=first, called=called, cache=cache,
    )  # fmt: skip


_KNOWN = {"as", "increment", "cycle", "maxvalue", "minvalue", "start", "restart", "cache", "owned_by"}


def _check_within(word: str, value: int, minimum: int, maximum: int) -> None:
    if value < minimum:
        raise _invalid(f"{word} value ({value}) cannot be less than MINVALUE ({minimum})")
    if value > maximum:
        raise _invalid(f"{word} value ({value}) cannot be greater than MAXVALUE ({maximum})")


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


def _with_owner(context: Context, sequence: Sequence, options: dict[str, Any]) -> Sequence:
    """OWNED BY table.column, or NONE."""
    names = options.get("owned_by")
    if names is None:
        return sequence
    if len(names) == 1:
        if names[0] != "none":
            hint = "Specify OWNED BY table.column or OWNED BY NONE."
            raise SqlError.of("syntax_error", "invalid OWNED BY option", hint=hint)
        return replace(sequence, owned_by=None)
    path = names[-3:-2] or context.session.search_path()
    relation = context.transaction.catalog.find(names[-2], path)
    if relation is None:
        raise UndefinedTable(f'relation "{".".join(names[:-1])}" does not exist')
    if not isinstance(relation, Table):
        raise SqlError.of("wrong_object_type", f'sequence cannot be owned by relation "{relation.name}"')
    if relation.owner != sequence.owner:
        message = "sequence must have same owner as table it is linked to"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    if relation.schema != sequence.schema:
        message = "sequence must be in same schema as table it is linked to"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    if all(column.name != names[-1] for column in relation.columns):
        raise UndefinedColumn(f'column "{names[-1]}" of relation "{relation.name}" does not exist')
    return replace(sequence, owned_by=(relation.oid, names[-1]))
