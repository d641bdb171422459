"""A fused kernel's result buffers on a GPU, and their transfer to the host: groups' words, or rows' values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.folds import MAX_BLOCKS, cell_bytes, list_folds
from gpudb.engine.gpu.fused.cuda import compaction
from gpudb.engine.gpu.fused.ir.pipeline import GroupSink, RowSink
from gpudb.engine.gpu.fused.numpy_backend.executor import GroupedRows, Outcome
from gpudb.engine.gpu.fused.numpy_backend.row_block import MAX, MIN
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.errors import InternalError

Array = np.ndarray[Any, Any]

_COPIED_WORDS = 1 << 14
"""Maximum words of groups that are copied to the host whole; of larger arrays only existing groups are."""
_STATE_WORDS = 3
"""64-bit words before them: the error code and the overflow flag, then the number of compacted groups."""


def group_bytes(sink: GroupSink, capacity: int) -> int:
    """Returns the bytes of groups on the device; `capacity` is the number of slots of a hash table."""
    slots = 1 if sink.storage == "one" else sink.slots if sink.storage == "dense" else capacity
    keys = len(sink.key_words) if sink.storage == "hash" else 0
    return 8 * (
        _STATE_WORDS + slots * (len(sink.accumulators) + keys) + compaction.MAX_GROUPS * compaction.row_words(sink)
    )


class ResultBuffers:
    """A pipeline's output on the device: a state word for errors, groups' words or rows' values."""

    def __init__(self, xp: Any, sink: GroupSink | RowSink, capacity: int) -> None:
        self._xp = xp
        self._sink = sink
        self._capacity = capacity
        self.required_capacity: int | None = None
        """Number of output rows where they exceeded the capacity."""
        self._cells: dict[int, Any] = {}
        self._ticket = xp.zeros(1, np.uint32)
        slots = 0
        if isinstance(sink, GroupSink):
            slots = 1 if sink.storage == "one" else sink.slots if sink.storage == "dense" else capacity
            self.keys = xp.empty((len(sink.key_words), capacity), np.int64) if sink.storage == "hash" else None
            self._shape = len(sink.accumulators), slots
        else:
            self.cursor = xp.zeros(1, np.uint64)
            self.out = [xp.zeros(capacity * _words_per_value(each), _output_dtype(each)) for each in sink.values]
            self.there = [xp.zeros(capacity, np.uint8) for _ in sink.values]
            self._shape = 0, 0
        size = self._shape[0] * slots
        self._compacted = isinstance(sink, GroupSink) and (self.keys is not None or _STATE_WORDS + size > _COPIED_WORDS)
        # In one allocation, so that one copy transfers all that the host needs: words of groups, or compacted rows.
        room = (
            compaction.MAX_GROUPS * compaction.row_words(sink)
            if isinstance(sink, GroupSink) and self._compacted
            else size
        )
        self._buffer = xp.empty(_STATE_WORDS + room, np.int64)
        self.state = self._buffer[:_STATE_WORDS].view(np.uint32)
        self.words = (
            xp.empty(self._shape, np.int64) if self._compacted else self._buffer[_STATE_WORDS:].reshape(self._shape)
        )
        self.clear()

    @property
    def slots(self) -> int:
        """Capacity for groups."""
        return self._shape[1]

    @property
    def bytes(self) -> int:
        """Bytes of groups on the device."""
        return int(self._buffer.nbytes + (self.words.nbytes if self._compacted else 0)) + (
            int(self.keys.nbytes) if self.keys is not None else 0
        )

    @property
    def transfer_words(self) -> int:
        """Number of 64-bit words in the first transfer to the host."""
        return min(len(self._buffer), _STATE_WORDS + _COPIED_WORDS)

    def clear(self) -> None:
        """Resets the buffers."""
        if self._compacted:
            self._buffer[:_STATE_WORDS].fill(0)
            self.words.fill(0)
        else:
            self._buffer.fill(0)
        if isinstance(self._sink, RowSink):
            self.cursor.fill(0)
            return
        for number, each in enumerate(self._sink.accumulators):
            if each.op in {"min", "max"}:
                self.words[number].fill(MAX if each.op == "min" else MIN)
        if self.keys is not None:
            self.keys.fill(-1)

    def argument(self, key: tuple[str, ...]) -> Any:
        """Returns the argument for one of a kernel's parameters."""
        match key:
            case ("state",):
                return self.state
            case ("fold cells", number):
                return self._fold_cells(int(number))
            case ("fold ticket",):
                return self._ticket
            case ("words",):
                return self.words
            case ("keys",):
                return self.keys
            case ("mask of groups",):
                return np.int64(self._capacity - 1)
            case ("cursor",):
                return self.cursor
            case ("room",):
                return np.int64(self._capacity)
            case ("out", number):
                return self.out[int(number)]
            case ("there", number):
                return self.there[int(number)]
        raise InternalError(f"a kernel's parameter {key}")

    def _fold_cells(self, number: int) -> Any:
        """Returns room for the cells of all blocks of a fold."""
        assert isinstance(self._sink, GroupSink)
        if number not in self._cells:
            fold = dict(list_folds(self._sink))[number]
            self._cells[number] = self._xp.empty(MAX_BLOCKS * self.slots * cell_bytes(fold), np.uint8)
        return self._cells[number]

    def compaction_arguments(self) -> tuple[Any, ...]:
        """Returns the arguments of the compaction kernel."""
        keys, (accumulators, slots) = self.keys, self._shape
        first, many = (np.int64(0), 1) if keys is None else (keys, len(keys))
        cursor, rows = self._buffer[_STATE_WORDS - 1 : _STATE_WORDS], self._buffer[_STATE_WORDS:]
        sizes = np.int32(accumulators), np.int64(slots)
        return first, np.int32(many), self.words, *sizes, cursor, np.int64(compaction.MAX_GROUPS), rows

    def fetch(
        self, compact: Callable[[ResultBuffers], None] | None = None, *, keep: bool = False, into: Array | None = None
    ) -> Outcome | None:
        """Returns the outcome on the host; None where the capacity was too small.

        With `keep` a large outcome stays on the device. `compact` compacts groups of many slots. The first transfer
        goes `into` an array of `transfer_words` words, if given.
        """
        gathers = self._compacted and compact is not None
        if gathers and compact is not None:
            compact(self)
        first = self._buffer[: _STATE_WORDS if self._compacted and not gathers else _STATE_WORDS + _COPIED_WORDS]
        small = first.get() if into is None else first.get(out=into[: len(first)])
        code, full, *_ = small[:_STATE_WORDS].view(np.uint32).tolist()
        if isinstance(self._sink, RowSink):
            count = int(self.cursor.get()[0])
            if count > self._capacity:
                self.required_capacity = count
                return None
            return Outcome(rows=self._values(count, keep and count > HOST_ROWS), code=code)
        if full:
            return None
        count, words_on_host = int(small[_STATE_WORDS - 1]), small[_STATE_WORDS:]
        if gathers and count <= compaction.MAX_GROUPS:
            wide = compaction.row_words(self._sink)
            if count * wide > len(words_on_host):
                words_on_host = self._buffer[_STATE_WORDS : _STATE_WORDS + count * wide].get()
            return Outcome(
                grouped=compaction.rows_to_groups(self._sink, words_on_host[: count * wide].reshape(count, wide)),
                code=code,
            )
        words = None if self._compacted else words_on_host.reshape(self._shape)
        return Outcome(grouped=self._groups(self._sink, words, keep), code=code)

    def _values(self, count: int, keep: bool) -> list[tuple[Any, Any]]:
        assert isinstance(self._sink, RowSink)
        found: list[tuple[Any, Any]] = []
        for each, out, valid in zip(self._sink.values, self.out, self.there, strict=True):
            if keep and _words_per_value(each) == 1:
                # A copy frees the rest of the buffer.
                held = out[:count].astype(np.int64 if out.dtype.kind == "i" else out.dtype)
                found.append((held, valid[:count].astype(bool) if each.nullable else None))
                continue
            made = out[: count * _words_per_value(each)].get()
            if _words_per_value(each) == 2:
                low, high = made[0::2].astype(np.uint64).astype(object), made[1::2].astype(object)
                made = (high << 64) | low
            elif made.dtype.kind == "i":
                made = made.astype(np.int64)
            found.append((made, valid[:count].get().astype(bool) if each.nullable else None))
        return found

    def _groups(self, sink: GroupSink, held: Any | None, keep: bool) -> GroupedRows:
        """Returns the groups in order; `held` are their words on the host, where they are few.

        With `keep` many groups stay on the device, in any order.
        """
        xp = self._xp
        if keep and held is None:
            slots = xp.flatnonzero(self.words[0] if self.keys is None else self.keys[0] != -1)
            if len(slots) > HOST_ROWS:
                groups = slots[None] if self.keys is None else self.keys[:, slots]
                return self._from_words(sink, groups, self.words[:, slots])
        if self.keys is not None:
            slots = xp.flatnonzero(self.keys[0] != -1)
            found = self.keys[:, slots]
            order = xp.argsort(found[0]) if len(found) == 1 else xp.lexsort(xp.ascontiguousarray(found[::-1]))
            groups, words = found[:, order].get(), self.words[:, slots[order]].get()
        elif held is not None:
            groups = (np.flatnonzero(held[0]) if sink.storage == "dense" else np.zeros(1, np.int64))[None]
            words = held[:, groups[0]]
        else:
            slots = xp.flatnonzero(self.words[0])
            groups, words = slots.get()[None], self.words[:, slots].get()
        return self._from_words(sink, groups, words)

    @staticmethod
    def _from_words(sink: GroupSink, groups: Any, words: Any) -> GroupedRows:
        return GroupedRows(
            groups.astype(np.int64, copy=False),
            tuple(
                made.view(np.float64) if each.op == "fadd" else made
                for each, made in zip(sink.accumulators, words, strict=True)
            ),
        )


def _words_per_value(expr: Any) -> int:
    return 2 if expr.bounds is not None and max(-expr.bounds[0] - 1, expr.bounds[1]) >= 2**63 else 1


def _output_dtype(expr: Any) -> Any:
    if expr.bounds is None:
        return np.float64
    return np.int32 if max(-expr.bounds[0] - 1, expr.bounds[1]) < 2**31 else np.int64
