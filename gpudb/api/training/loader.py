"""Loader: batches of a relation's rows for training, shuffled over all rows, divided among ranks, resumable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpudb.api.training.permutation import Permutation
from gpudb.api.training.resident import ResidentRows
from gpudb.errors import SqlError

_GATHERED = 1 << 20
"""Rows that are gathered at a time, of which the batches are slices."""


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """How rows become batches; see `Relation.loader`."""

    batch_size: int
    shuffle: bool = False
    seed: int = 0
    rank: int = 0
    world_size: int = 1
    drop_last: bool = False

    def check(self) -> None:
        """Raises 22023 for impossible values."""
        problem = ""
        if self.batch_size < 1:
            problem = f"a batch has one row at least, not {self.batch_size}"
        elif not 0 <= self.rank < self.world_size:
            problem = f"the rank {self.rank} is not one of {self.world_size}, counted from 0"
        if problem:
            raise SqlError.of("invalid_parameter_value", problem)


class Loader:
    """An iterable of batches; each iteration is an epoch. The query runs once, when the rows are first needed.

    A batch is a dict of arrays by column, or with a target the tuple (x, y). Every rank hands out the same number of
    batches: rows that lack for that are repeated from the epoch's beginning, or with `drop_last` left out, as by
    PyTorch's DistributedSampler. Workers of a DataLoader (`DataLoader(loader, batch_size=None, num_workers=2)`) share
    the batches. `state_dict` and `load_state_dict` save and restore the position between two batches.
    """

    def __init__(self, place: Callable[[], ResidentRows], options: LoaderOptions, *, paired: bool) -> None:
        options.check()
        self.options = options
        self._place: Callable[[], ResidentRows] | None = place
        self._resident: ResidentRows | None = None
        self._paired = paired
        self._epoch = 0
        self._next = 0
        self._resumed = True

    @property
    def epoch(self) -> int:
        """The epoch that runs, or that the next iteration begins; from 0. It chooses the shuffled order."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration."""
        self._epoch, self._next, self._resumed = epoch, 0, True

    @property
    def rows(self) -> int:
        """The number of rows of this rank in an epoch."""
        count, size = self._read().rows, self.options.world_size
        return count // size if self.options.drop_last else -(-count // size)

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        rows, size = self.rows, self.options.batch_size
        return rows // size if self.options.drop_last else -(-rows // size)

    def __iter__(self) -> Iterator[Any]:
        """Yields the batches of an epoch, or those that a restored state has left."""
        if not self._resumed:  # an iteration was abandoned
            self.set_epoch(self._epoch + 1)
        self._resumed = False
        worker, workers = _get_worker()
        for number, batch in self._iterate_from(self._next, worker, workers):
            self._next = number + workers
            yield tuple(batch.values()) if self._paired else batch
        self.set_epoch(self._epoch + 1)

    def _iterate_from(self, first: int, worker: int, workers: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yields the batches first, first + 1 … of a worker's share, with their numbers."""
        size, rows, batches = self.options.batch_size, self.rows, len(self)
        windows = 1 if workers > 1 else max(1, _GATHERED // size)
        for start in range(first, batches, windows):
            if workers > 1 and start % workers != worker:
                continue
            end = min(start + windows, batches)
            window = self._gather(start * size, min(end * size, rows))
            for number in range(start, end):
                low = (number - start) * size
                yield number, window.slice(low, min(low + size, window.rows))

    def _gather(self, start: int, stop: int) -> ResidentRows:
        """Returns this rank's rows at some positions of the epoch; without a copy if they are in their order."""
        resident, options = self._read(), self.options
        order = Permutation(resident.rows, options.seed, self._epoch) if options.shuffle else None
        if order is None and options.world_size == 1:
            return ResidentRows(resident.slice(start, stop), stop - start, resident.library)
        first = options.rank + start * options.world_size
        return resident.take(resident.number(order, first, options.world_size, stop - start))

    # ---- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that was handed out, with what must be the same to go on there."""
        return {
            "epoch": self._epoch,
            "batch": self._next,
            "fingerprint": self._read().fingerprint(),
            **asdict(self.options),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where another loader of the same rows, in the same order, was.

        55000 if the options or the rows differ: order the relation by a key, so that its rows keep their order.
        """
        own = {"fingerprint": self._read().fingerprint(), **asdict(self.options)}
        for name, value in own.items():
            if state.get(name) != value:
                what = "the rows are others, or in another order" if name == "fingerprint" else f"{name} differs"
                hint = "Order the relation by a key: relation.order(…)." if name == "fingerprint" else None
                message = f"the state is not of this loader: {what}"
                raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
        self._epoch, self._next, self._resumed = state["epoch"], state["batch"], True

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process, with the rows in place of the query."""
        return {**self.__dict__, "_resident": self._read(), "_place": None}

    def _read(self) -> ResidentRows:
        if self._resident is None:
            assert self._place is not None
            self._resident = self._place()
            self._place = None
        return self._resident


def _get_worker() -> tuple[int, int]:
    """Returns the number of this worker of a PyTorch DataLoader, and how many there are; (0, 1) outside of one."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return (0, 1) if info is None else (info.id, info.num_workers)
