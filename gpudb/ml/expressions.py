"""Columns that are computed from others: powers and products, and expressions that the user writes in SQL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement

from gpudb.catalog.parse_trees import walk_messages
from gpudb.errors import SqlError
from gpudb.ml.flow import Step
from gpudb.ml.scaling import as_number
from gpudb.ml.selectors import named, numeric
from gpudb.ml.transformer import Chosen, Transformer
from gpudb.sql.parse.parser import parse


class PolynomialFeatures(Transformer):
    """Adds powers and products of columns up to `degree`, as scikit-learn's: `A^2`, `A B`; double precision.

    With `interaction_only` no column is multiplied by itself. With `include_bias` a column `1` of ones is added. 54011
    for more than 1000 columns. NULL gives NULL.
    """

    suitable = numeric()
    _MOST = 1000

    def __init__(
        self, columns: Chosen = None, *, degree: int = 2, interaction_only: bool = False, include_bias: bool = True
    ) -> None:
        super().__init__(columns)
        if degree < 0:
            raise SqlError.of("invalid_parameter_value", "degree must not be negative")
        self.degree, self.interaction_only, self.include_bias = degree, interaction_only, include_bias

    def _build(self, step: Step) -> None:
        if self.include_bias:
            step.added["1"] = "1::float8"
        choose = combinations if self.interaction_only else combinations_with_replacement
        for factors in chain.from_iterable(choose(self.columns_, degree) for degree in range(2, self.degree + 1)):
            if len(step.added) >= self._MOST:
                raise SqlError.of("too_many_columns", f"PolynomialFeatures makes more than {self._MOST} columns")
            powers = Counter(factors)
            label = " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items())
            step.added[label] = " * ".join(as_number(name) for name in factors)


class SQLTransformer(Transformer):
    """Adds columns that SQL expressions compute from a row's: `SQLTransformer({"speed": "miles / nullif(hours, 0)"})`.

    An expression of a column's own name takes the column's place. Columns are named as in SQL, and no other table is
    seen; aggregates are refused (42803) since a row needs no other, window functions are not saved as a function.
    """

    def __init__(self, expressions: Mapping[str, str]) -> None:
        super().__init__(named())
        self.expressions = dict(expressions)

    @property
    def is_row_wise(self) -> bool:  # type: ignore[override]
        """Whether no expression has a window."""
        return not any(re.search(r"\bover\b", text, re.IGNORECASE) for text in self.expressions.values())

    def list_inputs(self) -> Iterable[str]:
        """The columns that the expressions read."""
        return _find_columns(self.expressions.values(), list(self.feature_names_in_)) if self.is_fitted_ else ()

    def _build(self, step: Step) -> None:
        step.unqualified = _find_columns(self.expressions.values(), list(step.types))
        for name, text in self.expressions.items():
            if name in step.types:
                step.replaced[name] = {name: f"({text})"}
            else:
                step.added[name] = f"({text})"


def _list_references(text: str) -> list[str]:
    """Returns the last parts of the names of columns in an expression; "" for a star."""
    (statement,) = parse(f"SELECT {text}")
    references = (each for each in walk_messages(statement.node) if each.DESCRIPTOR.name == "ColumnRef")
    return [each.fields[-1].string.sval for each in references]


def _find_columns(expressions: Iterable[str], known: Sequence[str]) -> list[str]:
    """Returns those of the known columns that expressions read: all of them, if one reads a row as a whole."""
    read: set[str] = set()
    for text in expressions:
        for name in _list_references(text):
            if name not in known:  # a row, a star, or a column of a subquery
                return list(known)
            read.add(name)
    return [name for name in known if name in read]
