"""Batches of finished statements by text, role, SQLSTATE and database; columns are made once for all consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from gpudb.engine.protocol import Measures
from gpudb.observe.statement import SUCCESSFUL, FinishedTuple, RepeatedRuns

Key = tuple[str, str, str, int]
"""Text, role, SQLSTATE and OID of the database."""
Seconds = np.ndarray[tuple[int], np.dtype[np.float64]]
_get_key: Callable[[FinishedTuple], Key] = itemgetter(0, 1, 2, 3)
_get_measures: Callable[[FinishedTuple], Measures] = itemgetter(10)


class StatementGroup:
    """Statements of one key: the records, repeated ones, the seconds of each, totals, and what was measured of each.

    `seconds` and `measures` have those of the records first. `measures` is empty if nothing was measured of any of
    them, which is so for the most frequent ones.
    """

    __slots__ = ("bytes", "encode_seconds", "measures", "records", "repeated", "rows", "seconds")

    def __init__(self, records: list[FinishedTuple], repeated: list[RepeatedRuns]) -> None:
        self.records, self.repeated = records, repeated
        # Column by column: to exchange rows and columns as a whole takes twice the time.
        columns = [_make_columns(records, 6)] if records else []
        columns += [_make_columns(each.runs, 1) for each in repeated]
        self.seconds = np.concatenate([each[0] for each in columns])
        self.encode_seconds = sum(each[1] for each in columns)
        self.rows = sum(each[2] for each in columns)
        self.bytes = sum(each[3] for each in columns)
        self.measures: tuple[Measures, ...] = ()
        if any(map(_get_measures, records)):
            self.measures = (*map(_get_measures, records), *(Measures() for each in repeated for _ in each.runs))


def _make_columns(records: Sequence[Sequence[Any]], place: int) -> tuple[Seconds, float, int, int]:
    """Returns the seconds, whose place is given, and the totals of the three columns after them."""
    encode_seconds, rows, sizes = (sum(map(itemgetter(place + each), records)) for each in (1, 2, 3))
    seconds = np.fromiter(map(itemgetter(place), records), np.float64, len(records))
    return seconds, encode_seconds, rows, sizes


Batch = Mapping[Key, StatementGroup]


def make_batch(records: Iterable[FinishedTuple], repeated: Iterable[RepeatedRuns] = ()) -> Batch:
    """Groups records, and repeated statements; those of a group keep their order."""
    found: dict[Key, tuple[list[FinishedTuple], list[RepeatedRuns]]] = {}
    for key, group in groupby(records, _get_key):
        found.setdefault(key, ([], []))[0].extend(group)
    for each in repeated:
        found.setdefault((each.sql, each.role, SUCCESSFUL, each.database), ([], []))[1].append(each)
    return {key: StatementGroup(*both) for key, both in found.items()}
