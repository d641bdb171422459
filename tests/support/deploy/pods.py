"""Pods of the rendered chart as processes of this machine: their commands, environment, mounts and exec probes."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.deploy.charts import get_pod_specs

_PROGRAMS = {"gpudb": "gpudb.cli", "dask": "dask"}
"""Programs of the image, and the modules that they run."""

Objects = Mapping[tuple[str, str], Mapping[str, Any]]


class Pod:
    """The first container of a pod; `folder` gets its volumes, of which those of `shared` are other pods' too.

    `replaced` are texts to exchange in its command and environment: addresses that only a cluster has.
    """

    def __init__(
        self,
        objects: Objects,
        owner: str,
        folder: Path,
        *,
        name: str = "",
        shared: Mapping[str, Path] | None = None,
        replaced: Mapping[str, str] | None = None,
    ) -> None:
        spec = get_pod_specs(dict(objects))[owner]
        (self._container,) = spec["containers"]
        self.name = name or owner
        self.folder = folder / self.name
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._objects = objects
        self._fields = {"metadata.name": self.name, "status.podIP": "127.0.0.1"}
        volumes = {each["name"]: each for each in spec["volumes"]}
        self._replaced = dict(replaced or {})
        for mount in self._container["volumeMounts"]:
            if mount["mountPath"] == "/dev/shm":
                continue
            place = (shared or {}).get(mount["name"], self.folder / mount["name"])
            place.mkdir(parents=True, exist_ok=True)
            self._fill(place, volumes[mount["name"]])
            self._replaced[mount["mountPath"]] = str(place)
        for init in spec.get("initContainers", []):
            subprocess.run([self._replace(each) for each in init["command"]], check=True, timeout=20)

    def start(self, **environment: str) -> None:
        """Starts the container's command, with other values of some variables."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment | environment
            )

    def run(self, seconds: float) -> subprocess.CompletedProcess[str]:
        """Runs a command that ends."""
        return subprocess.run(self.command, capture_output=True, text=True, timeout=seconds, env=self.environment)

    @property
    def command(self) -> list[str]:
        """The command; the image's own is gpudb."""
        program, *arguments = [*self._container.get("command", ["gpudb"]), *self._container.get("args", [])]
        command = [self._replace(each) for each in arguments]
        variables = self.environment
        command = [re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], each) for each in command]
        return [sys.executable, "-m", _PROGRAMS[program], *command]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the pod; those that Python and this machine need stay."""
        found: dict[str, str] = {}
        for source in self._container.get("envFrom", []):
            found |= self._objects["ConfigMap", source["configMapRef"]["name"]]["data"]
        for each in self._container.get("env", []):
            found[each["name"]] = each["value"] if "value" in each else self._read(each["valueFrom"])
        return dict(os.environ) | {name: self._replace(value) for name, value in found.items()}

    def probe(self, kind: str) -> bool:
        """Runs an exec probe (`startup`, `readiness`, `liveness`)."""
        probe = self._container[f"{kind}Probe"]
        command = [self._replace(each) for each in probe["exec"]["command"]]
        return subprocess.run(command, capture_output=True, timeout=probe["timeoutSeconds"]).returncode == 0

    def end(self, seconds: float) -> int:
        """Sends SIGTERM, as an ending pod gets it, and returns the exit status; SIGKILL after the time."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(20)

    def read_log(self) -> str:
        """Returns what the process has printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _replace(self, text: str) -> str:
        # Longer texts first: one may begin another. At once: what is put in has the same texts.
        names = sorted(self._replaced, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, names)), lambda found: self._replaced[found[0]], text)

    def _read(self, source: Mapping[str, Any]) -> str:
        if "fieldRef" in source:
            return self._fields[source["fieldRef"]["fieldPath"]]
        reference = source["secretKeyRef"]
        return self._secret(reference["name"])[reference["key"]].decode()

    def _secret(self, name: str) -> dict[str, bytes]:
        secret = self._objects["Secret", name]
        data = {key: base64.b64decode(value) for key, value in secret.get("data", {}).items()}
        return data | {key: value.encode() for key, value in secret.get("stringData", {}).items()}

    def _fill(self, place: Path, volume: Mapping[str, Any]) -> None:
        if "secret" not in volume:
            return
        for key, value in self._secret(volume["secret"]["secretName"]).items():
            if not (place / key).exists():
                (place / key).write_bytes(value)
                (place / key).chmod(volume["secret"]["defaultMode"])
