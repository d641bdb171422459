"""The cluster of a database: its own workers, or those of a Dask scheduler that it joins, by its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudb.config.engine import EngineSettings
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.direct_storage import choose_mode
from gpudb.engine.startup_log import log_step

if TYPE_CHECKING:
    from gpudb.engine.gpu.cluster.config import WorkerProcesses
    from gpudb.engine.gpu.engine import ClusterEngine

TWIN_WORKERS = 2
"""Number of the twin engine's workers, unless the settings have another."""


def select_cluster(settings: EngineSettings, gpus: Sequence[str]) -> str | None:
    """Returns the name of the engine that the workers will be, one on each GPU; None without workers."""
    if settings.scheduler:
        return "twin" if settings.engine == "twin" else "gpu"
    return "gpu" if gpus else "twin" if settings.engine == "twin" else None


def start_cluster(embedded: CpuEngine, settings: EngineSettings, gpus: Sequence[str]) -> ClusterEngine:
    """Starts the workers before the embedded engine, and returns once they are ready.

    Errors: 55006 for workers in use, 58000 for direct storage that the host lacks, 08001 for a scheduler that does not
    answer, F0000 for its certificates. Imports here, since Dask and dask-sql take seconds.
    """
    processes = _select_processes(settings, gpus)
    from gpudb.engine.gpu.cluster.cluster import Cluster
    from gpudb.engine.gpu.engine import ClusterEngine
    from gpudb.plan.dask.dask_sql_planner import warm_up

    def planner() -> None:
        warm_up()
        log_step("the planner is ready")

    log_step("the engine's libraries are read")
    device, temporary = settings.gpu_memory_limit or 0, settings.temp_file_limit or 0
    cluster = Cluster(replace(processes, device=device, temp_limit=temporary), meanwhile=planner)
    return ClusterEngine(cluster, embedded, "gpu" if processes.gpu else "twin")


def _select_processes(settings: EngineSettings, gpus: Sequence[str]) -> WorkerProcesses:
    from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes, joined_processes

    if settings.scheduler:
        return joined_processes(
            settings.scheduler,
            settings.workers,
            settings.memory_limit,
            settings.cluster_certificates,
            gpu=settings.engine != "twin",
            insecure=settings.cluster_insecure,
            seconds=settings.scheduler_timeout,
        )
    if gpus:
        return gpu_processes(gpus, settings.memory_limit, choose_mode(settings.direct_storage))
    return cpu_processes(settings.workers or TWIN_WORKERS, settings.memory_limit)
