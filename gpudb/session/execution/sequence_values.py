"""Sequence functions of a session: nextval, currval, lastval and setval."""

from __future__ import annotations

import re

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError, UndefinedTable
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import (
    get_current_role,
    has_any_column_privilege,
    list_object_privileges,
    make_denied_error,
)
from gpudb.session.context import Context
from gpudb.storage.catalog.sequences import SequenceState


def named_sequence(context: Context, reference: object) -> Sequence:
    """The sequence of a regclass: an OID, or a name on the search path; 42P01, 42809."""
    relation: Relation | None
    catalog = context.transaction.catalog
    if isinstance(reference, int) or str(reference).isdigit():
        relation = catalog.find_relation_by_oid(int(str(reference)))
        if relation is None:
            raise UndefinedTable(f"could not open relation with OID {reference}")
    else:
        parts = split_name(str(reference))
        if len(parts) > 1:
            context.session.check_schema(parts[-2])
        path = (parts[-2],) if len(parts) > 1 else context.session.search_path()
        relation = catalog.find(parts[-1], path)
        if relation is None:
            raise UndefinedTable(f'relation "{".".join(parts)}" does not exist')
    if not isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a sequence')
    return _current_definition(context, relation)


def split_name(text: str) -> list[str]:
    """The parts of a qualified name as text, unquoted ones folded to lower case; 42602."""
    found = re.findall(r'"(?:[^"]|"")*"|[^."]+', text.strip())
    if not found:
        raise SqlError.of("invalid_name", "invalid name syntax")
    named = [each for each in found if each.strip()]
    return [each[1:-1].replace('""', '"') if each[0] == '"' else each.strip().lower() for each in named]


def _current_definition(context: Context, sequence: Sequence) -> Sequence:
    """The committed definition of a sequence, unless this transaction changed it: sequences ignore snapshots."""
    transaction = context.transaction
    if transaction.base.find_relation_by_oid(sequence.oid) is sequence:
        catalog = context.session.database.store.catalog(transaction.base.database)
        committed = catalog.find_relation_by_oid(sequence.oid)
        if isinstance(committed, Sequence):
            return committed
    return sequence


def sequence_state(context: Context, sequence: Sequence) -> SequenceState:
    """The state of a sequence."""
    return context.session.database.store.sequences.get(_current_definition(context, sequence))


def _check_privilege(context: Context, sequence: Sequence, enough: str) -> None:
    """42501 if the current role has none of the privileges that are enough for a call."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    if is_superuser(catalog, role) or not list_object_privileges(catalog, role, sequence).isdisjoint(enough):
        return
    # An identity column draws for those who may write to its table, whatever their privileges on the sequence
    table = catalog.find_relation_by_oid(sequence.owned_by[0]) if sequence.identity and sequence.owned_by else None
    if "w" in enough and "U" in enough and isinstance(table, Table) and _may_write(catalog, role, table):
        return
    raise make_denied_error("sequence", sequence.name)


def _may_write(catalog: Catalog, role: str, table: Table) -> bool:
    held = list_object_privileges(catalog, role, table)
    return not held.isdisjoint("aw") or any(has_any_column_privilege(catalog, role, table, each) for each in "aw")


def draw(context: Context, sequence: Sequence, count: int) -> list[range]:
    """Draws `count` values as nextval does; 25006, 2200H."""
    _check_privilege(context, sequence, "Uw")
    if not sequence.temporary:
        context.check_writable("nextval()")
    cache = context.session.sequences
    store = context.session.database.store.sequences
    ready = cache.ready.pop(sequence.file, [])
    values: list[range] = []
    missing = count
    while ready and missing:
        values.append(ready[0][:missing])
        rest = ready[0][missing:]
        missing -= len(values[-1])
        ready = [rest, *ready[1:]] if rest else ready[1:]
    if missing:
        fresh = store.draw(sequence, max(missing, sequence.cache), missing)
        for each in fresh:
            if missing:
                values.append(each[:missing])
                each = each[missing:]
                missing -= len(values[-1])
            if each:
                ready.append(each)
    if ready:
        cache.ready[sequence.file] = ready
    cache.current[sequence.oid] = values[-1][-1]
    cache.last = sequence.oid
    return values


def currval(context: Context, sequence: Sequence) -> int:
    """The value that this session drew last from the sequence; 55000 if it drew none."""
    _check_privilege(context, sequence, "rU")
    found = context.session.sequences.current.get(sequence.oid)
    if found is None:
        message = f'currval of sequence "{sequence.name}" is not yet defined in this session'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return found


def lastval(context: Context) -> int:
    """The value that nextval returned last in this session, if its sequence still exists; 55000."""
    cache = context.session.sequences
    if cache.last is None or context.transaction.catalog.find_relation_by_oid(cache.last) is None:
        raise SqlError.of("object_not_in_prerequisite_state", "lastval is not yet defined in this session")
    sequence = context.transaction.catalog.find_relation_by_oid(cache.last)
    assert isinstance(sequence, Sequence)
    _check_privilege(context, sequence, "rU")
    return cache.current[cache.last]


def setval(context: Context, sequence: Sequence, value: int, called: bool) -> int:
    """Sets the last value of a sequence, or the next one if not `called`; 22003 outside its bounds."""
    _check_privilege(context, sequence, "w")
    if not sequence.temporary:
        context.check_writable("setval()")
    if not sequence.minimum <= value <= sequence.maximum:
        message = (
            f'setval: value {value} is out of bounds for sequence "{sequence.name}"'
            f" ({sequence.minimum}..{sequence.maximum})"
        )
        raise SqlError.of("numeric_value_out_of_range", message)
    context.session.database.store.sequences.set_value(sequence, value, called)
    cache = context.session.sequences
    cache.ready.pop(sequence.file, None)
    if called:
        cache.current[sequence.oid] = value
    return value
