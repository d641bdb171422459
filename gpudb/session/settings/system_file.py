"""Settings of ALTER SYSTEM: a file of the data directory, which is replaced as a whole."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from gpudb.errors import GpudbError

NAME = "system_settings.json"


class SystemSettings:
    """The values that ALTER SYSTEM has set, by name. Thread-safe. F0000 for a file that cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        self._lock = threading.Lock()
        self.values: Mapping[str, str] = self._read()

    def _read(self) -> Mapping[str, str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            message = f'could not read "{self._path}": {error}'
            raise GpudbError(message, condition="config_file_error") from None
        return {str(name): str(value) for name, value in found.items()}

    def reload(self) -> None:
        """Reads the file again, which another server over the same data directory may have written."""
        with self._lock:
            self.values = self._read()

    def change(self, name: str, value: str | None) -> None:
        """Sets a value, or removes it if it is None. The file is on the disk afterwards."""
        with self._lock:
            values = {key: each for key, each in self._read().items() if key != name}
            self._write(values if value is None else {**values, name: value})

    def clear(self) -> None:
        """Removes all values."""
        with self._lock:
            self._write({})

    def _write(self, values: Mapping[str, str]) -> None:
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(values, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)
        self.values = values
