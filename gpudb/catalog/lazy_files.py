"""Files of a table that are made when something first reads them: those of rows that a transaction has in memory."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

from gpudb.catalog.tables import DataFile

Files = tuple[DataFile, ...]


class LazyFiles(Files):
    """A tuple of data files whose first use makes them; the same object always has the same files.

    Two are equal if they are the same object, or have equal files once those of both are made: to compare tables makes
    no files.
    """

    _made: Files | None
    _lock: threading.Lock

    def __new__(cls, *_: object) -> Self:
        """Makes one without files yet."""
        self = super().__new__(cls)
        self._made, self._lock = None, threading.Lock()
        return self

    @abstractmethod
    def _make(self) -> Files:
        """Makes the files; called once."""

    @property
    def is_made(self) -> bool:
        """Whether the files have been made."""
        return self._made is not None

    def resolve(self) -> Files:
        """Returns the files as a plain tuple; raises what making them raises."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made

    def __iter__(self) -> Iterator[DataFile]:
        return iter(self.resolve())

    def __len__(self) -> int:
        return len(self.resolve())

    def __bool__(self) -> bool:
        return bool(self.resolve())

    def __getitem__(self, index: Any) -> Any:
        return self.resolve()[index]

    def __contains__(self, file: object) -> bool:
        return file in self.resolve()

    def __add__(self, other: Any) -> Any:
        return self.resolve() + tuple(other)

    def __radd__(self, other: Any) -> Any:
        return tuple(other) + self.resolve()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, LazyFiles):
            return self._made is not None and self._made == other._made
        return self._made is not None and self._made == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.resolve(),)

    def __repr__(self) -> str:
        return repr(self._made) if self._made is not None else f"<{type(self).__name__}>"


class DerivedFiles(LazyFiles):
    """Files that follow from other lazy files."""

    def __new__(cls, derive: Callable[[], Files]) -> Self:
        """`derive` returns them."""
        self = super().__new__(cls)
        self._derive = derive
        return self

    _derive: Callable[[], Files]

    def _make(self) -> Files:
        return self._derive()
