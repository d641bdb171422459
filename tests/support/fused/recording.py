"""The kernels' NumPy backend with a record of what it ran."""

from __future__ import annotations

from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.planning.prepared_pipeline import PreparedPipeline
from gpudb.engine.gpu.fused.runner import NumpyRunner
from tests.support.gpu import local_stages


class Recording(NumpyRunner):
    """A NumPy backend that records every pipeline that it runs."""

    def __init__(self, tables: PackedTables = local_stages.PACKED) -> None:
        super().__init__(tables)
        self.prepared: list[PreparedPipeline] = []

    def _run(self, prepared: PreparedPipeline) -> executor.Outcome:
        self.prepared.append(prepared)
        return super()._run(prepared)
