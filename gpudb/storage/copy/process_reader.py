"""Reads the blocks of a load in processes, beside the first ones, which this process reads itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pickle import PickleBuffer
from typing import Any

from gpudb.processes.child import ProcessUnavailable
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.ingest import BlockReader
from gpudb.storage.copy.reader import Block, ParsedRows
from gpudb.storage.row_processes import RowProcesses, pack


class LoadProcesses:
    """The processes as one load uses them; thread-safe. `check` is called while they run, and may raise (a cancel)."""

    def __init__(self, processes: RowProcesses, check: Callable[[], None]) -> None:
        self._processes, self._check = processes, check
        self._seen = 0
        self._lock = threading.Lock()

    def wrap(self, reader: BlockReader) -> BlockReader:
        """Returns a reader of some of the load's blocks that reads them as `reader` does, in processes."""
        return ProcessReader(reader, self) if self._processes.count else reader

    def are_wanted(self, size: int) -> bool:
        """Counts the bytes of one more block, and returns whether a process reads it."""
        with self._lock:
            self._seen += size
            return self._processes.are_wanted(size, self._seen)

    def read_file(self, file: Any, size: int, take: Callable[[bytes], None], at: Callable[[int], None]) -> bool:
        """Reads a compressed file of `size` bytes in a process, and passes on its bytes, and each position in it.

        Returns False, with nothing read, for one that is too small for that, and where processes cannot be used.
        """
        if not self._processes.are_wanted(0, size):
            return False

        def take_piece(piece: tuple[int, memoryview]) -> None:
            take(bytes(piece[1]))
            at(piece[0])

        try:
            self._processes.read_file(file, take_piece, self._check)
        except ProcessUnavailable:
            return False
        return True

    def read(self, packed: bytes, block: Block) -> ParsedRows:
        """Reads a block by a packed reader in a process."""
        arguments = packed, block.detach(), PickleBuffer(block.data)
        found: ParsedRows | RowError = self._processes.call("read_block", arguments, self._check)
        if isinstance(found, RowError):
            raise found
        return found


class ProcessReader:
    """Reads blocks in a load's processes as another reader does, or by it where these cannot be used; thread-safe."""

    def __init__(self, reader: BlockReader, load: LoadProcesses) -> None:
        self._reader, self._load = reader, load
        self._packed: bytes | None = None

    def read(self, block: Block) -> ParsedRows:
        """Returns the block's rows; raises RowError."""
        if not self._load.are_wanted(block.size):
            return self._reader.read(block)
        if self._packed is None:
            self._packed = pack(self._reader)
        try:
            return self._load.read(self._packed, block)
        except ProcessUnavailable:
            return self._reader.read(block)

    def find_line(self, block: Block, row: int) -> tuple[int, str | None]:
        """Returns (line, text) of a block's data row, counting from 0."""
        return self._reader.find_line(block, row)
