"""The pools of resource groups with memory of their own: what they take is reserved, the main pool has the rest."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import duckdb

from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.duckdb.instance import Config
from gpudb.engine.cpu.pool import EnginePool
from gpudb.errors import OutOfMemory


class GroupPools:
    """The pools by the groups' names, each opened by its group's first statement. Thread-safe.

    `main` serves all other statements, and started with `config`.
    """

    def __init__(self, config: Config, main: EnginePool) -> None:
        self._config, self._main = config, main
        self._total = main.memory_limit
        self._lock = threading.Lock()
        self._opened = 0
        self._pools: dict[str, tuple[ResourceGroup, EnginePool, int]] = {}

    def find(self, group: ResourceGroup) -> EnginePool:
        """Returns the pool of the statements of a group with memory; 53200 if its memory is in use by others."""
        known = self._pools.get(group.name)
        if known is not None and known[0] == group:
            return known[1]
        with self._lock:
            known = self._pools.get(group.name)
            if known is not None and known[0] == group:
                return known[1]
            # Statements that still run in the pool of earlier limits keep its DuckDB until their end
            self._pools.pop(group.name, None)
            taken = group.count_bytes(self._total) or 0
            self._reserve(group, taken)
            pool = self._open(group, taken)
            self._pools[group.name] = group, pool, taken
            return pool

    def keep(self, kept: Mapping[str, ResourceGroup]) -> None:
        """Gives the main pool the memory of groups that no longer exist, or no longer have their own."""
        if not self._pools:
            return
        with self._lock:
            gone = [name for name in self._pools if name not in kept or not kept[name].has_memory]
            for name in gone:
                del self._pools[name]
            if gone:
                self._main.set_memory_limit(self._total - sum(taken for *_, taken in self._pools.values()))

    def _reserve(self, group: ResourceGroup, taken: int) -> None:
        rest = self._total - taken - sum(each for *_, each in self._pools.values())
        if rest > 0:
            try:
                self._main.set_memory_limit(rest)
            except duckdb.OutOfMemoryException:
                pass
            else:
                return
        raise OutOfMemory(
            f'the memory of resource group "{group.name}" is in use by others',
            detail=f"The group has {taken >> 20} MB of the server's {self._total >> 20} MB.",
            hint="Run the statement again.",
        )

    def _open(self, group: ResourceGroup, taken: int) -> EnginePool:
        config: Config = {**self._config, "memory_limit": f"{taken // 1024}KiB"}
        if "temp_directory" in config:  # names of files in it are DuckDB's, and the same in each
            self._opened += 1
            config["temp_directory"] = f"{config['temp_directory']}/group-{self._opened}"
        if group.temporary_space is not None:
            config["max_temp_directory_size"] = f"{group.temporary_space // 1024}KiB"
        if group.workers is not None:
            config["threads"] = max(1, round(group.workers * self._main.threads))
        return EnginePool(config, group.temporary_space, f'temporary_space of resource group "{group.name}"')

    def close(self) -> None:
        """Closes all pools but the main one."""
        with self._lock:
            for _, pool, _ in self._pools.values():
                pool.close()
