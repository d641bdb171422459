"""Frames of Python as relations of a database in this process, and relations as frames again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.api import connect
from gpudb.api.connection import Connection
from gpudb.api.frames import is_frame, to_arrow_table
from gpudb.api.relation import Relation
from gpudb.errors import FeatureNotSupported, SqlError

ROW, TARGET = "gpudb row", "gpudb target"
"""Columns beside a frame's own: the number of the row, from 0, and the target."""
HIDDEN = (ROW, TARGET)
OUTPUTS = ("default", "pandas", "polars", "arrow")
"""What `set_output` chooses from; the default is a frame of the input's kind."""
_threads = threading.local()
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that an estimator is given.

    `target` names the column to predict, `key` a column of unique values; None where there is none. `finish` makes a
    relation of these rows into what the caller gets, given one of `OUTPUTS`.
    """

    relation: Relation
    target: str | None
    key: str | None
    finish: Callable[[Relation, str], Any]
    has_names: bool = True
    """Whether the columns' names are the user's: those of an array are `x0`, `x1` …."""


@contextmanager
def open_rows(X: object, y: object = None) -> Iterator[Rows]:
    """Opens a relation, or a frame of pandas, Polars, Arrow or NumPy (two dimensions), whose rows are read until then.

    `y` is the name of a relation's column, or a frame's target, one value a row. 22023 for a target of another length,
    0A000 for what is no frame.
    """
    if isinstance(X, Relation):
        if y is not None and not isinstance(y, str):
            hint = "Name the column of the relation that has it."
            raise SqlError.of("invalid_parameter_value", "the target of a relation is one of its columns", hint=hint)
        yield Rows(X, y, None, lambda relation, output: relation)
        return
    table, finish = _read_frame(X)
    table = table.append_column(ROW, pa.array(np.arange(len(table))))
    if y is not None:
        target = pa.array(np.asarray(y).ravel(), from_pandas=True)
        if len(target) != len(table):
            raise SqlError.of("invalid_parameter_value", f"{len(target)} targets for {len(table)} rows")
        table = table.append_column(TARGET, target)
    connection, name = _connect(), f"given_{next(_numbers)}"
    try:
        has_names = not isinstance(X, np.ndarray)
        yield Rows(connection.register(name, table), None if y is None else TARGET, ROW, finish, has_names)
    finally:
        connection.unregister(name)


def _connect() -> Connection:
    """Returns this thread's connection to a database in memory."""
    if getattr(_threads, "process", None) != os.getpid():
        _threads.connection, _threads.process = connect(), os.getpid()
    connection: Connection = _threads.connection
    return connection


def _read_frame(X: Any) -> tuple[pa.Table, Callable[[Relation, str], Any]]:
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise SqlError.of("invalid_parameter_value", f"an array of 2 dimensions is needed, not of {X.ndim}")
        columns = {f"x{number}": pa.array(column, from_pandas=True) for number, column in enumerate(X.T)}
        return pa.table(columns), partial(_finish, kind="numpy", index=None)
    if not is_frame(X):
        message = f"{type(X).__name__} is neither a relation nor a frame"
        hint = "Give a relation, a frame of pandas or Polars, an Arrow table or an array of NumPy."
        raise FeatureNotSupported(message, hint=hint)
    kind = type(X).__module__.partition(".")[0]
    index = X.index if kind == "pandas" else None
    return to_arrow_table(X), partial(_finish, kind=kind if kind in OUTPUTS else "arrow", index=index)


def _finish(relation: Relation, output: str, *, kind: str, index: Any) -> Any:
    """Returns the rows as a frame, in the order of those given and without the columns beside them."""
    table = relation.arrow()
    rows = table.column(ROW).to_numpy()
    if not (rows[1:] > rows[:-1]).all():
        table = table.take(pa.array(np.argsort(rows)))
    table = table.drop_columns([name for name in table.column_names if name in HIDDEN])
    match kind if output == "default" else output:
        case "numpy":
            columns = [column.to_numpy() for column in table.columns]
            return np.column_stack(columns) if columns else np.empty((len(rows), 0))
        case "pandas":
            frame = table.to_pandas()
            if index is not None:
                frame.index = index
            return frame
        case "polars":
            import polars as pl

            return pl.from_arrow(table)
    return table
