"""The kernels' twin, keeping what it ran."""

from __future__ import annotations

from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.planning.prepared_pipeline import Prepared
from gpudb.engine.gpu.fused.runner import Twin
from tests.support.gpu import local_stages


class Recording(Twin):
    """A twin that remembers every part that it ran."""

    def __init__(self, tables: PackedTables = local_stages.PACKED) -> None:
        super().__init__(tables)
        self.prepared: list[Prepared] = []

    def _run(self, prepared: Prepared) -> executor.Outcome:
        self.prepared.append(prepared)
        return super()._run(prepared)
