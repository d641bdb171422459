"""Files of Iceberg metadata on the local disk, as pyiceberg reads and writes them: private and verified."""

from __future__ import annotations

import io
from pathlib import Path

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream

from gpudb.storage.iceberg.content_names import hash_content, read_file
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.private_files import create_file


class DiskFile(OutputFile):
    """Output file of pyiceberg, which has its name once it is closed; whoever has `written` syncs it."""

    def __init__(self, directory: Path, name: str, written: list[Path]) -> None:
        """`name` has `{}` where the hash of the content goes; the path is added to `written`."""
        super().__init__("")
        self._directory, self._name, self._written = directory, name, written
        self._bytes = 0

    @property
    def path(self) -> Path:
        """Where the closed file is."""
        assert self._location, "the file is not closed"
        return self._disk_path

    def write(self, content: bytes) -> None:
        """Writes the whole file."""
        self._disk_path = self._directory / self._name.format(hash_content(content))
        self._location, self._bytes = to_uri(self._disk_path), len(content)
        self._written.append(self._disk_path)
        create_file(self._disk_path)
        self._disk_path.write_bytes(content)

    def __len__(self) -> int:
        return self._bytes

    def exists(self) -> bool:
        """Returns whether the file exists."""
        return bool(self._location) and self._disk_path.exists()

    def to_input_file(self) -> InputFile:
        """Returns the same file to be read."""
        return DiskInput(self.path)

    def create(self, overwrite: bool = False) -> OutputStream:
        """Opens the file for writing; it is written when the stream is closed."""
        return _DiskStream(self)


class _DiskStream(io.BytesIO):
    def __init__(self, file: DiskFile) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            self._file.write(self.getvalue())
        super().close()


class DiskInput(InputFile):
    """Input file of pyiceberg on the local disk: a manifest or a list of them."""

    def __init__(self, path: Path, what: str = "manifest list") -> None:
        super().__init__(to_uri(path))
        self._disk_path, self._what = path, what

    def __len__(self) -> int:
        return self._disk_path.stat().st_size

    def exists(self) -> bool:
        """Returns whether the file exists."""
        return self._disk_path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        """Opens the file for reading; XX001 if it is missing or differs from the hash in its name."""
        return io.BytesIO(read_file(self._disk_path, self._what))


class RelocatedIO:
    """File access for reading a manifest at its current location, whatever its entry says."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def new_input(self, location: str) -> InputFile:
        """Returns the manifest, whatever its location is said to be."""
        return DiskInput(self._path, "manifest")
