"""What stages gave, until it is read: parts for other stages, freed by their last reader, and rows for the client.

Rows for the client wait for as long as the client does: in memory up to a bound over all statements, beyond it in a
file, from which they are read by chunks.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gpudb.engine.gpu.frames import Held

CHUNK_BYTES = 4 * 2**20
"""About how much of a result one message carries."""
_CHUNK_ROWS = 65536


class Parts:
    """What a stage gave on one share: one frame for each taker, or one for all. `takers` are its readers to come."""

    def __init__(self, frames: Sequence[Held], takers: Sequence[int]) -> None:
        self._frames: list[Held | None] = list(frames)
        self._left = Counter(map(self._place, takers))
        for place in range(len(self._frames)):
            self._freed(place)

    def _place(self, taker: int) -> int:
        return taker if len(self._frames) > 1 else 0

    def _freed(self, place: int) -> None:
        if not self._left[place]:
            self._frames[place] = None
            del self._left[place]

    def take(self, taker: int) -> Held:
        """A reader's rows; the last reader takes them away."""
        place = self._place(taker)
        frame = self._frames[place]
        assert frame is not None
        self._left[place] -= 1
        self._freed(place)
        return frame

    @property
    def read(self) -> bool:
        """Whether every reader has come."""
        return not self._left


class Kept:
    """One share of a result. `end` frees it."""

    def __init__(self, frame: pl.DataFrame, room: ResultRoom, size: int, path: Path | None) -> None:
        self._frame: pl.DataFrame | None = frame
        self._rows = frame.height
        self._step = max(1, min(_CHUNK_ROWS, CHUNK_BYTES * frame.height // max(size, 1)))
        self._room, self._size, self._path = room, size, path
        if path is not None:
            frame.write_ipc(path)
            self._frame = None

    def chunk(self, start: int) -> tuple[pl.DataFrame, int]:
        """Rows from `start` on, and where the next chunk starts, 0 after the last."""
        after = start + self._step
        if self._frame is not None:
            rows = self._frame.slice(start, self._step)
        else:
            assert self._path is not None
            rows = pl.scan_ipc(self._path).slice(start, self._step).collect()
        return rows, after if after < self._rows else 0

    def end(self) -> None:
        """Frees the rows; idempotent."""
        self._frame = None
        self._room.free(self._size if self._path is None else 0)
        self._size = 0
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class ResultRoom:
    """The room for results on a worker: `limit` bytes in memory, the rest under `folder`."""

    def __init__(self, limit: int, folder: Path) -> None:
        self._limit = limit
        self._folder = folder
        self._lock = threading.Lock()
        self._number = 0
        self.bytes = 0

    def keep(self, frame: pl.DataFrame) -> Kept:
        """Keeps a share of a result, in a file where memory is taken."""
        size = int(frame.estimated_size())
        with self._lock:
            fits = self.bytes + size <= self._limit
            self.bytes += size if fits else 0
            self._number += 1
            path = None if fits else self._folder / f"{self._number}.arrow"
        return Kept(frame, self, size, path)

    def free(self, size: int) -> None:
        """So many bytes are free again."""
        with self._lock:
            self.bytes -= size


def written(frame: pl.DataFrame) -> bytes:
    """A frame as Arrow's IPC stream."""
    out = io.BytesIO()
    frame.write_ipc_stream(out)
    return out.getvalue()


def read(data: bytes) -> pl.DataFrame:
    """The frame of an IPC stream."""
    return pl.read_ipc_stream(io.BytesIO(data))
