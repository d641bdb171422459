"""Calls of models' functions: whole columns of arguments go to a scoring process, and a column comes back."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from gpudb.analytics.scoring import Scoring
from gpudb.catalog.models import Model
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.errors import InternalError, UndefinedFunction
from gpudb.functions.registry import Function
from gpudb.processes.pool import ProcessPool
from gpudb.session.context import Context
from gpudb.storage.iceberg.chunked_content import read_content
from gpudb.types import BOOL, SqlType

_MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
POOL = ProcessPool("gpudb.analytics.served", memory_bytes=_MEMORY_BYTES)
"""The processes that train models and score rows."""
ONE_HOT = frozenset({"linear", "ridge", "logistic", "kmeans", "random_forest"})
COMPLETE = frozenset({"linear", "ridge", "logistic", "kmeans", "onnx", "safetensors"})
"""Kinds of models whose result is NULL where a feature is."""


def call_columns(context: Context, function: Function, columns: Sequence[pa.Array]) -> pa.Array:
    """Returns a model's results for columns of arguments, each of the type that the function declares.

    57014 ends the process that scores.
    """
    routine = context.transaction.catalog.find_routine_by_oid(function.oid)
    if routine is None or routine.model is None:
        raise UndefinedFunction(f"function {function} does not exist")
    return score_columns(context, routine, routine.model, columns)


def score_columns(context: Context, routine: Routine, model: Model, columns: Sequence[pa.Array]) -> pa.Array:
    """Returns the results of a model's function for columns of arguments."""
    result = routine.result.arrow
    if not len(columns[0]):
        return pa.nulls(0, result)
    content = context.transaction.catalog.find_relation_by_oid(model.content)
    if not isinstance(content, Table) or not content.files:
        raise InternalError(f"model {model.name} has no content")
    table = content
    scoring = make_scoring(model, table.files[0].path)
    given = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns]
    found = POOL.call("score", (scoring, given), context.cancel.check, lambda _: read_content(table))
    if model.output == "label" and model.labels:
        return make_labels(model, routine.result).take(found)
    return found.cast(result)


def make_scoring(model: Model, key: str) -> Scoring:
    """Returns how a process scores rows by a model, whose bytes it knows by a key."""
    return Scoring(
        key,
        model.format,
        model.output,
        tuple(each.categories for each in model.features),
        model.kind in ONE_HOT,
        model.kind in COMPLETE,
        dict(model.parameters).get("output", ""),
    )


def make_labels(model: Model, item: SqlType) -> pa.Array:
    """Returns a model's labels as values of a type."""
    if item == BOOL:
        return pa.array([text == "true" for text in model.labels])
    return pa.array(model.labels, pa.string()).cast(item.arrow)
