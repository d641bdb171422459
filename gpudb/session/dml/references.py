"""Foreign keys at a statement's end: new rows have what they refer to, and rows that leave take along or let go.

What a foreign key does about rows that leave is ON DELETE's, about keys that change ON UPDATE's: no action, restrict,
cascade, set null, set default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gpudb.catalog.model import Catalog, DataFile, ForeignKey, Table
from gpudb.session.context import Context
from gpudb.session.dml.outcomes import Outcome
from gpudb.session.execution.execution import gathered
from gpudb.session.state.deferral import Added, deferral
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.targets import ROW_ID, default_of
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.types.coercion import coerce, exactly
from gpudb.sql.bound import (
    BoolOp,
    Column,
    Constant,
    DistinctFrom,
    Exists,
    Expr,
    FrameScan,
    Join,
    OutputColumn,
    Scan,
    Select,
    Test,
)
from gpudb.storage.constraints.references import still_referenced
from gpudb.types import INT4, INT8, TEXT

_VARYING = {"jsonb", "float4", "float8", "interval"}
"""Types of which equal values may look different."""
_PLACES, _KEYS = "gpudb leaving rows", "gpudb leaving keys"


@dataclass(frozen=True, slots=True)
class Leaving:
    """Keys that rows of a referenced table had: of those that are removed (`deleted`) or changed.

    Where ON UPDATE does something about it, the keys that each got instead follow the old ones' columns. Of NO ACTION
    they may be there as before; else they have changed.
    """

    referenced: int
    owner: int
    foreign: ForeignKey
    keys: pa.Table
    deleted: bool

    @property
    def action(self) -> str:
        """What the foreign key does about it, as pg_constraint's letter."""
        return self.foreign.on_delete if self.deleted else self.foreign.on_update


def referencing(catalog: Catalog, oid: int) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys that refer to a table, each with the table that has it."""
    return [(table, foreign) for table in catalog.tables() for foreign in table.foreign_keys if foreign.table == oid]


def check_added(context: Context, before: Table) -> None:
    """23503 for a row added to a table since it was `before` that refers to none."""
    for foreign in context.transaction.table(before.oid).foreign_keys if before.foreign_keys else ():
        _look_at(context, Added(before.oid, foreign, before.files))


def _look_at(context: Context, event: Added | Leaving) -> None:
    """Checks what a change has done to a foreign key, or puts it off to the transaction's end."""
    put_off = deferral(context.session)
    if put_off.covers(event.foreign):
        put_off.remember(event)
    elif isinstance(event, Added):
        context.transaction.check_references(event.owner, event.files, event.foreign)
    else:
        _settle(context, event)


def check_deferred(context: Context, events: Iterable[Added | Leaving]) -> None:
    """23503 for what was put off, of tables and foreign keys that are still there."""
    for event in events:
        owner = context.transaction.catalog.by_oid(event.owner)
        known = owner.foreign_keys if isinstance(owner, Table) else ()
        foreign = next((each for each in known if each.oid == event.foreign.oid), None)
        if foreign is not None and isinstance(event, Added):
            context.transaction.check_references(event.owner, event.files, foreign)
        elif foreign is not None and isinstance(event, Leaving):
            _settle(context, replace(event, foreign=foreign))


def leaving_keys(context: Context, outcomes: Sequence[tuple[Table, Outcome]]) -> list[Leaving]:
    """What others may refer to of the rows that computed changes take away; to be asked before they are written."""
    found: list[Leaving] = []
    for table, outcome in outcomes:
        if outcome.gone is None or not outcome.gone.num_rows:
            continue
        for owner, foreign in referencing(context.transaction.catalog, table.oid):
            removed = outcome.removed if outcome.removed is not None and outcome.removed.num_rows else None
            if removed is not None:
                found.append(_leaving(context, table, owner, foreign, removed, deleted=True))
            if outcome.changes(foreign.referenced) and foreign.on_update in "cndr":
                found.append(_changing(context, table, owner, foreign, outcome))
            elif outcome.changes(foreign.referenced):
                # Rows that are removed beside are among them: their keys are gone all the same.
                found.append(_leaving(context, table, owner, foreign, outcome.gone, deleted=False))
    return [each for each in found if each.keys.num_rows]


def _leaving(
    context: Context, table: Table, owner: Table, foreign: ForeignKey, places: pa.Table, *, deleted: bool
) -> Leaving:
    binder = context.session.binder(context)
    table = context.transaction.table(table.oid)
    scan, other = binder.rel(), binder.rel()
    width = len(table.columns)
    on = conjunction(
        [
            apply_operator(binder, "=", Column(scan, width, TEXT), Column(other, 0, TEXT)),
            apply_operator(binder, "=", Column(scan, width + 1, INT8), Column(other, 1, INT8)),
        ]
    )
    columns = _columns(table, scan, foreign.referenced)
    there = conjunction([Test(column, "NULL", True) for column in columns])
    source = Join("INNER", Scan(scan, table, row_ids=True), FrameScan(other, _PLACES, ROW_ID), on)
    query = Select(_key_columns(table, foreign), columns, source, there, distinct=True)
    keys = gathered(context, query, {_PLACES: places})
    return Leaving(table.oid, owner.oid, foreign, keys, deleted)


