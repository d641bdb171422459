"""The base of transformers: what is learned by queries, and the query that a step makes of its input's."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

from gpudb.api.connection import Connection
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import SqlError, UndefinedColumn
from gpudb.ml.learned import Learned, LearnedTables, Lookup
from gpudb.ml.literals import INPUT, refer
from gpudb.ml.temporary import get_temporary_tables
from gpudb.types import SqlType

Columns = str | Sequence[str]
Outputs = dict[str, str]


TRANSFORMERS: dict[str, type[Transformer]] = {}
"""The transformers by name."""


@dataclass(slots=True)
class Step:
    """What a transformer makes of its input.

    `replaced` has the columns, by name, that stand in the place of a column of the input; `added` those that follow.
    Both are expressions over the input, whose alias is `literals.INPUT`.
    """

    lookup: Lookup
    types: Mapping[str, SqlType]
    replaced: dict[str, Outputs] = field(default_factory=dict)
    added: Outputs = field(default_factory=dict)

    def as_query(self, query: str) -> str:
        """Returns the step's query over its input's."""
        outputs: list[tuple[str, str]] = []
        for name in self.types:
            outputs += self.replaced.get(name, {name: refer(name)}).items()
        outputs += self.added.items()
        names = [name for name, _ in outputs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise SqlError.of("duplicate_column", f'column "{min(twice)}" specified more than once')
        columns = ", ".join(f"{expression} AS {quote_identifier(name)}" for name, expression in outputs)
        return "\n".join([f"SELECT {columns} FROM (", query, f") AS {INPUT}", *self.lookup.joins])


class Transformer(ABC):
    """A step of a pipeline: fitted on a relation by queries, compiled to SQL expressions over its columns.

    The parameters of its constructor are attributes of the same names, as in scikit-learn; `state_` holds the learned
    values. Columns that it does not name pass through.
    """

    is_row_wise: ClassVar[bool] = True
    """Whether the outputs of a row need no other row."""

    def __init_subclass__(cls) -> None:
        """Enters the class among those that a saved pipeline names."""
        TRANSFORMERS[cls.__name__] = cls

    def __init__(self, columns: Columns) -> None:
        self.columns = [columns] if isinstance(columns, str) else list(columns)
        self.state_: dict[str, Any] = {}
        self.learned_: dict[str, Learned] = {}
        self.is_fitted_ = False

    # ---- the user's methods

    def fit(self, relation: Relation) -> Self:
        """Learns from a relation's rows; runs queries. 42703 for a column that it lacks."""
        self.state_, self.learned_ = {}, {}
        types = describe(relation)
        self._check(types)
        self._learn(relation, types)
        self.is_fitted_ = True
        return self

    def transform(self, relation: Relation) -> Relation:
        """Returns the relation with the transformer's columns; nothing runs but the description of its columns."""
        return transform([self], relation)

    def fit_transform(self, relation: Relation) -> Relation:
        """Fits, and returns the transformed relation."""
        return self.fit(relation).transform(relation)

    def get_params(self) -> dict[str, Any]:
        """Returns the parameters of the constructor."""
        return {
            name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"
        }

    def __repr__(self) -> str:
        """The constructor's call."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    # ---- for pipelines

    def compile(self, query: str, types: Mapping[str, SqlType], tables: LearnedTables) -> str:
        """Returns the step's query over its input's, whose columns have `types`. 55000 before `fit`."""
        if not self.is_fitted_:
            name = type(self).__name__
            raise SqlError.of(
                "object_not_in_prerequisite_state", f"this {name} is not fitted yet", hint="Call fit first."
            )
        self._check(types)
        step = Step(Lookup(tables), types)
        self._build(step)
        return step.as_query(query)

    def _check(self, types: Mapping[str, SqlType]) -> None:
        for name in self._list_inputs():
            if name not in types:
                raise UndefinedColumn(f'column "{name}" does not exist')

    def _list_inputs(self) -> Iterable[str]:
        """The columns of the input that the transformer reads when it transforms."""
        return self.columns

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:  # noqa: B027 - most learn nothing
        """Fills `state_` (values of JSON) and `learned_`."""

    @abstractmethod
    def _build(self, step: Step) -> None:
        """Enters the outputs into a step."""


def describe(relation: Relation) -> dict[str, SqlType]:
    """Returns the types of a relation's columns by name; 42701 for two columns of one name."""
    names = relation.columns
    if len(set(names)) < len(names):
        twice = min(name for name in names if names.count(name) > 1)
        raise SqlError.of("duplicate_column", f'column "{twice}" specified more than once')
    return dict(zip(names, relation.types, strict=True))


def get_connection(relation: Relation) -> Connection:
    """Returns the connection of a relation."""
    return cast("Connection", relation.connection)


def transform(steps: Sequence[Transformer], relation: Relation) -> Relation:
    """Returns a relation transformed by fitted steps: one statement over the relation's query."""
    tables = get_temporary_tables(get_connection(relation))

    def find_types(query: str) -> dict[str, SqlType]:
        return describe(relation.derive(lambda *_: query))

    return relation.derive(lambda query, _: compile_steps(steps, query, find_types, tables))


def compile_steps(
    steps: Sequence[Transformer], query: str, find_types: Callable[[str], Mapping[str, SqlType]], tables: LearnedTables
) -> str:
    """Returns the query of the steps, one after the other; `find_types` returns the types of a query's columns."""
    for step in steps:
        query = step.compile(query, find_types(query), tables)
    return query
