"""The chart's values, without helm: documented, checked by the schema, and known to the program."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from gpudb.config.program import Settings
from tests.support.deploy.charts import CHART, EXAMPLES
from tests.support.deploy.tools import KUBERNETES, ROOT

VALUES = CHART / "values.yaml"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
_OPAQUE = frozenset({"tolerations", "issuerRef", "resources", "podSecurityContext", "containerSecurityContext"})
"""Values that are one thing for their readers."""


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def list_paths(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The paths of values without values within."""
    for name, value in values.items():
        if isinstance(value, dict) and value and name not in _OPAQUE:
            yield from list_paths(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def list_schema_paths(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in schema["properties"].items():
        if value.get("properties") and name not in _OPAQUE:
            yield from list_schema_paths(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def merge(below: Any, above: Any) -> Any:
    """Values with others over them, as helm merges them."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {name: merge(below.get(name), value) for name, value in above.items()}
    return above


def test_the_schema_is_one_and_has_every_value() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert set(list_schema_paths(SCHEMA)) - {"global"} == set(list_paths(load(VALUES)))


@pytest.mark.parametrize("example", [None, *EXAMPLES], ids=lambda each: "values" if each is None else each.stem)
def test_values_and_examples_are_valid(example: Path | None) -> None:
    values = load(VALUES) if example is None else merge(load(VALUES), load(example))
    assert not [error.message for error in Draft7Validator(SCHEMA).iter_errors(values)]


@pytest.mark.parametrize(
    "path, value",
    [
        ("engine", "cuda"),
        ("workers.replicas", -1),
        ("workers.replicas", "8"),
        ("workers.replica", 8),
        ("gpu.resource", "gpu"),
        ("gpu.count", 0),
        ("persistence.size", "ten"),
        ("persistence.accessModes", ["ReadOnlyMany"]),
        ("persistence.accessModes", []),
        ("coordinator.host", "127.0.0.1"),
        ("coordinator.shutdownTimeout", "60s"),
        ("coordinator.resources", {"limit": {"memory": "1Gi"}}),
        ("service.type", "ExternalName"),
        ("service.port", 0),
        ("backup.schedule", "nightly"),
        ("backup.destination", "backups"),
        ("gateway.parentRefs", [{"namespace": "infra"}]),
        ("restore.source", "backups"),
        ("restore.at", "yesterday"),
        ("image.digest", "sha256:abc"),
        ("image.repository", "gpudb:1"),
        ("settings", {"Max-Connections": 3}),
        ("settings", {"max_connections": [3]}),
        ("auth.existingSecret", "My Secret"),
        ("tls.certManager.duration", "90 days"),
    ],
)
def test_nonsense_is_refused(path: str, value: Any) -> None:
    over: Any = value
    for name in reversed(path.split(".")):
        over = {name: over}
    errors = list(Draft7Validator(SCHEMA).iter_errors(merge(load(VALUES), over)))
    assert errors
    assert all(str(error.absolute_path[0] if error.absolute_path else path.split(".")[0]) in path for error in errors)


def test_every_value_is_described() -> None:
    lines = VALUES.read_text(encoding="utf-8").splitlines()
    described, path = set(), []
    for number, line in enumerate(lines):
        found = re.match(r"^( *)([A-Za-z]+):", line)
        if found is None or (path and len(found[1]) // 2 > len(path)):
            continue
        path = [*path[: len(found[1]) // 2], found[2]]
        above = number - 1
        while lines[above].strip().startswith("#") and "# --" not in lines[above]:
            above -= 1
        if "# --" in lines[above]:
            assert re.search(r"# -- \S.{8,}", lines[above]), lines[above]
            described.add(".".join(path))
    assert set(list_paths(load(VALUES))) <= described


def test_the_program_knows_the_settings_of_the_chart() -> None:
    text = (CHART / "templates" / "configmap.yaml").read_text(encoding="utf-8")
    names = {name.lower() for name in re.findall(r"^ *GPUDB_([A-Z_]+):", text, re.MULTILINE)}
    assert names <= set(Settings.model_fields)
    refused = (CHART / "templates" / "validate.yaml").read_text(encoding="utf-8")
    dictionary = re.search(r"\$instead := dict (.*?) -}}", refused)
    assert dictionary is not None
    instead = dict(zip(*[iter(re.findall(r'"([^"]+)"', dictionary[1]))] * 2, strict=True))
    assert set(instead) | {"workers"} == names | {"cluster_insecure"}
    known = set(list_paths(load(VALUES)))
    assert [each for each in instead.values() if not any(f"{path}.".startswith(f"{each}.") for path in known)] == []
    example = re.search(r"settings.*`\{(.*?)\}`|`\{(.*?)\}`\nsettings", VALUES.read_text(encoding="utf-8"))
    assert example is not None
    assert set(re.findall(r"(\w+):", example[1] or example[2])) <= set(Settings.model_fields)


@pytest.mark.parametrize("name", ["alerts.yaml", "dashboard.json"])
def test_the_chart_has_copies_of_alerts_and_dashboard(name: str) -> None:
    # helm reads files of the chart alone, and a checkout may lose symbolic links.
    assert (CHART / "files" / name).read_bytes() == (ROOT / "deploy" / "monitoring" / name).read_bytes()


def test_versions_agree() -> None:
    chart = load(CHART / "Chart.yaml")
    version = re.search(r'^__version__ = "(.*)"', (ROOT / "gpudb" / "distribution.py").read_text(), re.MULTILINE)
    assert version is not None
    assert chart["appVersion"] == version[1]
    assert f"k8s.io/kubernetes v{KUBERNETES}" in (ROOT / "deploy" / "tools" / "kubernetes" / "go.mod").read_text()
    for example in EXAMPLES:
        tag = load(example).get("image", {}).get("tag", version[1])
        assert tag.split("-")[0] == version[1]
        assert tag.split("-")[1:] in ([], ["cu12"], ["cu13"])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"cluster", "cu12", "cu13"} <= set(extras)
