"""Outputs of stages until they are read: parts for other stages, freed by their last reader, and rows for the client.

Rows for the client wait as long as the client does: in memory up to a limit over all statements, above it in a file
that is read in chunks. So do parts of a statement that runs chunk by chunk, except those that a GPU has offloaded to
faster memory (see `Backend.offload`).
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

from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.errors import SqlError

CHUNK_BYTES = 4 * 2**20
"""Approximate bytes of a result in one message."""
_CHUNK_ROWS = 65536


class SpillSpace:
    """The space for a worker's temporary files: `limit` bytes for all of them together, 0 for no limit. Thread-safe."""

    def __init__(self, limit: int = 0) -> None:
        self._limit = limit
        self._lock = threading.RLock()  # a file that is collected as garbage may release its bytes anywhere
        self.bytes = 0

    def reserve(self, size: int) -> None:
        """Reserves bytes. Raises 53400 beyond the limit."""
        with self._lock:
            if self._limit and self.bytes + size > self._limit:
                message = f"temporary file size exceeds temp_file_limit ({self._limit // 1024}kB)"
                raise SqlError.of("configuration_limit_exceeded", message)
            self.bytes += size

    def release(self, size: int) -> None:
        """Releases reserved bytes."""
        with self._lock:
            self.bytes -= size


class SpillFile:
    """Frames as Arrow IPC streams in an unnamed file. One thread writes; several may read.

    The file is removed with its last reference, when it is closed, or when the process ends.
    """

    def __init__(self, folder: Path, space: SpillSpace | None = None) -> None:
        self._space, self._reserved = space or SpillSpace(), 0
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it lives as long as its frames
        self._lock = threading.Lock()
        self._reading = 0
        self._closed = False
        self.bytes = 0

    def write(self, frame: pl.DataFrame) -> SpilledFrame:
        """Appends a frame. Raises ValueError once the file is closed, 53400 beyond the limit of temporary files."""
        data = memoryview(encode_frame(frame))
        self._space.reserve(len(data))
        self._reserved += len(data)
        made = SpilledFrame(self, self.bytes, len(data))
        while data:
            data = data[self._file.write(data) :]
        self.bytes += made.size
        return made

    def read(self, start: int, length: int) -> bytes:
        """Returns a range of the bytes. Raises ValueError once the file is closed."""
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
        """Frees the disk space as soon as no thread reads."""
        self._closed = True
        self._free()

    def _free(self) -> None:
        with self._lock:
            if self._closed and not self._reading:
                self._remove()

    def _remove(self) -> None:
        self._file.close()
        reserved, self._reserved = self._reserved, 0
        self._space.release(reserved)

    def __del__(self) -> None:
        self._remove()


@dataclass(frozen=True, slots=True)
class SpilledFrame(Offloaded):
    """A frame in a file."""

    file: SpillFile
    start: int
    size: int

    def data(self) -> bytes:
        """See `Offloaded`."""
        return self.file.read(self.start, self.size)


class ExchangeBuffers:
    """A stage's output on one partition: a frame for each consumer, or one for all.

    `consumers` are the pending consumers.
    """

    def __init__(self, frames: Sequence[ComputedFrame | Offloaded], consumers: Sequence[int]) -> None:
        self._frames: list[ComputedFrame | Offloaded | None] = list(frames)
        self._pending = Counter(map(self._index, consumers))
        for index in range(len(self._frames)):
            self._free_if_read(index)

    def _index(self, consumer: int) -> int:
        return consumer if len(self._frames) > 1 else 0

    def _free_if_read(self, index: int) -> None:
        if not self._pending[index]:
            self._frames[index] = None
            del self._pending[index]

    def take(self, consumer: int) -> ComputedFrame | Offloaded:
        """Returns a consumer's rows, and frees them after the last consumer."""
        index = self._index(consumer)
        frame = self._frames[index]
        assert frame is not None
        self._pending[index] -= 1
        self._free_if_read(index)
        return frame

    @property
    def is_read(self) -> bool:
        """Whether every consumer has taken its rows."""
        return not self._pending


class ResultBuffer:
    """One partition of a result. `end` frees it, and so does its last reference, as when a statement is cancelled while
    the result is made.
    """

    def __init__(self, frame: pl.DataFrame, room: ResultStore, size: int, file: SpillFile | None) -> None:
        self._frame: pl.DataFrame | None = frame if file is None else None
        self._rows = frame.height
        self._step = max(1, min(_CHUNK_ROWS, CHUNK_BYTES * frame.height // max(size, 1)))
        self._store, self._size, self._file = room, size if file is None else 0, file
        starts = range(0, frame.height, self._step)
        self._chunks = [] if file is None else [file.write(frame.slice(start, self._step)) for start in starts]

    def chunk(self, start: int) -> tuple[pl.DataFrame, int]:
        """Returns rows from `start` on, and the start of the next chunk, 0 after the last."""
        after = start + self._step
        if self._frame is not None:
            rows = self._frame.slice(start, self._step)
        else:
            rows = decode_frame(self._chunks[start // self._step].data())
        return rows, after if after < self._rows else 0

    def close(self) -> None:
        """Frees the rows; idempotent."""
        self._frame = None
        self._store.release(self._size)
        self._size = 0
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.close()


class ResultStore:
    """A worker's store of results: `limit` bytes in memory, the rest in files of `space` under `folder`."""

    def __init__(self, limit: int, folder: Path, space: SpillSpace | None = None) -> None:
        self._limit = limit
        self._folder, self._space = folder, space
        self._lock = threading.Lock()
        self.bytes = 0

    def store(self, frame: pl.DataFrame) -> ResultBuffer:
        """Stores a partition of a result, in a file if memory is full."""
        size = int(frame.estimated_size())
        with self._lock:
            fits = self.bytes + size <= self._limit
            self.bytes += size if fits else 0
        return ResultBuffer(frame, self, size, None if fits else SpillFile(self._folder, self._space))

    def release(self, size: int) -> None:
        """Releases `size` bytes."""
        with self._lock:
            self.bytes -= size


def concat_on_host(parts: Sequence[ComputedFrame | Offloaded]) -> pl.DataFrame:
    """Concatenates parts on the host. Raises ValueError if a file of them is closed."""
    frames = [decode_frame(each.data()) if isinstance(each, Offloaded) else each.to_polars() for each in parts]
    # Rechunked: a GPU would receive and concatenate each chunk.
    return pl.concat([each for each in frames if each.height] or frames[:1], rechunk=True)


def encode_frame(frame: pl.DataFrame) -> bytes:
    """Returns a frame as an Arrow IPC stream; other threads may read the frame meanwhile.

    Polars locks a frame while it writes it, and waits for Python's lock with that lock held. A thread that has Python's
    lock and looks at the same frame object would wait forever. A clone shares the columns and has a separate lock.
    """
    out = io.BytesIO()
    frame.clone().write_ipc_stream(out)
    return out.getvalue()


def decode_frame(data: bytes) -> pl.DataFrame:
    """Returns the frame of an IPC stream."""
    return pl.read_ipc_stream(io.BytesIO(data))
