"""A pipeline: transformers in order, fitted, transformed and saved as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from gpudb.api.connection import Connection
from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml import stored
from gpudb.ml.transformer import Transformer, describe, transform


class Pipeline:
    """Transformers that are applied in order; each is a transformer, or a pair of a name and a transformer.

    A transformer is fitted on what those before it make of the rows. Columns that none names pass through.
    """

    def __init__(self, steps: Sequence[Transformer | tuple[str, Transformer]]) -> None:
        self.steps: list[tuple[str, Transformer]] = []
        for number, step in enumerate(steps, 1):
            named = step if isinstance(step, tuple) else (f"{type(step).__name__.lower()}-{number}", step)
            if not isinstance(named[1], Transformer):
                raise SqlError.of("invalid_parameter_value", f"{named[1]!r} is no transformer")
            self.steps.append(named)
        self.input_types_: dict[str, str] = {}

    @property
    def named_steps(self) -> dict[str, Transformer]:
        """The transformers by name."""
        return dict(self.steps)

    def __getitem__(self, name: str | int) -> Transformer:
        """Returns a transformer by name or position."""
        return self.steps[name][1] if isinstance(name, int) else self.named_steps[name]

    def fit(self, relation: Relation) -> Self:
        """Fits every transformer by queries over the relation, which run on the engine."""
        self.fit_transform(relation)
        return self

    def fit_transform(self, relation: Relation) -> Relation:
        """Fits, and returns the rows that it was fitted on, transformed.

        A `TargetEncoder` gives these rows values that are learned without them, so this is not `transform` of the same
        relation.
        """
        self.input_types_ = {name: str(type_) for name, type_ in describe(relation).items()}
        for _, step in self.steps:
            relation = step.fit_transform(relation)
        return relation

    def transform(self, relation: Relation) -> Relation:
        """Returns the transformed relation: one statement over the relation's query, which has not run."""
        return transform([step for _, step in self.steps], relation)

    def save(
        self,
        db: Connection,
        name: str,
        *,
        over: str | None = None,
        inputs: Sequence[str] | None = None,
        replace: bool = False,
    ) -> None:
        """Keeps the pipeline in the database, where every client can ask it.

        With `over`, the name of a table or view, `name` becomes a view of its rows, transformed. Without it `name`
        becomes a function: its arguments are the columns that the pipeline was fitted on, or `inputs` of them, its
        result is one row of features (`SELECT f.* FROM t, name(t.a, t.b) f`). Tables NAME_learned_1 … hold the learned
        values that are too many for a statement. `replace` first drops what `save` made under the name.

        All or nothing. Errors: 55000 before `fit`; 42P07, 42723 if the name is taken; 0A000 for a function whose
        transformers look at other rows.
        """
        stored.save(db, name, [*self.steps], self.input_types_, over=over, inputs=inputs, replace=replace)

    @classmethod
    def load(cls, db: Connection, name: str) -> Pipeline:
        """Returns a fitted pipeline that `save` kept. 42704 if there is none of that name."""
        steps, input_types = stored.load(db, name)
        pipeline = cls(steps)
        pipeline.input_types_ = input_types
        return pipeline

    @staticmethod
    def drop(db: Connection, name: str) -> None:
        """Drops a saved pipeline: its view or function, and its learned tables."""
        with db.transaction():
            stored.drop(db, name)

    def __repr__(self) -> str:
        """The constructor's call."""
        return f"Pipeline({[step for _, step in self.steps]!r})"
