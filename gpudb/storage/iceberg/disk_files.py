"""Files of Iceberg metadata on the local disk, as pyiceberg reads and writes them: private, and synced."""

from __future__ import annotations

import io
from pathlib import Path

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream

from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.private_files import create_file


class DiskFile(OutputFile):
    """Output file of pyiceberg that is synced when closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(to_uri(path))
        self._disk_path = path

    def __len__(self) -> int:
        return self._disk_path.stat().st_size

    def exists(self) -> bool:
        """Returns whether the file exists."""
        return self._disk_path.exists()

    def to_input_file(self) -> InputFile:
        """Returns the same file to be read."""
        return DiskInput(self._disk_path)

    def create(self, overwrite: bool = False) -> OutputStream:
        """Opens the file for writing; it is written and synced when the stream is closed."""
        return _SyncedStream(self._disk_path)


class _SyncedStream(io.BytesIO):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._disk_path = path

    def close(self) -> None:
        if not self.closed:
            create_file(self._disk_path)
            self._disk_path.write_bytes(self.getvalue())
            sync(self._disk_path)
        super().close()


class DiskInput(InputFile):
    """Input file of pyiceberg on the local disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(to_uri(path))
        self._disk_path = path

    def __len__(self) -> int:
        return self._disk_path.stat().st_size

    def exists(self) -> bool:
        """Returns whether the file exists."""
        return self._disk_path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        """Opens the file for reading."""
        return self._disk_path.open("rb")


class RelocatedIO:
    """File access for reading a manifest at its current location, whatever its entry says."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def new_input(self, location: str) -> InputFile:
        """Returns the manifest, whatever its location is said to be."""
        return DiskInput(self._path)
