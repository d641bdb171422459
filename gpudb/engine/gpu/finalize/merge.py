"""States of groups on the host as the final stage reads them; states of several workers are merged.

It uses NumPy and a dictionary of the keys. Frames take longer: they wake all their threads for a few rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
import pyarrow.compute as pc

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.exact_calls import from_series
from gpudb.engine.gpu.cache.strings import MAX_BYTES, StringCache
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn, to_frame
from gpudb.exact import words

MAX_NEW_TEXT_ROWS = 4096
"""Limit of rows of several workers whose keys are texts seen for the first time; above it frames group faster."""
MAX_MERGED_ROWS = 1 << 15
"""Limit of other rows."""
Array = np.ndarray[Any, Any]
MergeFunction = Literal["sum", "min", "max", "any"]
_BEYOND = 1 << 61


class NotMergeable(Exception):
    """Only frames can merge these states."""


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A column's values. Where they are not `valid` (None: all are) they are 0.

    Integers and datetimes are int64, or (low, high) words where one is wider; `texts` is the dictionary of codes.
    """

    values: Array
    valid: Array | None = None
    texts: Dictionary | None = None

    def to_list(self) -> list[Any]:
        """Returns the values as Python objects, None for NULL."""
        if self.texts is not None:
            return self.texts.decode(self.values, self.valid).to_list()
        found: list[Any] = words.to_integers(self.values) if words.is_wide(self.values) else self.values.tolist()
        if self.valid is None:
            return found
        return [value if ok else None for value, ok in zip(found, self.valid.tolist(), strict=True)]


class States(Protocol):
    """The columns of one worker's groups, by name."""

    @property
    def height(self) -> int:
        """The number of groups."""

    @property
    def frame(self) -> pl.DataFrame:
        """All columns as a frame."""

    def column(self, name: str) -> StateColumn:
        """Returns one column."""


class MergedGroups:
    """The states of groups, merged by their keys k0, k1, …; without `keys`, rows of all workers in sequence.

    No worker has a group twice. Raises NotMergeable for states of several workers that only frames can merge.
    """

    def __init__(self, given: Sequence[States], keys: int | None) -> None:
        self._states = [each for each in given if each.height] or given[:1]
        self.height = sum(each.height for each in self._states)
        self._order: Array | None = None
        self._columns: dict[str, StateColumn] = {}
        self._integers: Array | None = None
        self._places: dict[str, int] = {}
        if keys is None or not self.several:
            return
        if self.height > (MAX_MERGED_ROWS if self._has_cached_texts(keys) else MAX_NEW_TEXT_ROWS):
            raise NotMergeable
        self._concat_integers()
        columns = [self._column(f"k{number}") for number in range(keys)]
        if any(each.values.dtype.kind == "f" for each in columns):
            raise NotMergeable
        groups = _number_groups(columns, self.height)
        self._order = np.argsort(groups, kind="stable")
        ordered = groups[self._order]
        self._starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        self.height = len(self._starts)

    @property
    def several(self) -> bool:
        """Whether groups have states of several workers."""
        return len(self._states) > 1

    def _concat_integers(self) -> None:
        """Concatenates the integers of all workers, all columns at once, and those texts that have one dictionary."""
        given = [each for each in self._states if isinstance(each, KernelStates) and each.matrix is not None]
        if len(given) < len(self._states):
            return
        first, *others = given
        if any(each.places != first.places for each in others):
            return
        self._integers = np.concatenate([each.matrix for each in given], axis=1)
        self._places = {
            name: place
            for name, place in first.places.items()
            if all(each.texts(name) is first.texts(name) for each in others)
        }
        for name, place in self._places.items():
            self._columns[name] = StateColumn(self._integers[place], None, first.texts(name))

    @cached_property
    def _ordered(self) -> Array:
        """The integers of all workers, ordered by group."""
        assert self._integers is not None
        return self._integers[:, self._order]

    @cached_property
    def _firsts(self) -> Array:
        """The integers of each group's first state."""
        return self._ordered[:, self._starts]

    @cached_property
    def _sums(self) -> Array | None:
        """The sums of each group's integers; None if they may overflow."""
        most = max(-int(self._ordered.min()), int(self._ordered.max()))
        fits = most <= _BEYOND // self._ordered.shape[1]
        return np.add.reduceat(self._ordered, self._starts, axis=1) if fits else None

    def _has_cached_texts(self, keys: int) -> bool:
        """Returns whether all texts in keys belong to cached dictionaries."""
        return all(
            isinstance(each, KernelStates) and ((texts := each.texts(f"k{number}")) is None or texts.is_shared)
            for each in self._states
            for number in range(keys)
        )

    def _column(self, name: str) -> StateColumn:
        """Returns a column of all workers in sequence."""
        found = self._columns.get(name)
        if found is None:
            parts = [each.column(name) for each in self._states]
            found = self._columns[name] = parts[0] if len(parts) == 1 else _concat(parts)
        return found

    def key(self, name: str) -> StateColumn:
        """Returns a column that is equal in all states of a group."""
        found = self._column(name)
        if self._order is None:
            return found
        if name in self._places:
            return replace(found, values=self._firsts[self._places[name]])
        firsts = self._order[self._starts]
        return replace(found, values=found.values[firsts], valid=None if found.valid is None else found.valid[firsts])

    def values(self, name: str, how: MergeFunction) -> StateColumn:
        """Returns a column of numbers or datetimes, merged by `how`."""
        found = self._column(name)
        if self._order is None:
            return found
        if how == "sum" and name in self._places and self._sums is not None:
            return StateColumn(self._sums[self._places[name]])
        values, valid = found.values, found.valid
        if how == "any" or (how != "sum" and values.dtype.kind == "f"):
            raise NotMergeable
        values = values[self._order]
        if how == "sum":
            wide = words.is_wide(values)
            if not wide and values.dtype.kind == "i":
                wide = max(-int(values.min()), int(values.max())) > _BEYOND // len(values)
                values = words.widen(values) if wide else values
            if wide:
                return StateColumn(words.narrow(words.sum_groups(values, self._starts)))
            return StateColumn(np.add.reduceat(values, self._starts))
        if words.is_wide(values):
            raise NotMergeable
        if valid is None:
            return StateColumn(_UFUNCS[how].reduceat(values, self._starts))
        valid = valid[self._order]
        made = _UFUNCS[how].reduceat(np.where(valid, values, _neutral_value(values.dtype, how)), self._starts)
        valid = np.logical_or.reduceat(valid, self._starts)
        return StateColumn(np.where(valid, made, np.zeros(1, made.dtype)), valid)