def _changing(context: Context, table: Table, owner: Table, foreign: ForeignKey, outcome: Outcome) -> Leaving:
    """Old and new keys of the rows whose keys change."""
    assert outcome.changed is not None
    binder = context.session.binder(context)
    table = context.transaction.table(table.oid)
    columns = _key_columns(table, foreign)
    fresh = pa.Table.from_batches([batch.select(_places_of(table, foreign.referenced)) for batch in outcome.fresh])
    frame = outcome.changed
    for column, values in zip(columns, fresh.columns, strict=True):
        frame = frame.append_column(column.name, values)
    scan, other = binder.rel(), binder.rel()
    width = len(table.columns)
    on = conjunction(
        [
            apply_operator(binder, "=", Column(scan, width, TEXT), Column(other, 0, TEXT)),
            apply_operator(binder, "=", Column(scan, width + 1, INT8), Column(other, 1, INT8)),
        ]
    )
    old = _columns(table, scan, foreign.referenced)
    new = tuple(Column(other, 2 + index, column.type) for index, column in enumerate(columns))
    there = [Test(column, "NULL", True) for column in old]
    unlike = [
        DistinctFrom(_as_shown(binder, one), _as_shown(binder, two), False) for one, two in zip(old, new, strict=True)
    ]
    where = conjunction([*there, unlike[0] if len(unlike) == 1 else BoolOp("OR", tuple(unlike))])
    source = Join("INNER", Scan(scan, table, row_ids=True), FrameScan(other, _PLACES, (*ROW_ID, *columns)), on)
    given = tuple(OutputColumn(f"n{index}", column.type) for index, column in enumerate(columns))
    if foreign.on_update == "r":
        new = given = ()
    keys = gathered(context, Select((*columns, *given), (*old, *new), source, where), {_PLACES: frame})
    return Leaving(table.oid, owner.oid, foreign, keys, False)


def _as_shown(binder: Binder, key: Expr) -> Expr:
    """A key as it is compared with what it becomes: as text where equal values may look different, 1.0 and 1.00."""
    kind = key.type
    varies = kind.name in _VARYING or (kind.name == "numeric" and kind.modifier == -1)
    return coerce(binder, key, TEXT, "e") if varies or kind.fields or kind.element is not None else key


def _places_of(table: Table, names: Sequence[str]) -> list[int]:
    known = [column.name for column in table.columns]
    return [known.index(name) for name in names]


def settle_references(
    context: Context,
    before: Catalog,
    outcomes: Sequence[tuple[Table, Outcome]],
    leaving: Iterable[Leaving],
) -> None:
    """Carries ON DELETE and ON UPDATE out, then looks at what is refused: 23503."""
    ordered = sorted(leaving, key=lambda each: each.action not in "cnd")
    for each in ordered:
        if each.action == "a":
            _look_at(context, each)
        else:
            _settle(context, each)
    for oid in dict.fromkeys(table.oid for table, _ in outcomes):
        known = before.by_oid(oid)
        files: tuple[DataFile, ...] = known.files if isinstance(known, Table) else ()
        for foreign in context.transaction.table(oid).foreign_keys:
            here = [outcome for table, outcome in outcomes if table.oid == oid]
            if any(outcome.added or outcome.changes(foreign.columns) for outcome in here):
                _look_at(context, Added(oid, foreign, files))


def _settle(context: Context, leaving: Leaving) -> None:
    action = leaving.action
    referenced = context.transaction.table(leaving.referenced)
    acts = not leaving.deleted and action in "cnd"
    keys = leaving.keys if action == "r" or acts else _vanished(context, referenced, leaving)
    if not keys.num_rows:
        return
    owner = context.transaction.table(leaving.owner)
    found = _referring(context, owner, leaving.foreign, referenced, keys, changed=acts)
    if not found.num_rows:
        return
    if action in "ar":
        width = 2 + len(owner.columns)
        row = found.select(range(width, found.num_columns)).combine_chunks().to_batches()[0]
        raise still_referenced(owner, leaving.foreign, referenced, row)
    from gpudb.session.dml.apply import write

    places = pa.table({"file": found.column(0), "row": found.column(1)})
    if action == "c" and leaving.deleted:
        write(context, [(owner, Outcome(found.num_rows, [], places, removed=places))])
        return
    columns = (leaving.deleted and leaving.foreign.delete_columns) or leaving.foreign.columns
    if action == "c":
        fresh = _with_new_keys(owner, columns, found)
    else:
        fresh = _without_reference(context, owner, columns, found, default=action == "d")
    made = Outcome(found.num_rows, fresh, places, fresh, assigned=frozenset(columns), changed=places)
    write(context, [(owner, made)])


