"""The chart's files, and its objects as helm renders them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.deploy.tools import ROOT, find_tool

CHART = ROOT / "deploy" / "helm" / "gpudb"
EXAMPLES = tuple(sorted((CHART / "examples").glob("*.yaml")))
RELEASE = "gpudb"
HELM_S = 60


def run_helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs helm; skips the test where `make helm-tools` has not built it."""
    helm = find_tool("helm")
    if helm is None:
        pytest.skip("helm is not built: make helm-tools")
    return subprocess.run([helm, *map(str, arguments)], capture_output=True, text=True, timeout=HELM_S)


def refuse(*values: str) -> str:
    """Returns the message with which the chart refuses values (`name=value`)."""
    done = run_helm("template", RELEASE, CHART, *(part for value in values for part in ("--set", value)))
    assert done.returncode != 0, "the values are accepted"
    return done.stderr


@functools.cache
def render_text(example: Path | None = None, *values: str) -> str:
    """Returns the chart's objects as YAML, with the values of an example and others (`name=value`)."""
    options: list[str | Path] = [] if example is None else ["--values", example]
    done = run_helm("template", RELEASE, CHART, *options, *(part for value in values for part in ("--set", value)))
    assert done.returncode == 0, done.stderr
    return done.stdout


def render(example: Path | None = None, *values: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns the chart's objects by kind and name."""
    loaded = [each for each in yaml.safe_load_all(render_text(example, *values)) if each]
    found = {(each["kind"], each["metadata"]["name"]): each for each in loaded}
    assert len(found) == len(loaded), "two objects have one name"
    return found


def get_pod_specs(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the pod specs of rendered objects by the objects' names."""
    found = {}
    for (kind, name), each in objects.items():
        spec = each.get("spec", {})
        if kind == "CronJob":
            spec = spec["jobTemplate"]["spec"]
        if kind == "Pod":
            found[name] = spec
        elif "template" in spec:
            found[name] = spec["template"]["spec"]
    return found
