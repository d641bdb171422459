"""Settings of the engines: which one runs, its memory and temporary files, and its workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from gpudb.certificates import CertificateFiles
from gpudb.config.fields import Bytes, Within


@dataclass(frozen=True)
class EngineSettings:
    """What `engine.opening` reads."""

    engine: Literal["auto", "cpu", "gpu", "twin"] = "auto"
    """Engine of queries. `auto` is `gpu` where `gpudb doctor` finds GPUs and their packages, else `cpu`. `twin` is the
    GPU engine's cluster on CPU workers, for tests without a GPU."""
    memory_limit: Bytes | None = None
    """Memory limit of the CPU engine, in bytes (`8GB`). The default is 80% of the machine's memory."""
    gpu_memory_limit: Bytes | None = None
    """Memory limit of a worker on its GPU, in bytes. The default is all that is free when it starts."""
    direct_storage: Literal["auto", "on", "off"] = "auto"
    """Whether workers read files into GPU memory without the host's (GPUDirect Storage). `auto` is on where the kernel
    module nvidia-fs is loaded, unless `KVIKIO_COMPAT_MODE` says otherwise; `on` needs it."""
    temp_file_limit: Bytes | None = None
    """Limit of the temporary files of all statements, in bytes: of the CPU engine, and of each worker. The default is
    what the disk has."""
    workers: Annotated[int, Within(ge=1, le=1024)] | None = None
    """Number of workers: of the twin engine, 2 by default, or of a scheduler's workers, all by default."""
    scheduler: str | None = None
    """Address of a Dask scheduler (`tls://host:8786`) whose workers run the stages: those of `dask cuda worker` for the
    engine gpu, which `auto` then is, those of `dask worker` for twin. Without one the server starts its own workers."""
    scheduler_timeout: Annotated[float, Within(gt=0, le=86_400)] | None = None
    """Seconds that the server waits for a scheduler to answer, and then for its workers. The default is 10, and 90."""
    cluster_tls_ca: Path | None = None
    """Certificate of the authority that signs those of the scheduler, of its workers and of this server, in PEM."""
    cluster_tls_cert: Path | None = None
    """This server's certificate for the scheduler, in PEM."""
    cluster_tls_key: Path | None = None
    """Private key of `cluster_tls_cert`, in PEM."""
    cluster_insecure: bool = False
    """Whether a scheduler without certificates may be used: whoever reaches it or its workers runs any code there."""

    def check_engine(self) -> None:
        """Raises ValueError for settings that do not go together."""
        if self.scheduler is not None and self.engine == "cpu":
            raise ValueError("scheduler goes with the engines gpu and twin")
        given = {self.cluster_tls_ca is None, self.cluster_tls_cert is None, self.cluster_tls_key is None}
        if len(given) > 1:
            raise ValueError("cluster_tls_ca, cluster_tls_cert and cluster_tls_key go together")
        if self.scheduler is None and (self.cluster_tls_ca is not None or self.cluster_insecure):
            raise ValueError("cluster_tls_ca and cluster_insecure go with scheduler")

    @property
    def cluster_certificates(self) -> CertificateFiles | None:
        """This server's files for the scheduler."""
        if self.cluster_tls_ca is None or self.cluster_tls_cert is None or self.cluster_tls_key is None:
            return None
        return CertificateFiles(self.cluster_tls_ca, self.cluster_tls_cert, self.cluster_tls_key)
