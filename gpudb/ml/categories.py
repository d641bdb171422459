"""Categories as integers, by frequency: NVTabular's Categorify."""

from __future__ import annotations

from collections.abc import Mapping

from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Step
from gpudb.ml.hashing import hash_column, to_bucket
from gpudb.ml.learned import Learned, learn
from gpudb.ml.literals import refer
from gpudb.ml.selectors import boolean, text
from gpudb.ml.transformer import Chosen, Transformer
from gpudb.types import SqlType

NULL_ID = 1
UNKNOWN_ID = 2


class Categorify(Transformer):
    """Numbers the values of columns from the most frequent on, as NVTabular's does. Results are bigint.

    | id | values |
    |---|---|
    | 0 | none: it is left for padding |
    | 1 | NULL |
    | 2 … 1 + `num_buckets` | values that fit has not seen, or fewer than `freq_threshold` times, or beyond `max_size` |
    | from there on | the others, by descending frequency, those of equal frequency by ascending value |

    Without `num_buckets` there is one id for the second kind; with it they are spread by a hash. `max_size`, if not 0,
    is the greatest number of ids.
    NaN is a value as any other. The inverse of the ids 1 and 2 is NULL.
    """

    suitable = text() | boolean()

    def __init__(
        self, columns: Chosen = None, *, freq_threshold: int = 0, max_size: int = 0, num_buckets: int | None = None
    ) -> None:
        super().__init__(columns)
        if num_buckets is not None and num_buckets < 1:
            raise SqlError.of("invalid_parameter_value", "num_buckets must be at least 1")
        self.freq_threshold, self.max_size, self.num_buckets = freq_threshold, max_size, num_buckets

    @property
    def _first(self) -> int:
        return UNKNOWN_ID + (self.num_buckets or 1)

    @property
    def cardinalities_(self) -> dict[str, int]:
        """The number of ids of each column: rows of an embedding table."""
        return {name: self._first + len(self.learned_[name]) for name in self.columns_}

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        most = f"LIMIT {max(self.max_size - self._first, 0)}" if self.max_size else ""
        having = f"HAVING count(*) >= {int(self.freq_threshold)}" if self.freq_threshold else ""
        for name in self.columns_:
            value = refer(name)
            order = f"count(*) DESC, {value}"

            def build(query: str, _: object, value: str = value, order: str = order) -> str:
                return (
                    f"SELECT {value} AS key, {self._first - 1} + row_number() OVER (ORDER BY {order}) AS id\n"
                    f"FROM (\n{query}\n) AS i WHERE {value} IS NOT NULL GROUP BY {value} {having}\n"
                    f"ORDER BY {order} {most}"
                )

            self.learned_[name] = learn(relation.derive(build), keys=1)

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            unknown = f"{UNKNOWN_ID}::bigint"
            if self.num_buckets is not None and self.num_buckets > 1:
                unknown = f"({UNKNOWN_ID} + {to_bucket(hash_column(name, step.types[name]), self.num_buckets)})"
            found = step.lookup.find(self.learned_[name], [refer(name)], {"id": unknown})["id"]
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {NULL_ID} ELSE {found} END"}

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            invert(step, name, self.learned_[name])


class OrdinalEncoder(Transformer):
    """Numbers the values of columns from 0 on in ascending order, as scikit-learn's. Results are bigint.

    NULL gives NULL, and so does a value that fit has not seen (scikit-learn's handle_unknown use_encoded_value).
    """

    suitable = text() | boolean()

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        for name in self.columns_:
            value = refer(name)

            def build(query: str, _: object, value: str = value) -> str:
                return (
                    f"SELECT {value} AS key, row_number() OVER (ORDER BY {value}) - 1 AS id\n"
                    f"FROM (\n{query}\n) AS i WHERE {value} IS NOT NULL GROUP BY {value}"
                )

            self.learned_[name] = learn(relation.derive(build), keys=1)

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            found = step.lookup.find(self.learned_[name], [refer(name)], {"id": "NULL::bigint"})
            step.replaced[name] = {name: found["id"]}

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            invert(step, name, self.learned_[name])


def invert(step: Step, name: str, learned: Learned) -> None:
    """Enters the key of a learned value for the value, which is unique; NULL for other values."""
    inverse = learned.swap()
    found = step.lookup.find(inverse, [refer(name)], {inverse.names[1]: f"NULL::{inverse.types[1]}"})
    step.replaced[name] = {name: found[inverse.names[1]]}
