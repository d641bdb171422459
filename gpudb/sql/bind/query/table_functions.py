"""Functions in FROM over the rows of a query that their first argument names: gpu_kmeans('SELECT …', 5) and others.

One function here for each shape of arguments and result: it chooses the columns that are read, and names those of the
result. What is computed is in `gpudb.analytics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.routines import has_routines
from gpudb.sql.bind.query.sources import Source, build_source
from gpudb.sql.bind.query.table_arguments import Arguments, bind_arguments
from gpudb.sql.bind.query.table_inputs import Input, bind_text, make_columns
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Select, TableFunction
from gpudb.sql.parse.parser import inner, strings
from gpudb.sql.traverse import reads_columns
from gpudb.types import FLOAT8, INT4, INT8, TEXT

_SYSTEM = ((), ("pg_catalog",))
Shape = tuple[list[Input], list[OutputColumn]]
"""The queries of a call, and the columns of its result."""


def is_table_function(binder: Binder, names: Sequence[str]) -> bool:
    """Whether a function's name denotes one of these functions."""
    return names[-1] in _SHAPES and tuple(names[:-1]) in _SYSTEM and not has_routines(binder, names)


def bind_table_function(binder: Binder, scope: Scope, call: Any, columns: Sequence[Any], node: Any) -> Source | None:
    """Binds a call of one of these functions in FROM; `columns` is its column definition list.

    None for one of the same name over a value: gpu_kmeans(matrix, 5).

    One whose arguments read columns runs for each row of the relations to its left.
    """
    name = strings(call.funcname)[-1]
    arguments = bind_arguments(binder, scope, call)
    if not arguments.function.returns_set:
        return None
    if node.ordinality:
        raise FeatureNotSupported(f"WITH ORDINALITY of {name} is not supported")
    if columns:
        message = f"a column definition list is redundant for {name}, whose columns follow from its query"
        raise binder.locate(SqlError.of("syntax_error", message), inner(columns[0]).location)
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
    if not any(map(reads_columns, result.args)):
        return build_source(binder, result.rel, result, outputs, name, alias)
    rel = binder.new_rel()
    targets = tuple(Column(result.rel, place, each.type, each.name) for place, each in enumerate(outputs))
    once = Derived(rel, Select(tuple(outputs), targets, result), lateral=True)
    return build_source(binder, rel, once, outputs, name, alias)


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
        return [found], [*first, *make_columns(found.features, FLOAT8)]

    return bind


def _bind_metrics(arguments: Arguments) -> Shape:
    """gpu_kmeans_metrics: one row about all clusters."""
    names = {"clusters": INT4, "rows": INT8, "iterations": INT4, "inertia": FLOAT8, "silhouette": FLOAT8}
    return [_read(arguments, keep=False)], [OutputColumn(name, item) for name, item in names.items()]


def _bind_pca(arguments: Arguments) -> Shape:
    """gpu_pca: a column for each component after those of the query."""
    found = _read(arguments, keep=True)
    count = arguments.integer("components")
    if not 1 <= count <= len(found.features):
        message = f"components must be between 1 and the number of features, which is {len(found.features)}"
        raise arguments.locate(SqlError.of("invalid_parameter_value", message))
    return [found], [*found.kept, *make_columns([f"pc{n}" for n in range(1, count + 1)], FLOAT8)]


def _bind_regression(*result: OutputColumn, classes: bool = False) -> Callable[[Arguments], Shape]:
    """A regression of a target, or of classes, on features: rows of their names with coefficients."""

    def bind(arguments: Arguments) -> Shape:
        text = bind_text(arguments)
        used = [text.find(arguments.required("target"))]
        others = [text.read_text(used[0]) if classes else text.read_float(used[0])]
        if arguments.has("weights") and (weights := arguments.text("weights")) is not None:
            used.append(text.find(weights))
            others.append(text.read_float(used[1]))
        return [text.make_input((), text.choose(arguments.names("columns"), used), others)], list(result)

    return bind


def _bind_neighbors(arguments: Arguments) -> Shape:
    """gpu_nearest_neighbors: the identities of points and of their neighbours, which both queries have."""
    texts = [bind_text(arguments), bind_text(arguments, "points")]
    name = arguments.text("id")
    places = [0 if name is None else text.find(name) for text in texts]
    features = texts[0].choose(arguments.names("columns"), places[:1])
    names = [texts[0].columns[place].name for place in features]
    inputs = [
        texts[0].make_input(places[:1], features),
        texts[1].make_input(places[1:], texts[1].choose(names)),
    ]
    point, neighbor = (inputs[place].kept[0].type for place in (1, 0))
    added = [OutputColumn("rank", INT4), OutputColumn("distance", FLOAT8)]
    return inputs, [OutputColumn("point", point), OutputColumn("neighbor", neighbor), *added]


_CLUSTER = OutputColumn("cluster", INT4)
_NAME, _COEFFICIENT = OutputColumn("name", TEXT), OutputColumn("coefficient", FLOAT8)
_SHAPES: dict[str, Callable[[Arguments], Shape]] = {
    "gpu_kmeans": _label_rows(_CLUSTER, OutputColumn("distance", FLOAT8)),
    "gpu_kmeans_centers": _summarise_features(_CLUSTER, OutputColumn("size", INT8)),
    "gpu_kmeans_metrics": _bind_metrics,
    "gpu_dbscan": _label_rows(_CLUSTER),
    "gpu_pca": _bind_pca,
    "gpu_pca_components": _summarise_features(
        OutputColumn("component", INT4), OutputColumn("variance", FLOAT8), OutputColumn("ratio", FLOAT8)
    ),
    "gpu_linear_regression": _bind_regression(_NAME, _COEFFICIENT, *make_columns(["std_error", "t", "p"], FLOAT8)),
    "gpu_ridge": _bind_regression(_NAME, _COEFFICIENT),
    "gpu_logistic_regression": _bind_regression(OutputColumn("class", TEXT), _NAME, _COEFFICIENT, classes=True),
    "gpu_nearest_neighbors": _bind_neighbors,
}