def _concat(parts: Sequence[StateColumn]) -> StateColumn:
    """Concatenates columns of workers, whose dictionaries may differ."""
    valid = None
    if any(each.valid is not None for each in parts):
        every = (np.ones(len(each.values), bool) if each.valid is None else each.valid for each in parts)
        valid = np.concatenate(list(every))
    if parts[0].texts is None:
        values = [each.values for each in parts]
        if any(map(words.is_wide, values)):
            values = list(map(words.widen, values))
        return StateColumn(np.concatenate(values), valid)
    texts = tuple(each.texts for each in parts if each.texts is not None)
    if all(each is texts[0] for each in texts):
        return StateColumn(np.concatenate([each.values for each in parts]), valid, texts[0])
    size = sum(int(each.values.estimated_size()) for each in texts)
    merged, places = (
        _MERGED_DICTIONARIES.get(texts, size) if all(each.is_shared for each in texts) else None
    ) or _merge_dictionaries(texts)
    codes = [own[each.values] if len(own) else each.values for own, each in zip(places, parts, strict=True)]
    return StateColumn(np.concatenate(codes), valid, merged)


def _merge_dictionaries(texts: tuple[Dictionary, ...]) -> tuple[Dictionary, tuple[Array, ...]]:
    """Returns one dictionary of several's texts, and a map from each one's codes to its codes."""
    known: dict[str, int] = {}
    places = [[known.setdefault(text, len(known)) for text in each.values.to_list()] for each in texts]
    made = Dictionary(pl.Series(list(known), dtype=pl.String))
    return made, tuple(np.array(each, np.int64) for each in places)


_MERGED_DICTIONARIES: StringCache[tuple[Dictionary, ...], tuple[Dictionary, tuple[Array, ...]]] = StringCache(
    _merge_dictionaries, few=MAX_BYTES
)
"""Caches the merged dictionary of cached dictionaries (see `state_codec.decode_states`) with its sort order."""


