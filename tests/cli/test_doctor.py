from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpudb.cli import machine
from gpudb.cli.doctor import examine
from tests.support.command_line import run_command, run_in_process

SMI = """#!/bin/sh
case "$*" in
  *query-gpu*) echo "0, NVIDIA H200, 143771, 9.0, 580.95.05"; echo "1, NVIDIA H200, 143771, 9.0, 580.95.05" ;;
  *) echo "| NVIDIA-SMI 580.95.05     Driver Version: 580.95.05     CUDA Version: 13.0     |" ;;
esac
"""


def host(root: Path, smi: str | None = None, nvidia_fs: bool = False) -> dict[str, str]:
    """A file system with the files that doctor reads, and an environment."""
    (root / "proc/driver").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n")
    if nvidia_fs:
        (root / "proc/driver/nvidia-fs").mkdir()
    if smi is not None:
        program = root / "bin/nvidia-smi"
        program.parent.mkdir()
        program.write_text(smi)
        program.chmod(0o755)
    return {"PATH": f"{root}/bin:/bin:/usr/bin" if smi is not None else f"{root}/none"}


def test_without_a_gpu(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = run_command("doctor", "--data-dir", tmp_path / "data", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "engine: cpu (no GPU found)"
    assert "duckdb" in done.stdout
    assert not (tmp_path / "data").exists()


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run_in_process("doctor", "--json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["verdict"] == "engine: cpu (no GPU found)"
    found = {item["name"]: item for item in report["findings"]}
    assert found["pyarrow"]["state"] == "ok"
    assert {"section", "name", "state", "value", "advice"} == set(found["memory"])


def test_with_gpus(tmp_path: Path) -> None:
    environment = {**host(tmp_path, SMI, nvidia_fs=True), "KVIKIO_COMPAT_MODE": "ON"}
    report = examine(tmp_path, environment, tmp_path)
    missing = sum(machine.get_installed_gpu_version(name) is None for name in machine.GPU_LIBRARIES)
    lacking = f"engine: cpu (2 GPUs found; {missing} of their packages missing)"
    assert report.verdict == (lacking if missing else "engine: gpu (2 GPUs found)")
    found = {item.name: item for item in report.findings}
    assert found["GPU 1"].value == "NVIDIA H200, 140 GiB, compute capability 9.0"
    assert found["driver"].value == "580.95.05, runs CUDA up to 13.0"
    assert found["nvidia-fs"].state == "ok"
    assert "KVIKIO_COMPAT_MODE=AUTO" in found["KVIKIO_COMPAT_MODE"].advice
    if found["cudf"].state == "missing":
        assert found["to do"].advice == "Run: pip install 'gpudb-sql[cu13]'"
    assert found["memory"].state == "missing"  # below LEAST_MEMORY


def test_visible_gpus_are_those_that_the_environment_names() -> None:
    found = machine.Gpus((machine.Gpu(0, "a", 1, "9.0"), machine.Gpu(1, "b", 1, "9.0")))
    assert machine.list_visible_gpus(found, {}) == ("0", "1")
    assert machine.list_visible_gpus(found, {"CUDA_VISIBLE_DEVICES": "1"}) == ("1",)
    assert machine.list_visible_gpus(found, {"CUDA_VISIBLE_DEVICES": ""}) == ()


def test_an_nvidia_smi_that_fails(tmp_path: Path) -> None:
    environment = host(tmp_path, "#!/bin/sh\necho 'Failed to initialize NVML'\nexit 9\n")
    report = examine(tmp_path, environment, tmp_path)
    assert "Failed to initialize NVML" in report.verdict
    assert report.engine == "cpu"


def test_direct_storage_is_on_with_its_module_unless_said_otherwise(tmp_path: Path) -> None:
    assert not machine.inspect_direct_storage({}, tmp_path).possible
    host(tmp_path, nvidia_fs=True)
    assert machine.inspect_direct_storage({}, tmp_path).possible
    assert not machine.inspect_direct_storage({"KVIKIO_COMPAT_MODE": "ON"}, tmp_path).possible
    assert machine.inspect_direct_storage({"KVIKIO_COMPAT_MODE": "off"}, tmp_path).possible


def test_memory_is_the_control_groups_where_that_is_less(tmp_path: Path) -> None:
    host(tmp_path)
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    assert machine.read_memory(tmp_path) == machine.Memory(1_024_000_000, 921_600_000)
    (group / "memory.max").write_text("536870912\n")
    assert machine.read_memory(tmp_path) == machine.Memory(536_870_912, 536_870_912)
