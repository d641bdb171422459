"""`gpudb doctor`: what is present, what is missing, and what to do about it; the last line is the engine that
will run.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console

from gpudb.cli import machine
from gpudb.cli.output import format_size
from gpudb.distribution import __version__, render_install

MIN_MEMORY = 2 << 30
MIN_DISK = 5 << 30

_STYLES = {"ok": "[green]✓[/]", "missing": "[yellow]![/]", "info": " "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: `state` is ok, missing or info; `advice` says what to do, if anything."""

    section: str
    name: str
    state: str
    value: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, and the engine that will run with its reason."""

    engine: str
    reason: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """`engine: cpu (no GPU found)`."""
        return f"engine: {self.engine} ({self.reason})"


def examine(data_dir: Path, environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Report:
    """Inspects the machine; `root` is the directory of /proc and /sys."""
    gpus = machine.query_gpus(environment, root)
    findings = [
        *_examine_host(data_dir, root),
        *_examine_libraries(),
        *_examine_gpus(gpus),
        *_examine_rapids(gpus),
        *_examine_storage(gpus, environment, root),
    ]
    return Report(*machine.select_engine(gpus), findings)


def _examine_host(data_dir: Path, root: Path) -> list[Finding]:
    section = "Host"
    name, threads = machine.get_cpu()
    memory = machine.read_memory(root)
    free = machine.get_free_disk(data_dir)
    small = memory.available < MIN_MEMORY
    full = free < MIN_DISK
    writable = os.access(_find_existing(data_dir), os.W_OK)
    advice = "" if writable else "Choose another --data-dir, or give this user the right to write there."
    if full:
        advice = advice or "Free some space: tables, their older snapshots and spilled rows need it."
    return [
        Finding(section, "gpudb", "ok", __version__),
        Finding(section, "Python", "ok", f"{platform.python_version()} ({sys.executable})"),
        Finding(section, "system", "info", platform.platform()),
        Finding(section, "processor", "info", f"{name}, {threads} thread{'s' if threads != 1 else ''}"),
        Finding(
            section,
            "memory",
            "missing" if small else "ok",
            f"{format_size(memory.available)} free of {format_size(memory.total)}",
            "Queries will spill to the disk: free some memory, or set memory_limit." if small else "",
        ),
        Finding(
            section,
            "disk",
            "ok" if writable and not full else "missing",
            f"{format_size(free)} free at {data_dir}" + ("" if writable else ", which cannot be written"),
            advice,
        ),
    ]


def _find_existing(path: Path) -> Path:
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing


def _examine_libraries() -> list[Finding]:
    findings = []
    for name in machine.LIBRARIES:
        version_ = machine.get_installed_version(name)
        if version_ is not None:
            findings.append(Finding("Libraries", name, "ok", version_))
        elif name in machine.OPTIONAL:
            value = f"not installed; needed for {machine.OPTIONAL[name]}"
            findings.append(Finding("Libraries", name, "info", value, f"Where wanted: pip install {name}"))
        else:
            findings.append(Finding("Libraries", name, "missing", "not installed", f"Run: pip install {name}"))
    return findings


def _examine_gpus(gpus: machine.Gpus) -> list[Finding]:
    section = "GPU"
    if gpus.problem is not None:
        advice = "Install the driver's tools, or mend the driver: nvidia-smi should list the GPUs."
        return [Finding(section, "GPUs", "missing", gpus.problem, advice)]
    if not gpus.gpus:
        return [Finding(section, "GPUs", "info", "none (no nvidia-smi)" if gpus.driver is None else "none")]
    findings = [
        Finding(
            section,
            f"GPU {gpu.index}",
            "ok",
            f"{gpu.name}, {gpu.memory_mib / 1024:.0f} GiB, compute capability {gpu.compute_capability}",
        )
        for gpu in gpus.gpus
    ]
    findings.append(Finding(section, "driver", "ok", f"{gpus.driver}, runs CUDA up to {gpus.cuda or '?'}"))
    return findings


def _examine_rapids(gpus: machine.Gpus) -> list[Finding]:
    section = "RAPIDS"
    versions = {name: machine.get_installed_gpu_version(name) for name in machine.GPU_LIBRARIES}
    major = (gpus.cuda or "").partition(".")[0]
    extra = "cu13" if not major.isdigit() or int(major) >= 13 else "cu12"
    missing = [name for name, value in versions.items() if value is None]
    if not gpus.gpus:
        present = {name: value for name, value in versions.items() if value is not None}
        if not present:
            return [Finding(section, "packages", "info", "not installed; of use with a GPU alone")]
        return [Finding(section, name.rstrip("-"), "info", value) for name, value in present.items()]
    findings = [
        Finding(section, name, "ok" if value else "missing", value or "not installed")
        for name, value in versions.items()
    ]
    if missing:
        findings.append(
            Finding(section, "to do", "missing", f"{len(missing)} missing", f"Run: {render_install(extra)}")
        )
    return findings


def _examine_storage(gpus: machine.Gpus, environment: Mapping[str, str], root: Path) -> list[Finding]:
    section = "GPUDirect Storage"
    storage = machine.inspect_direct_storage(environment, root)
    if not gpus.gpus:
        return [Finding(section, "nvidia-fs", "info", "of use with a GPU alone")]
    compat = storage.compat_mode or "not set: direct_storage says"
    advice = ""
    if not storage.kernel_module:
        advice = "Install nvidia-fs (package nvidia-gds) and load it: modprobe nvidia-fs. Until then reads go by POSIX."
    mode = "" if storage.possible or not storage.kernel_module else "Unset it, or set KVIKIO_COMPAT_MODE=AUTO."
    state = "ok" if storage.kernel_module else "missing"
    return [
        Finding(section, "nvidia-fs", state, "loaded" if storage.kernel_module else "not loaded", advice),
        Finding(section, "cufile.json", "info", "there" if storage.cufile_json else "none; cuFile's defaults hold"),
        Finding(section, "KVIKIO_COMPAT_MODE", "missing" if mode else "info", compat, mode),
    ]


def run(*, as_json: bool, data_dir: Path | None) -> None:
    """Prints the report."""
    report = examine(data_dir or Path("gpudb-data"))
    if as_json:
        summary = {"engine": report.engine, "reason": report.reason, "verdict": report.verdict}
        print(json.dumps({**summary, "findings": [asdict(finding) for finding in report.findings]}, indent=2))
        return
    console = Console(highlight=False, soft_wrap=True)
    section = ""
    for finding in report.findings:
        if finding.section != section:
            section = finding.section
            console.print(f"[bold]{section}[/]")
        console.print(f"  {_STYLES[finding.state]} {finding.name:<20} ", end="")
        console.print(finding.value, markup=False)
        if finding.advice:
            console.print(f"      → {finding.advice}", markup=False)
    console.print()
    console.print(report.verdict, markup=False)
