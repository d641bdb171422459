"""Programs of Kubernetes and Prometheus that test what is in deploy/, built by Go once into a cache.

`deploy/tools` pins their modules, with checksums. As a program: `python -m tests.support.deploy.tools helm kubernetes`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.deploy.schemas import write_schemas

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "deploy" / "tools"
CACHE_VARIABLE = "GPUDB_DEPLOY_TOOLS"
KUBERNETES = "1.35.4"
"""The version of Kubernetes whose programs run and whose schemas check the chart; `deploy/tools/kubernetes` has it."""
BUILD_S = 3000
MODULES = {
    "helm": ("helm", "kubeconform"),
    "kubernetes": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    "prometheus": ("prometheus", "promtool"),
}
"""The folders of `deploy/tools`, and the programs of each."""
_BUILT_NAMES = {"server": "etcd"}
"""Names that Go gives to programs, and their own."""
_TAGS = {"prometheus": "remove_all_sd"}
"""Build tags: Prometheus without its clients of clouds, which are most of its code. Its web pages are not built."""
_MINOR = KUBERNETES.split(".")[1]
_FLAGS = {
    # What helm takes for the cluster's version when it renders or lints without one.
    "helm": " ".join(
        f"-X helm.sh/helm/v3/pkg/{package}.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/{package}.k8sVersionMinor={_MINOR}"
        for package in ("lint/rules", "chartutil")
    ),
    # What the API server tells clients.
    "kubernetes": f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES}"
    f" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor={_MINOR}",
}


def find_tool(name: str) -> Path | None:
    """Returns a program that `build_tools` has built, or None."""
    module = next(module for module, names in MODULES.items() if name in names)
    path = _get_folder(module) / name
    return path if path.is_file() else None


def find_schemas() -> Path | None:
    """Returns the folder of JSON schemas that `build_tools("helm")` has written, or None."""
    path = _get_folder("helm") / "schemas"
    return path if path.is_dir() else None


def build_tools(module: str) -> Path:
    """Builds the programs of a folder of `deploy/tools`, unless they are there; returns their folder.

    Raises RuntimeError without Go; CalledProcessError if a module cannot be had or built.
    """
    folder = _get_folder(module)
    if folder.is_dir():
        return folder
    go = shutil.which("go")
    if go is None:
        raise RuntimeError("building the tools of deploy/tools needs Go")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f"{module}-", dir=folder.parent))
    try:
        flags = f"-s -w {_FLAGS.get(module, '')}".strip()
        command = [go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags]
        command += ["-tags", _TAGS.get(module, ""), "-o", f"{made}/"]
        subprocess.run([*command, "tool"], cwd=SOURCES / module, check=True, timeout=BUILD_S)
        for built, name in _BUILT_NAMES.items():
            if (made / built).exists():
                (made / built).rename(made / name)
        if module == "helm":
            write_schemas(go, KUBERNETES, made / "schemas")
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return folder


def _get_folder(module: str) -> Path:
    """Returns the cache's folder of a module's programs; it changes with the versions."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get(CACHE_VARIABLE) or Path(home) / "gpudb" / "deploy-tools")
    sums = (SOURCES / module / "go.sum").read_bytes() + Path(__file__).with_name("schemas.py").read_bytes()
    return cache / f"{module}-{hashlib.sha256(sums + KUBERNETES.encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(f"{each}: {build_tools(each)}")
