"""What a session draws from sequences: nextval, currval, lastval and setval."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpudb.catalog.model import Relation, Sequence
from gpudb.errors import SqlError, UndefinedTable
from gpudb.storage.catalog.sequences import State

if TYPE_CHECKING:
    from gpudb.session.context import Context


@dataclass(slots=True)
class Drawn:
    """A session's memory: the last value of each sequence, by OID, and the values that CACHE keeps ready, by file."""

    current: dict[int, int] = field(default_factory=dict)
    last: int | None = None
    ready: dict[int, list[range]] = field(default_factory=dict)


def named_sequence(context: Context, reference: object) -> Sequence:
    """The sequence that a regclass means: an OID, or a name on the search path; 42P01, 42809."""
    relation: Relation | None
    catalog = context.transaction.catalog
    if isinstance(reference, int) or str(reference).isdigit():
        relation = catalog.by_oid(int(str(reference)))
        if relation is None:
            raise UndefinedTable(f"could not open relation with OID {reference}")
    else:
        parts = name_parts(str(reference))
        path = (parts[-2],) if len(parts) > 1 else context.session.search_path()
        relation = catalog.find(parts[-1], path)
        if relation is None:
            raise UndefinedTable(f'relation "{".".join(parts)}" does not exist')
    if not isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a sequence')
    return _newest(context, relation)


def name_parts(text: str) -> list[str]:
    """The parts of a qualified name as text, unquoted ones folded to lower case; 42602."""
    found = re.findall(r'"(?:[^"]|"")*"|[^."]+', text.strip())
    if not found:
        raise SqlError.of("invalid_name", "invalid name syntax")
    return [each[1:-1].replace('""', '"') if each[0] == '"' else each.strip().lower() for each in found]


def _newest(context: Context, sequence: Sequence) -> Sequence:
    """A sequence as others have changed it since, unless this transaction has: they do not follow snapshots."""
    transaction = context.transaction
    if transaction.base.by_oid(sequence.oid) is sequence:
        committed = context.session.database.store.catalog().by_oid(sequence.oid)
        if isinstance(committed, Sequence):
            return committed
    return sequence


def state(context: Context, sequence: Sequence) -> State:
    """Where a sequence stands."""
    return context.session.database.store.sequences.state(_newest(context, sequence))


def draw(context: Context, sequence: Sequence, count: int) -> list[range]:
    """nextval, `count` times; 25006, 2200H."""
    if not sequence.temporary:
        _check_writable(context, "nextval()")
    drawn = context.session.drawn
    store = context.session.database.store.sequences
    ready = drawn.ready.pop(sequence.file, [])
    made: list[range] = []
    missing = count
    while ready and missing:
        made.append(ready[0][:missing])
        rest = ready[0][missing:]
        missing -= len(made[-1])
        ready = [rest, *ready[1:]] if rest else ready[1:]
    if missing:
        fresh = store.take(sequence, max(missing, sequence.cache), missing)
        for each in fresh:
            if missing:
                made.append(each[:missing])
                each = each[missing:]
                missing -= len(made[-1])
            if each:
                ready.append(each)
    if ready:
        drawn.ready[sequence.file] = ready
    drawn.current[sequence.oid] = made[-1][-1]
    drawn.last = sequence.oid
    return made


def currval(context: Context, sequence: Sequence) -> int:
    """The value that this session drew last; 55000 before it drew any."""
    found = context.session.drawn.current.get(sequence.oid)
    if found is None:
        message = f'currval of sequence "{sequence.name}" is not yet defined in this session'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return found


def lastval(context: Context) -> int:
    """The value that nextval gave last in this session, of any sequence that is still there; 55000."""
    drawn = context.session.drawn
    if drawn.last is None or context.transaction.catalog.by_oid(drawn.last) is None:
        raise SqlError.of("object_not_in_prerequisite_state", "lastval is not yet defined in this session")
    return drawn.current[drawn.last]


def setval(context: Context, sequence: Sequence, value: int, called: bool) -> int:
    """Goes on from `value`; 22003 outside the sequence's bounds."""
    if not sequence.temporary:
        _check_writable(context, "setval()")
    if not sequence.minimum <= value <= sequence.maximum:
        message = (
            f'setval: value {value} is out of bounds for sequence "{sequence.name}"'
            f" ({sequence.minimum}..{sequence.maximum})"
        )
        raise SqlError.of("numeric_value_out_of_range", message)
    context.session.database.store.sequences.put(sequence, value, called)
    drawn = context.session.drawn
    drawn.ready.pop(sequence.file, None)
    if called:
        drawn.current[sequence.oid] = value
    return value


def _check_writable(context: Context, what: str) -> None:
    context.session.check_writable(what)
