"""Properties of this machine, read without importing CUDA: GPUs and drivers, libraries, disk and memory."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpudb.engine.direct_storage import MODE_VARIABLE, has_kernel_module, is_direct
from gpudb.processes.limits import read_memory_limit

NVIDIA_SMI_S = 20
"""Time limit of nvidia-smi in seconds: the first call after a boot loads the driver."""

LIBRARIES = (
    "buenavista",
    "cryptography",
    "duckdb",
    "numpy",
    "polars",
    "postgast",
    "pyarrow",
    "pydantic-settings",
    "pyiceberg",
    "pandas",
    "psycopg",
)
OPTIONAL = {"pandas": "Relation.pandas()", "psycopg": "gpudb demo, and connecting to servers from Python"}
"""Optional libraries, and the purpose of each."""

GPU_LIBRARIES = (
    "cudf",
    "cudf-polars",
    "cupy-cuda",
    "dask",
    "dask-cuda",
    "distributed",
    "distributed-ucxx",
    "kvikio",
    "rmm",
    "ucxx",
)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver describes it; memory in MiB."""

    index: int
    name: str
    memory_mib: int
    compute_capability: str


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs, the driver and the newest CUDA that it supports; `problem` if they could not be queried."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class DirectStorage:
    """GPUDirect Storage: the kernel module nvidia-fs, cuFile's configuration file, and KvikIO's mode."""

    kernel_module: bool
    cufile_json: bool
    compat_mode: str | None

    @property
    def possible(self) -> bool:
        """Whether a server whose `direct_storage` is auto reads from the disk into the GPU's memory."""
        return self.kernel_module and (self.compat_mode is None or is_direct(self.compat_mode))


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in bytes: the machine's, or a control group's limit if lower."""

    total: int
    available: int


def select_engine(machine_gpus: Gpus) -> tuple[str, str]:
    """Returns the engine that runs on a machine with these GPUs, `gpu` or `cpu`, and why."""
    if not machine_gpus.gpus:
        return "cpu", machine_gpus.problem or "no GPU found"
    count = f"{len(machine_gpus.gpus)} GPU{'s' if len(machine_gpus.gpus) > 1 else ''} found"
    missing = [name for name in GPU_LIBRARIES if get_installed_gpu_version(name) is None]
    if missing:
        return "cpu", f"{count}; {len(missing)} of their packages missing"
    return "gpu", count


def list_visible_gpus(machine_gpus: Gpus, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Returns the GPUs that this process may use by CUDA_VISIBLE_DEVICES, by index or identifier."""
    devices = environment.get("CUDA_VISIBLE_DEVICES")
    if devices is not None:
        return tuple(device.strip() for device in devices.split(",") if device.strip())
    return tuple(str(gpu.index) for gpu in machine_gpus.gpus)


def query_gpus(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Gpus:
    """Queries nvidia-smi, found on the environment's PATH."""
    driver_file = root / "proc/driver/nvidia/version"
    driver = _read_driver_version(driver_file)
    program = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if program is None:
        problem = "a driver is loaded, but there is no nvidia-smi" if driver else None
        return Gpus(driver=driver, problem=problem)
    fields = "index,name,memory.total,compute_cap,driver_version"
    try:
        # Both in parallel: on a host of many GPUs each takes a second.
        with ThreadPoolExecutor(2) as executor:
            query = [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
            listing, overview = executor.map(_run_command, (query, [program]))
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "output", None) or str(error)
        return Gpus(driver=driver, problem=f"nvidia-smi failed: {' '.join(str(output).split())[:200]}")
    found_gpus = []
    for line in listing.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 5:
            memory_mib = int(parts[2]) if parts[2].isdigit() else 0
            found_gpus.append(Gpu(int(parts[0]), parts[1], memory_mib, parts[3]))
            driver = parts[4]
    cuda = overview.partition("CUDA Version:")[2].split()
    return Gpus(tuple(found_gpus), driver, cuda[0] if cuda else None)


def _run_command(command: list[str]) -> str:
    completed = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=NVIDIA_SMI_S, check=True
    )
    return completed.stdout


def _read_driver_version(path: Path) -> str | None:
    try:
        words = path.read_text().split()
    except OSError:
        return None
    return next((word for word in words if word[0].isdigit() and "." in word), None)


def inspect_direct_storage(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> DirectStorage:
    """Inspects GPUDirect Storage."""
    return DirectStorage(
        has_kernel_module(root),
        (root / "etc/cufile.json").exists(),
        environment.get(MODE_VARIABLE),
    )


def read_memory(root: Path = Path("/")) -> Memory:
    """Reads memory from /proc/meminfo, limited by control groups."""
    sizes = {}
    for line in (root / "proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        sizes[name] = int(rest.split()[0]) * 1024
    total, available = sizes["MemTotal"], sizes["MemAvailable"]
    total = min(total, read_memory_limit(root) or total)
    return Memory(total, min(available, total))


def get_free_disk(path: Path) -> int:
    """Returns the free bytes of the file system of a path, which need not exist."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def get_installed_version(name: str) -> str | None:
    """Returns a distribution's version; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def get_installed_gpu_version(name: str) -> str | None:
    """Returns the version of a GPU library for any CUDA version: `26.10.2 (cu13)`."""
    for suffix, cuda in (("-cu13", "cu13"), ("-cu12", "cu12"), ("13x", "cu13"), ("12x", "cu12"), ("", "")):
        version_ = get_installed_version(name + suffix)
        if version_ is not None:
            return f"{version_} ({cuda})" if cuda else version_
    return None


def get_cpu() -> tuple[str, int]:
    """Returns the processor's name and the number of threads that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return name, len(os.sched_getaffinity(0))
