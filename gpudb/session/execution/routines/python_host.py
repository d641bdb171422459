"""What the session answers to bodies in PL/Python: statements, cursors, subtransactions and messages."""

from __future__ import annotations

from functools import singledispatchmethod
from itertools import count
from typing import Any

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.plpgsql.host import Bound, Outcome
from gpudb.plpython import questions
from gpudb.plpython.questions import Answer
from gpudb.session.execution.routines.procedural import SessionHost
from gpudb.sql.bind.base import Arguments
from gpudb.sql.bound import Constant
from gpudb.types import SqlType

_STATUS = {"SelectStmt": 5, "InsertStmt": 7, "DeleteStmt": 8, "UpdateStmt": 9, "MergeStmt": 18}
_RETURNING = {"InsertStmt": 11, "DeleteStmt": 12, "UpdateStmt": 13}
_UTILITY = 4


class PythonHost:
    """Answers the questions of one call."""

    def __init__(self, host: SessionHost, routine: Routine) -> None:
        self._host, self._routine = host, routine
        self._savepoints: list[object] = []

    @singledispatchmethod
    def answer(self, question: Any) -> Any:
        """Returns the answer to a question, of which each class has its method."""
        raise TypeError(type(question).__name__)

    @answer.register
    def _(self, question: questions.Say) -> None:
        sqlstate = question.sqlstate or ("01000" if question.severity == "WARNING" else "00000")
        self._host.notice(question.message, question.severity, sqlstate, question.detail, question.hint)

    @answer.register
    def _(self, question: questions.Prepare) -> tuple[SqlType, ...]:
        types = []
        for name in question.types:
            found = self._host.resolve_type(name)
            if found is None:
                raise FeatureNotSupported("parameters of the type record are not supported")
            types.append(found)
        self._bind(question.text, tuple((item, None) for item in types))
        return tuple(types)

    @answer.register
    def _(self, question: questions.Execute) -> Answer:
        before = self._host.savepoint()
        try:
            return self._execute(question)
        except GpudbError:
            self._host.rollback_to(before)
            raise

    def _execute(self, question: questions.Execute) -> Answer:
        *earlier, last = self._host.split(question.text) or [question.text]
        for each in earlier:
            self._run(each, question.values)[1].close()
        bound, outcome = self._run(last, question.values)
        if outcome.columns is None:
            outcome.close()
            return Answer(_STATUS.get(bound.kind, _UTILITY), outcome.count)
        rows = _collect(outcome, question.limit)
        status = _STATUS.get(bound.kind, _UTILITY)
        if bound.kind in _RETURNING:
            status = _RETURNING[bound.kind]
        return Answer(status, rows.num_rows, outcome.columns, rows)

    def _bind(self, text: str, values: questions.Values) -> tuple[Bound, Arguments]:
        arguments = Arguments("", (), tuple(Constant(value, item) for item, value in values))
        bound = self._host.bind(text, arguments, dynamic=True)
        return bound, arguments

    def _run(self, text: str, values: questions.Values) -> tuple[Bound, Outcome]:
        bound, arguments = self._bind(text, values)
        return bound, self._host.run(bound, (), lambda: arguments)

    # ---- cursors

    @answer.register
    def _(self, question: questions.Open) -> str:
        bound, _ = self._bind(question.text, question.values)
        if bound.query is None:
            raise FeatureNotSupported("cursors over statements other than plain queries are not supported")
        return self._host.open_cursor(None, bound, (), False)

    @answer.register
    def _(self, question: questions.Fetch) -> Answer:
        cursor = self._host.find_cursor(question.cursor)
        batches = cursor.fetch("forward", question.count) if question.count > 0 else []
        rows = _make_rows(cursor.columns, batches)
        return Answer(_STATUS["SelectStmt"], rows.num_rows, cursor.columns, rows)

    @answer.register
    def _(self, question: questions.Close) -> None:
        self._host.close_cursor(question.cursor)

    # ---- transactions

    @answer.register
    def _(self, question: questions.Subtransaction) -> None:
        if question.what == "begin":
            self._savepoints.append(self._host.savepoint())
            return
        savepoint = self._savepoints.pop()
        if question.what == "rollback":
            self._host.rollback_to(savepoint)

    @answer.register
    def _(self, question: questions.EndTransaction) -> None:
        self._host.end_transaction(commit=question.commit, chain=False)


def _collect(outcome: Outcome, limit: int) -> pa.Table:
    """Reads the rows of a statement, or the first ones."""
    assert outcome.columns is not None
    batches, left = [], limit
    try:
        for batch in outcome.batches:
            batches.append(batch if not limit else batch.slice(0, left))
            left -= batch.num_rows
            if limit and left <= 0:
                break
    finally:
        outcome.close()
    return _make_rows(outcome.columns, batches)


def _make_rows(columns: tuple[tuple[str, SqlType], ...], batches: list[pa.RecordBatch]) -> pa.Table:
    names = [f"k{number}" for number, _ in zip(count(1), columns, strict=False)]
    schema = pa.schema([pa.field(name, item.arrow) for name, (_, item) in zip(names, columns, strict=True)])
    return pa.Table.from_batches([each.rename_columns(names) for each in batches if columns], schema=schema)
