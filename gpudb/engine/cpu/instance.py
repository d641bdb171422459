"""The embedded engine's DuckDB: an instance with loaded tables and the system catalog."""

from __future__ import annotations

from gpudb.duckdb.instance import Config, Instance
from gpudb.engine.cpu.loaded_tables import LoadedTables
from gpudb.engine.cpu.system_catalog import SystemCatalog


class EngineInstance(Instance):
    """A running DuckDB with everything that statements read; half of its memory may hold loaded tables."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.loaded = LoadedTables(self.connection, self.memory_limit() // 2)
        self.system = SystemCatalog(self.connection)
