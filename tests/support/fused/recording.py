"""The kernels' twin, keeping what it ran."""

from __future__ import annotations

from gpudb.engine.gpu.fused import numpy_backend
from gpudb.engine.gpu.fused.packed_cache import PackedTables
from gpudb.engine.gpu.fused.prepared_pipeline import Prepared
from gpudb.engine.gpu.fused.runner import Twin
from tests.support.gpu import local_stages


class Recording(Twin):
    """A twin that remembers every part that it ran."""

    def __init__(self, tables: PackedTables = local_stages.PACKED) -> None:
        super().__init__(tables)
        self.prepared: list[Prepared] = []

    def _run(self, prepared: Prepared) -> numpy_backend.Outcome:
        self.prepared.append(prepared)
        return super()._run(prepared)
