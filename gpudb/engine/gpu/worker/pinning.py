"""A worker's report of its device and its cached columns, and the actions that load, pin and evict tables."""

from __future__ import annotations

import os
import pickle
import platform
from dataclasses import astuple
from typing import Any

from gpudb.catalog.tables import Table
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.partition import Partition, cached_partition
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.rpc.messages import CacheAction, DeviceFacts
from gpudb.engine.gpu.stage.stage_executor import TableSource
from gpudb.engine.gpu.worker import memory_watchdog
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.nodes import Scan


class CacheManager:
    """A worker's cached columns: those that frames read, and the packed ones that kernels read, if it runs kernels."""

    def __init__(self, tables: TableSource, packed: PackedTables | None) -> None:
        self._tables, self._packed = tables, packed

    def _list_forms(self) -> list[tuple[str, ColumnCache[Any, Any]]]:
        forms: list[tuple[str, ColumnCache[Any, Any]]] = [("plain", self._tables.columns)]
        forms.append(("index", self._tables.indexes.indexes))
        return forms if self._packed is None else [*forms, ("packed", self._packed.columns)]

    def describe(self) -> tuple[tuple[Any, ...], ...]:
        """Returns the fields of `CachedColumnInfo` for each column and form."""
        return tuple(astuple(each) for form, columns in self._list_forms() for each in columns.describe(form))

    def apply(self, table: bytes, partition: Partition, action: CacheAction) -> int:
        """Loads a partition of a table (and pins it), or evicts it; returns the bytes that it takes, or those freed."""
        wanted: Table = pickle.loads(table)
        if action is CacheAction.EVICT:
            packed = 0 if self._packed is None else self._packed.evict(wanted.oid)
            return packed + self._tables.columns.evict(wanted.oid) + self._tables.indexes.evict(wanted.oid)
        for _, columns in self._list_forms():
            (columns.pinned.add if action is CacheAction.PIN else columns.pinned.discard)(wanted.oid)
        if action is not CacheAction.UNPIN:
            self._load(wanted, partition)
        every = (each for form, columns in self._list_forms() for each in columns.describe(form))
        return sum(each.bytes for each in every if each.table == wanted.oid)

    def _load(self, table: Table, partition: Partition) -> None:
        """Loads a table's columns, packed where kernels read them; columns of unsupported types are skipped."""
        left = list(table.columns)
        if self._packed is not None:
            lacking = {
                column.field_id
                for run in self._packed.runs(table, partition, table.files)
                for column in self._packed.load(table, table.columns, run, partition)
            }
            left = [column for column in left if column.field_id in lacking]
        for column in left:
            try:
                self._tables.frame(Scan(table, (table.columns.index(column),)), cached_partition(table, partition), ())
            except NotSupportedOnWorkers:
                continue


def host_facts(limit: int, resident: int) -> DeviceFacts:
    """Returns the facts of a worker without a GPU; it may use `limit` bytes, `resident` of them for tables."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        ("DEVICE_KIND", "cpu", "Kind of device"),
        ("DEVICE_NAME", platform.processor() or platform.machine(), "Device name"),
        ("DEVICE_TOTAL_MEM", str(total), "Total memory, bytes"),
        ("MEMORY_LIMIT", str(limit), "Memory that the worker may use, bytes"),
        ("RESIDENT_LIMIT", str(resident), "Memory for resident columns, bytes"),
        ("MEMORY_USED", str(memory_watchdog.used_bytes()), "Memory that the worker uses, bytes"),
        ("PROCESS_ID", str(os.getpid()), "Worker process"),
    )
