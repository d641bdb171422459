"""The embedded engine's DuckDB: an instance with loaded tables and the system catalog."""

from __future__ import annotations

import threading

from gpudb.duckdb.instance import Config, Instance
from gpudb.engine.cpu.loaded_tables import LoadedTables
from gpudb.engine.cpu.system_catalog import SystemCatalog


class EngineInstance(Instance):
    """A running DuckDB with everything that statements read; half of its memory may hold loaded tables."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.loaded = LoadedTables(self.connection, self.memory_limit() // 2)
        self.system = SystemCatalog(self.connection)
        self._reads_objects = False
        self._objects_lock = threading.Lock()

    def read_objects(self) -> None:
        """Lets the instance open files of object storages; idempotent."""
        with self._objects_lock:
            if not self._reads_objects:
                # Heavy, and for few statements
                from gpudb.storage.object_stores.range_reader import register

                register(self.connection)
                self._reads_objects = True

    def close(self) -> None:
        """Closes the database and interrupts running statements, and what is loaded beside them."""
        self.loaded.close()
        super().close()