def _vanished(context: Context, referenced: Table, leaving: Leaving) -> pa.Table:
    """Those of the keys that no row has any more."""
    binder = context.session.binder(context)
    outer, inner = binder.rel(), binder.rel()
    columns = _key_columns(referenced, leaving.foreign)
    keys = tuple(Column(outer, index, column.type) for index, column in enumerate(columns))
    same = _same(binder, _columns(referenced, inner, leaving.foreign.referenced), keys)
    inside = Select((OutputColumn("one", INT4),), (Constant(1, INT4),), Scan(inner, referenced), same)
    query = Select(columns, keys, FrameScan(outer, _KEYS, columns), BoolOp("NOT", (Exists(inside),)))
    return gathered(context, query, {_KEYS: _named(leaving.keys, columns)})


def _referring(
    context: Context, owner: Table, foreign: ForeignKey, referenced: Table, keys: pa.Table, *, changed: bool
) -> pa.Table:
    """File, number and columns of the rows that refer to some of `keys`, and these, or what they `changed` to."""
    binder = context.session.binder(context)
    scan, other = binder.rel(), binder.rel()
    columns = _key_columns(referenced, foreign)
    named: tuple[Expr, ...] = tuple(Column(other, index, column.type) for index, column in enumerate(columns))
    on = _same(binder, _columns(owner, scan, foreign.columns), named)
    width = len(owner.columns)
    place = (Column(scan, width, TEXT), Column(scan, width + 1, INT8))
    every = tuple(Column(scan, index, column.type) for index, column in enumerate(owner.columns))
    frame = columns
    if changed:
        frame = (*columns, *(OutputColumn(f"n{n}", column.type) for n, column in enumerate(columns)))
        named = tuple(Column(other, len(columns) + n, column.type) for n, column in enumerate(columns))
        # a key of another type than the column that refers to it is converted as an assignment is
        held = {column.name: column.type for column in owner.columns}
        named = tuple(exactly(binder, expr, held[name]) for expr, name in zip(named, foreign.columns, strict=True))
        columns = tuple(OutputColumn(each.name, expr.type) for each, expr in zip(columns, named, strict=True))
    source = Join("INNER", Scan(scan, owner, row_ids=True), FrameScan(other, _KEYS, frame), on)
    query = Select((*ROW_ID, *table_columns(owner), *columns), (*place, *every, *named), source)
    return gathered(context, query, {_KEYS: _named(keys, frame)})


def _with_new_keys(owner: Table, columns: Sequence[str], found: pa.Table) -> list[pa.RecordBatch]:
    """The rows with the keys that follow them in the columns that refer."""
    places, first = _places_of(owner, columns), 2 + len(owner.columns)
    chosen = list(range(2, first))
    for index, place in enumerate(places):
        chosen[place] = first + index
    return found.select(chosen).combine_chunks().to_batches()  # type: ignore[no-any-return]


def _without_reference(
    context: Context, owner: Table, names: Sequence[str], found: pa.Table, *, default: bool
) -> list[pa.RecordBatch]:
    """The rows with NULL, or their defaults, in these columns."""
    binder = context.session.binder(context)
    rel = binder.rel()
    columns = table_columns(owner)
    targets: list[Expr] = []
    for index, column in enumerate(owner.columns):
        if column.name not in names:
            targets.append(Column(rel, index, column.type))
        else:
            targets.append(default_of(binder, column) if default else Constant(None, column.type))
    query = Select(columns, tuple(targets), FrameScan(rel, _KEYS, columns))
    rows = _named(found.select(range(2, 2 + len(columns))), columns)
    return gathered(context, query, {_KEYS: rows}).to_batches()  # type: ignore[no-any-return]


def _same(binder: Binder, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
    return conjunction([apply_operator(binder, "=", one, other) for one, other in zip(left, right, strict=True)])


def _columns(table: Table, rel: int, names: Sequence[str]) -> tuple[Column, ...]:
    places = {column.name: index for index, column in enumerate(table.columns)}
    return tuple(Column(rel, places[name], table.columns[places[name]].type, name) for name in names)


def _key_columns(referenced: Table, foreign: ForeignKey) -> tuple[OutputColumn, ...]:
    types = {column.name: column.type for column in referenced.columns}
    return tuple(OutputColumn(f"k{n}", types[name]) for n, name in enumerate(foreign.referenced))


def _named(table: pa.Table, columns: Sequence[OutputColumn]) -> pa.Table:
    return table.rename_columns([column.name for column in columns])