def _number_groups(columns: Sequence[StateColumn], count: int) -> Array:
    """Returns a number for each row that is equal for equal keys."""
    made = np.zeros(count, np.int64)
    room = 1
    for each in columns:
        values = each.values
        if words.is_wide(values):
            values = words.rank(values)
        if (low := int(values.min())) < -_BEYOND or (high := int(values.max())) > _BEYOND:
            values, low, high = (places := np.unique(values, return_inverse=True)[1]), 0, int(places.max())
        size = high - low + 2
        if room * size > _BEYOND:
            made = np.unique(made, return_inverse=True)[1]
            room = int(made.max()) + 1
        if room * size > _BEYOND:
            values, low = np.unique(values, return_inverse=True)[1], 0
            size = int(values.max()) + 2
        digits = values.astype(np.int64) - low
        made = made * size + (digits if each.valid is None else np.where(each.valid, digits, size - 1))
        room *= size
    return made


def encode_texts(texts: Sequence[str | None]) -> StateColumn:
    """Returns texts as a dictionary-encoded column."""
    known: dict[str, int] = {}
    codes = np.array([0 if text is None else known.setdefault(text, len(known)) for text in texts], np.int64)
    valid = np.array([text is not None for text in texts], bool) if None in texts else None
    return StateColumn(codes, valid, Dictionary(pl.Series(list(known), dtype=pl.String)))


@dataclass(frozen=True, slots=True)
class FrameStates:
    """States in a frame."""

    frame: pl.DataFrame

    @property
    def height(self) -> int:
        """See `States`."""
        return self.frame.height

    def column(self, name: str) -> StateColumn:
        """See `States`."""
        series = self.frame[name]
        return encode_texts(series.to_list()) if series.dtype == pl.String else StateColumn(*to_numpy(series))


class KernelStates:
    """States as a kernel left them on the host, or as they were decoded (see `state_codec`).

    At least one of `lanes`.
    """

    def __init__(
        self,
        lanes: Sequence[ResultColumn],
        matrix: Array | None = None,
        places: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._lanes = {lane.name: lane for lane in lanes}
        self.height = lanes[0].rows
        self.matrix, self.places = matrix, places

    @property
    def frame(self) -> pl.DataFrame:
        """See `States`."""
        return to_frame(list(self._lanes.values()))

    @property
    def is_plain(self) -> bool:
        """Whether every value is one word, or a text of a cached dictionary."""
        return all(
            len(lane.parts) == 1
            and lane.parts[0].dtype != object
            and (lane.dictionary is None or lane.dictionary.is_shared)
            for lane in self._lanes.values()
        )

    def texts(self, name: str) -> Dictionary | None:
        """Returns a column's dictionary; None if it has none."""
        return self._lanes[name].dictionary

    def column(self, name: str) -> StateColumn:
        """See `States`."""
        lane = self._lanes[name]
        values, *more = lane.parts
        if more:
            values = words.narrow(words.from_parts(lane.parts))
        elif values.dtype == object:
            values = words.narrow(words.from_integers(values.tolist()))
        elif lane.kind == pl.Boolean:
            values = values.astype(bool)
        elif values.dtype.kind != "f":
            values = values.astype(np.int64, copy=False)
        valid = lane.valid
        if valid is not None and valid.all():
            valid = None
        if valid is not None:
            values = np.where(valid[:, None] if words.is_wide(values) else valid, values, values.dtype.type(0))
        return StateColumn(values, valid, lane.dictionary)


_UFUNCS = {"min": np.minimum, "max": np.maximum}


def _neutral_value(kind: Any, how: MergeFunction) -> Any:
    """Returns the value that loses against every other one."""
    if kind.kind == "b":
        return how == "min"
    return np.iinfo(kind).max if how == "min" else np.iinfo(kind).min


def to_numpy(series: pl.Series) -> tuple[Array, Array | None]:
    """Returns the values of a lane of integers, floats, booleans or datetimes, and their validity (None: no NULLs).

    NULLs are 0. Integers are int64, or (low, high) words where one is wider. Series methods that are expressions
    internally take longer than everything else here.
    """
    if series.dtype == pl.Int128:
        narrow = series.cast(pl.Int64, strict=False)
        if narrow.null_count() > series.null_count():
            known = series.is_not_null().to_numpy() if series.null_count() else None
            wide = from_series(series)
            return wide if known is None else np.where(known[:, None], wide, 0), known
        series = narrow
    elif series.dtype.is_temporal():
        series = series.cast(pl.Int64)
    if not series.null_count():
        return series.to_numpy(), None
    held = series.to_arrow()
    return pc.fill_null(held, held.type.to_pandas_dtype()(0)).to_numpy(zero_copy_only=False), pc.is_valid(
        held
    ).to_numpy(zero_copy_only=False)
