"""JSON schemas of Kubernetes' objects for kubeconform, written from the modules that hold their definitions.

Unknown fields are errors. The names of files are those of kubeconform: KIND-GROUP-VERSION.json.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DEFINITIONS = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
    "sigs.k8s.io/gateway-api@v1.3.0": ("config/crd/experimental/gateway.networking.k8s.io_tcproutes.yaml",),
    "github.com/cert-manager/cert-manager@v1.21.2": (
        "deploy/crds/cert-manager.io_certificates.yaml",
        "deploy/crds/cert-manager.io_issuers.yaml",
    ),
}
"""Modules with definitions of custom resources, and their files."""
DOWNLOAD_S = 600


def write_schemas(go: str, version: str, folder: Path) -> None:
    """Writes the schemas of a version of Kubernetes, of cert-manager, of the Gateway API and of the Prometheus operator."""
    folder.mkdir(parents=True)
    swagger = _download(go, f"k8s.io/kubernetes@v{version}") / "api" / "openapi-spec" / "swagger.json"
    _write_builtin(json.loads(swagger.read_text(encoding="utf-8"))["definitions"], folder)
    for module, paths in DEFINITIONS.items():
        root = _download(go, module)
        for path in paths:
            _write_custom(yaml.safe_load((root / path).read_text(encoding="utf-8")), folder)


def _download(go: str, module: str) -> Path:
    command = [go, "mod", "download", "-json", module]
    done = subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_S, cwd="/")
    return Path(json.loads(done.stdout)["Dir"])


def _write_builtin(definitions: dict[str, Any], folder: Path) -> None:
    strict = {name: _make_strict(definition) for name, definition in definitions.items()}
    # An amount may be written as a number.
    strict["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            used = {each: strict[each] for each in _list_references(strict, name)}
            _write(folder, kind["group"], kind["version"], kind["kind"], {**strict[name], "definitions": used})


def _write_custom(definition: dict[str, Any], folder: Path) -> None:
    spec = definition["spec"]
    for version in spec["versions"]:
        schema = _make_strict(version["schema"]["openAPIV3Schema"])
        schema["properties"] |= {"metadata": {"type": "object"}}
        _write(folder, spec["group"], version["name"], spec["names"]["kind"], schema)


def _write(folder: Path, group: str, version: str, kind: str, schema: dict[str, Any]) -> None:
    prefix = f"{group.split('.')[0]}-" if group else ""
    (folder / f"{kind}-{prefix}{version}.json".lower()).write_text(json.dumps(schema), encoding="utf-8")


def _make_strict(schema: Any) -> Any:
    """Returns a schema whose objects have no fields beside their properties."""
    if isinstance(schema, list):
        return [_make_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    strict = {key: _make_strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        strict.setdefault("additionalProperties", False)
    return strict


def _list_references(definitions: dict[str, Any], name: str) -> set[str]:
    """Returns the definitions that one refers to, itself included where it does."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in _find_references(definitions[waiting.pop()]):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _find_references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.rpartition("/")[2]
        for value in schema.values():
            yield from _find_references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _find_references(value)
