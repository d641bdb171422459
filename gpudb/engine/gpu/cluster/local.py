"""Workers on this host's GPUs, one process each, under a scheduler in this process; imported late, with dask-cuda."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dask_cuda import LocalCUDACluster
from dask_cuda.plugins import CUDFSetup

from gpudb.engine.gpu.cluster.security import create_security


class GpuWorkers(LocalCUDACluster):  # type: ignore[misc]
    """`count` workers on the first of these GPUs, whose processes have an additional `environment`.

    Their files and the cluster's certificates are in `directory`, which only this user may enter.
    """

    def __init__(self, count: int, devices: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
        self._environment = {name: os.environ.get(name, value) for name, value in environment.items()}
        super().__init__(
            n_workers=count,
            CUDA_VISIBLE_DEVICES=list(devices),
            threads_per_worker=1,
            protocol="tls",
            security=create_security(directory),
            local_directory=str(directory),
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            host="127.0.0.1",
            # The worker itself manages GPU memory; Dask holds none of it.
            memory_limit=None,
            device_memory_limit=None,
            silence_logs=logging.ERROR,
        )

    def new_worker_spec(self) -> dict[Any, Any]:
        """See `LocalCUDACluster`. Omits its set-up of cuDF, whose import takes seconds: cudf-polars needs none."""
        spec: dict[Any, Any] = super().new_worker_spec()
        for worker in spec.values():
            options = worker["options"]
            options["env"] = {**self._environment, **options["env"]}
            options["dashboard"] = False  # no web page: its drawing libraries take a second to import
            options["plugins"] = {each for each in options["plugins"] if not isinstance(each, CUDFSetup)}
        return spec
