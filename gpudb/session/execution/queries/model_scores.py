"""Models of trees as expressions that an engine computes: their calls need no session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudb.analytics.trees.compiling import FORMATS
from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.models import LANGUAGE, PROBABILITY, Model
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.lru import LruCache
from gpudb.session.context import Context
from gpudb.session.execution.routines.model_calls import ONE_HOT, POOL
from gpudb.session.execution.session_calls import is_session_call, locks_rows
from gpudb.sql.bound import Call, Case, Cast, Constant, Expr, Query, Test, TreeScore
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import replace_nodes, walk
from gpudb.storage.iceberg.chunked_content import read_content
from gpudb.types import BOOL, FLOAT8, INT4, TEXT, SqlType

_KEPT_BYTES = 256 << 20
"""Bytes of the ensembles that this process keeps."""
_ensembles: LruCache[str, tuple[TreeEnsemble | None, int]] = LruCache(
    1024, weigh=lambda held: held[1], limit=_KEPT_BYTES
)
_FEATURES = frozenset({FLOAT8, INT4, BOOL})
_SCORED: Artifact[tuple[tuple[str, ...], Query]] = Artifact()


def put_scores(context: Context, query: Query) -> Query | None:
    """Returns a query with scores by trees in the place of calls of models' functions.

    None if it has other calls that the session runs, if it locks rows, if a model is no ensemble of trees or one that
    is too large, and for an engine that computes no such scores.
    """
    if not context.session.database.engine.scores_trees:
        return None
    if locks_rows(query):
        return None
    models: dict[int, _Compiled] = {}
    for call in (node for node in walk(query) if is_session_call(node)):
        if type(call) is not Call or call.function.oid < FIRST_USER_OID:
            return None
        if call.function.oid not in models:
            made = _compile(context, call)
            if made is None:
                return None
            models[call.function.oid] = made
    keys = tuple(each.key for each in models.values())
    known = query.prepared.get(_SCORED)
    if known is None or known[0] != keys:
        scored = replace_nodes(query, lambda node: _replace_call(node, models))
        known = query.prepared.put(_SCORED, (keys, scored))
    return known[1]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A model's function that is an ensemble of trees; `key` names the version of its bytes."""

    key: str
    routine: Routine
    model: Model
    ensemble: TreeEnsemble


def _compile(context: Context, call: Call) -> _Compiled | None:
    catalog = context.transaction.catalog
    routine = catalog.find_routine_by_oid(call.function.oid)
    model = None if routine is None else routine.model
    if routine is None or model is None or routine.language != LANGUAGE or model.format not in FORMATS:
        return None
    if routine.strict or model.output not in {"value", "label", PROBABILITY}:
        return None
    content = catalog.find_relation_by_oid(model.content)
    if not isinstance(content, Table) or not content.files:
        return None
    ensemble = _find_ensemble(context, model.format, content)
    if ensemble is None or (model.output != "label" and ensemble.shape.classes > 1):
        return None
    return _Compiled(content.files[0].path, routine, model, ensemble)


def _find_ensemble(context: Context, format: str, content: Table) -> TreeEnsemble | None:
    """Returns the ensemble of a model's bytes, of which a child process makes it once."""
    key = content.files[0].path
    held = _ensembles.get(key)
    if held is None:
        made = POOL.call("compile_trees", (format, read_content(content)), context.cancel.check)
        held = made, sum(each.nbytes for each in made.tables) if made is not None else 0
        _ensembles.put(key, held)
    return held[0]


def _replace_call(node: Any, models: Mapping[int, _Compiled]) -> Expr | None:
    if type(node) is not Call or node.function.oid not in models:
        return None
    compiled = models[node.function.oid]
    args = [replace_nodes(each, lambda inner: _replace_call(inner, models)) for each in node.args]
    features = tuple(_list_features(compiled.model, args))
    if compiled.model.output != "label":
        return _cast(TreeScore(compiled.ensemble, features, FLOAT8), node.type)
    labels = compiled.model.labels or (("false", "true") if node.type == BOOL else ())
    item = node.type if labels else INT4
    return _cast(TreeScore(compiled.ensemble, features, item, labels), node.type)


def _cast(expr: Expr, item: SqlType) -> Expr:
    return expr if expr.type == item else Cast(expr, item)


def _list_features(model: Model, args: Sequence[Expr]) -> Iterator[Expr]:
    """Yields the numbers that a model's features are: of a text its category, or for each one whether it is that."""
    for feature, arg in zip(model.features, args, strict=True):
        if feature.categories is None:
            yield arg if arg.type in _FEATURES else Cast(arg, FLOAT8)
        elif model.kind in ONE_HOT:
            missing = Test(arg, "NULL"), Constant(None, INT4)
            for text in feature.categories:
                yield Case((missing, (_equals(arg, text), _number(1))), _number(0), INT4)
        else:
            branches = tuple((_equals(arg, text), _number(n)) for n, text in enumerate(feature.categories))
            yield Case(branches, Constant(None, INT4), INT4) if branches else Constant(None, INT4)


def _equals(arg: Expr, text: str) -> Call:
    from gpudb.plan.tree.functions import find_function  # only models with texts need it

    return Call(find_function("texteq", TEXT, TEXT), (_cast(arg, TEXT), Constant(text, TEXT)), BOOL)


def _number(value: int) -> Constant:
    return Constant(value, INT4)
