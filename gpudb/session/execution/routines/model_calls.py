"""Calls of models' functions: whole columns of arguments go to a scoring process, and a column comes back."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from gpudb.analytics.scoring import Scoring
from gpudb.catalog.models import Model
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.errors import InternalError, SqlError
from gpudb.processes.limits import count_processors
from gpudb.processes.pool import ProcessPool
from gpudb.session.context import Context
from gpudb.session.execution.routines.column_calls import ColumnCalls
from gpudb.storage.iceberg.chunked_content import read_content
from gpudb.types import BOOL, SqlType

_MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
POOL = ProcessPool("gpudb.analytics.served", memory_bytes=_MEMORY_BYTES)
"""The processes that score rows."""
TRAINING_POOL = ProcessPool("gpudb.analytics.served", memory_bytes=_MEMORY_BYTES, most=max(1, count_processors() // 2))
"""The processes that train and import models: trainings wait for each other, and no scoring for them."""
ONE_HOT = frozenset({"linear", "ridge", "logistic", "kmeans", "random_forest"})
COMPLETE = frozenset({"linear", "ridge", "logistic", "kmeans", "onnx", "safetensors", "torchscript"})
"""Kinds of models whose result is NULL where a feature is."""


class ModelLanguage(ColumnCalls):
    """The bodies that CREATE MODEL makes (see `languages.Language`)."""

    def check(self, context: Context, routine: Routine) -> None:
        """Does nothing: training has made the body."""

    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Scores rows in a child process, which 57014 ends."""
        model, result = routine.model, routine.result.arrow
        if not count:
            return pa.nulls(0, result)
        assert model is not None
        content = context.transaction.catalog.find_relation_by_oid(model.content)
        if not isinstance(content, Table) or not content.files:
            raise InternalError(f"model {model.name} has no content")
        table = content
        scoring = make_scoring(model, table.files[0].path)
        found = POOL.call("score", (scoring, list(arguments)), context.cancel.check, lambda _: read_content(table))
        if model.output == "label" and model.labels:
            return make_labels(model, routine.result).take(found)
        try:
            return found.cast(result)
        except pa.ArrowInvalid:
            raise SqlError.of("numeric_value_out_of_range", f"{routine.result} out of range") from None


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
