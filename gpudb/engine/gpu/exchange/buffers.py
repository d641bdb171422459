"""What stages gave, until it is read: parts for other stages, freed by their last reader, and rows for the client.

Rows for the client wait for as long as the client does: in memory up to a bound over all statements, beyond it in a
file, from which they are read by chunks. So do the parts of a statement that goes through its tables chunk by chunk,
but for those that a GPU has put away nearer (see `frames.Frames.put_away`).
"""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gpudb.engine.gpu.backend.base import Away, Held

CHUNK_BYTES = 4 * 2**20
"""About how much of a result one message carries."""
_CHUNK_ROWS = 65536


class SpillFile:
    """Frames as Arrow IPC streams in a file without a name: it is gone with the last that holds it, when it is closed,
    or when its process ends. One thread writes; several may read."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it lives as long as its frames
        self._lock = threading.Lock()
        self._reading = 0
        self._closed = False
        self.bytes = 0

    def write(self, frame: pl.DataFrame) -> Spilled:
        """Adds a frame; ValueError once the file is closed."""
        data = memoryview(written(frame))
        made = Spilled(self, self.bytes, len(data))
        while data:
            data = data[self._file.write(data) :]
        self.bytes += made.size
        return made

    def read(self, start: int, length: int) -> bytes:
        """Some of the bytes; ValueError once the file is closed."""
        with self._lock:
            self._reading += 1
        try:
            found = [os.pread(self._file.fileno(), length, start)]
            while (left := length - sum(map(len, found))) and found[-1]:
                found.append(os.pread(self._file.fileno(), left, start + length - left))
            if left:
                raise EOFError("a temporary file ends too soon")
            return found[0] if len(found) == 1 else b"".join(found)
        finally:
            with self._lock:
                self._reading -= 1
            self._free()

    def close(self) -> None:
        """Frees what it takes of the disk, as soon as nobody reads."""
        self._closed = True
        self._free()

    def _free(self) -> None:
        with self._lock:
            if self._closed and not self._reading:
                self._file.close()

    def __del__(self) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class Spilled(Away):
    """A frame in a file."""

    file: SpillFile
    start: int
    size: int

    def data(self) -> bytes:
        """See `frames.Away`."""
        return self.file.read(self.start, self.size)


class Parts:
    """What a stage gave on one share: one frame for each taker, or one for all. `takers` are its readers to come."""

    def __init__(self, frames: Sequence[Held | Away], takers: Sequence[int]) -> None:
        self._frames: list[Held | Away | None] = list(frames)
        self._left = Counter(map(self._place, takers))
        for place in range(len(self._frames)):
            self._freed(place)

    def _place(self, taker: int) -> int:
        return taker if len(self._frames) > 1 else 0

    def _freed(self, place: int) -> None:
        if not self._left[place]:
            self._frames[place] = None
            del self._left[place]

    def take(self, taker: int) -> Held | Away:
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
    """One share of a result. `end` frees it; so does whoever lets go of it, as a cancelled statement does while it is
    made."""

    def __init__(self, frame: pl.DataFrame, room: ResultRoom, size: int, file: SpillFile | None) -> None:
        self._frame: pl.DataFrame | None = frame if file is None else None
        self._rows = frame.height
        self._step = max(1, min(_CHUNK_ROWS, CHUNK_BYTES * frame.height // max(size, 1)))
        self._room, self._size, self._file = room, size if file is None else 0, file
        starts = range(0, frame.height, self._step)
        self._chunks = [] if file is None else [file.write(frame.slice(start, self._step)) for start in starts]

    def chunk(self, start: int) -> tuple[pl.DataFrame, int]:
        """Rows from `start` on, and where the next chunk starts, 0 after the last."""
        after = start + self._step
        if self._frame is not None:
            rows = self._frame.slice(start, self._step)
        else:
            rows = read(self._chunks[start // self._step].data())
        return rows, after if after < self._rows else 0

    def end(self) -> None:
        """Frees the rows; idempotent."""
        self._frame = None
        self._room.free(self._size)
        self._size = 0
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.end()


class ResultRoom:
    """The room for results on a worker: `limit` bytes in memory, the rest under `folder`."""

    def __init__(self, limit: int, folder: Path) -> None:
        self._limit = limit
        self._folder = folder
        self._lock = threading.Lock()
        self.bytes = 0

    def keep(self, frame: pl.DataFrame) -> Kept:
        """Keeps a share of a result, in a file where memory is taken."""
        size = int(frame.estimated_size())
        with self._lock:
            fits = self.bytes + size <= self._limit
            self.bytes += size if fits else 0
        return Kept(frame, self, size, None if fits else SpillFile(self._folder))

    def free(self, size: int) -> None:
        """So many bytes are free again."""
        with self._lock:
            self.bytes -= size


def joined(parts: Sequence[Held | Away]) -> pl.DataFrame:
    """The rows of parts, on the host, one after the other; ValueError where a file of them is closed."""
    frames = [read(each.data()) if isinstance(each, Away) else each.frame() for each in parts]
    # In one piece: a GPU would be sent, and put together, each of them.
    return pl.concat([each for each in frames if each.height] or frames[:1], rechunk=True)


def written(frame: pl.DataFrame) -> bytes:
    """A frame as Arrow's IPC stream; any thread may read the frame meanwhile.

    Polars locks what it writes, and holds the lock while it waits for Python's: whoever looks at the same object then,
    which has Python's, waits for ever. A clone has the same columns, and a lock of its own.
    """
    out = io.BytesIO()
    frame.clone().write_ipc_stream(out)
    return out.getvalue()


def read(data: bytes) -> pl.DataFrame:
    """The frame of an IPC stream."""
    return pl.read_ipc_stream(io.BytesIO(data))
