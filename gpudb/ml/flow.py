"""Rows on their way through a pipeline's steps: only what is read of them is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.frames import HIDDEN
from gpudb.ml.learned import LearnedTables, Lookup
from gpudb.ml.literals import INPUT, refer
from gpudb.types import SqlType

Types = Mapping[str, SqlType]
Outputs = dict[str, str]


@dataclass(slots=True)
class Step:
    """What a transformer makes of its input, whose columns, but those in `hidden`, have `types`.

    `replaced` has the columns, by name, that stand in the place of a column of the input; `added` those that follow.
    Both are expressions over the input, whose alias is `literals.INPUT`. `unqualified` are the columns that expressions
    may read by their bare names.
    """

    lookup: Lookup
    types: Types
    hidden: Types = field(default_factory=dict)
    replaced: dict[str, Outputs] = field(default_factory=dict)
    added: Outputs = field(default_factory=dict)
    unqualified: Sequence[str] = ()

    def list_outputs(self) -> list[tuple[str, str]]:
        """Returns the outputs in order, each a name and an expression. 42701 for two of one name."""
        outputs: list[tuple[str, str]] = []
        for name in self.types:
            outputs += self.replaced.get(name, {name: refer(name)}).items()
        outputs += self.added.items()
        check_unique([name for name, _ in outputs])
        return outputs

    def choose(self, names: Iterable[str] | None) -> tuple[dict[str, str], list[str]]:
        """Returns the outputs of some names (None: all), and the joins that they need."""
        outputs = dict(self.list_outputs()) | {name: refer(name) for name in self.hidden}
        if names is not None:
            wanted = set(names)
            outputs = {name: text for name, text in outputs.items() if name in wanted}
        joins = [join for alias, join in self.lookup.joins.items() if any(f"{alias}." in t for t in outputs.values())]
        return outputs, joins

    def find_read(self, texts: Sequence[str]) -> set[str]:
        """Returns the columns of the input that expressions read."""
        read = {name for name in (*self.types, *self.hidden) if any(refer(name) in text for text in texts)}
        return read | set(self.unqualified)


@dataclass(frozen=True, slots=True)
class Flow:
    """The rows of a relation, behind steps. `types` are those of the columns now.

    `tables` is where its statement finds learned tables.
    """

    relation: Relation
    types: Types
    tables: LearnedTables
    steps: tuple[Step, ...] = ()

    @property
    def shown(self) -> Types:
        """The columns without those that pass through unseen."""
        return {name: type_ for name, type_ in self.types.items() if name not in HIDDEN}

    def start_step(self) -> Step:
        """Returns a step over the rows as they are, which changes nothing yet."""
        shown = self.shown
        return Step(Lookup(self.tables), shown, {name: t for name, t in self.types.items() if name not in shown})

    def append(self, step: Step) -> Flow:
        """Returns the rows behind one more step."""
        outputs, joins = step.choose(None)
        made = {name: text for name, text in outputs.items() if text != refer(name)}
        found: Types = {}
        if made:
            # The types of the new columns depend on those of the input alone
            nulls = ", ".join(f"NULL::{type_} AS {quote_identifier(name)}" for name, type_ in self.types.items())
            fields = self.relation.connection.describe(_select(made, f"SELECT {nulls}", joins))
            found = {field.name: field.type for field in fields}
        types = {name: found[name] if name in made else self.types[name] for name in outputs}
        return replace(self, types=types, steps=(*self.steps, step))

    def read(self, names: Iterable[str] | None = None) -> Relation:
        """Returns the relation of some columns (None: all), which computes no others."""
        parts: list[tuple[dict[str, str], list[str]]] = []
        wanted = None if names is None else set(names)
        for step in reversed(self.steps):
            outputs, joins = step.choose(wanted)
            if wanted is not None and all(text == refer(name) for name, text in outputs.items()):
                continue
            parts.append((outputs, joins))
            wanted = step.find_read([*outputs.values(), *joins])

        def build(query: str, _: object) -> str:
            for outputs, joins in reversed(parts):
                query = _select(outputs, query, joins)
            return query

        return self.relation.derive(build, [learned for step in self.steps for learned in step.lookup.joined])


def open_flow(relation: Relation, tables: LearnedTables) -> Flow:
    """Returns the rows of a relation before any step. 42701 for two columns of one name."""
    return Flow(relation, describe(relation), tables)


def describe(relation: Relation) -> dict[str, SqlType]:
    """Returns the types of a relation's columns by name; 42701 for two columns of one name."""
    fields = relation.fields
    check_unique([field.name for field in fields])
    return {field.name: field.type for field in fields}


def _select(outputs: Mapping[str, str], query: str, joins: Sequence[str]) -> str:
    columns = ", ".join(f"{text} AS {quote_identifier(name)}" for name, text in outputs.items())
    return "\n".join([f"SELECT {columns} FROM (", query, f") AS {INPUT}", *joins])


def check_unique(names: Sequence[str]) -> None:
    """Raises 42701 for two columns of one name."""
    if len(set(names)) < len(names):
        twice = min(name for name in names if names.count(name) > 1)
        raise SqlError.of("duplicate_column", f'column "{twice}" specified more than once')
