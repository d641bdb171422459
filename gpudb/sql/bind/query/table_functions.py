"""Functions in FROM over the rows of a query that their first argument names: gpu_kmeans('SELECT …', 5) and others.

One function here for each shape of arguments and result: it chooses the columns that are read, and names those of the
result. What is computed is in `gpudb.analytics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.routines import find_routines
from gpudb.sql.bind.query.sources import Source, build_source
from gpudb.sql.bind.query.table_arguments import Arguments, bind_arguments
from gpudb.sql.bind.query.table_inputs import Input, bind_text, name_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Expr, OutputColumn, TableFunction
from gpudb.sql.parse.parser import inner, strings
from gpudb.types import FLOAT8, INT4, INT8

_SYSTEM = ((), ("pg_catalog",))
Shape = tuple[list[Input], list[OutputColumn]]
"""The queries of a call, and the columns of its result."""


def is_table_function(binder: Binder, names: Sequence[str]) -> bool:
    """Whether a function's name denotes one of these functions."""
    return names[-1] in _SHAPES and tuple(names[:-1]) in _SYSTEM and not find_routines(binder, names)


def bind_table_function(binder: Binder, scope: Scope, call: Any, columns: Sequence[Any], node: Any) -> Source:
    """Binds a call of one of these functions in FROM; `columns` is its column definition list."""
    name = strings(call.funcname)[-1]
    if node.ordinality:
        raise FeatureNotSupported(f"WITH ORDINALITY of {name} is not supported")
    if columns:
        message = f"a column definition list is redundant for {name}, whose columns follow from its query"
        raise binder.locate(SqlError.of("syntax_error", message), inner(columns[0]).location)
    arguments = bind_arguments(binder, scope, call)
    inputs, outputs = _SHAPES[name](arguments)
    result = TableFunction(
        binder.new_rel(),
        arguments.function,
        tuple(each.query for each in inputs),
        tuple(len(each.kept) for each in inputs),
        inputs[0].features,
        arguments.options,
        tuple(arguments.values[each] for each in arguments.options),
        tuple(outputs),
    )
    alias = node.alias if node.HasField("alias") else None
    return build_source(binder, result.rel, result, outputs, name, alias)


def _read(arguments: Arguments, *, keep: bool) -> Input:
    """Returns the query of a call with all of its columns or none, and with its features and weights."""
    text = bind_text(arguments)
    others: list[Expr] = []
    used: list[int] = []
    if arguments.has("weights") and (weights := arguments.text("weights")) is not None:
        used.append(text.find(weights))
        others.append(text.read_float(used[0]))
    kept = range(len(text.columns)) if keep else ()
    return text.make_input(kept, text.choose(arguments.names("columns"), used), others)


def _label_rows(*added: OutputColumn) -> Callable[[Arguments], Shape]:
    """A function that adds columns to its query's rows."""

    def bind(arguments: Arguments) -> Shape:
        found = _read(arguments, keep=True)
        return [found], [*found.kept, *added]

    return bind


def _summarise_features(*first: OutputColumn) -> Callable[[Arguments], Shape]:
    """A function of rows of its own, which have a column for each feature after others."""

    def bind(arguments: Arguments) -> Shape:
        found = _read(arguments, keep=False)
        return [found], [*first, *name_columns(found.features, FLOAT8)]

    return bind


_CLUSTER = OutputColumn("cluster", INT4)
_SHAPES: dict[str, Callable[[Arguments], Shape]] = {
    "gpu_kmeans": _label_rows(_CLUSTER, OutputColumn("distance", FLOAT8)),
    "gpu_kmeans_centers": _summarise_features(_CLUSTER, OutputColumn("size", INT8)),
}
