"""Prometheus on loopback: it scrapes a server every second, has the rules of deploy/monitoring, and answers queries."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.support.deploy.ports import find_port
from tests.support.deploy.tools import ROOT, find_tool

MONITORING = ROOT / "deploy" / "monitoring"
INTERVAL_S = 1
START_S = 60


class Prometheus:
    """A running Prometheus with the job `gpudb`. A context manager that ends it.

    `target` is HOST:PORT. Its files are in `folder`.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._config = folder / "prometheus.yml"
        config = {
            "global": {"scrape_interval": f"{INTERVAL_S}s", "evaluation_interval": f"{INTERVAL_S}s"},
            "rule_files": [str(MONITORING / "alerts.yaml")],
            "scrape_configs": [{"job_name": "gpudb", "static_configs": [{"targets": [target]}]}],
        }
        self._config.write_text(yaml.safe_dump(config), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prometheus:
        address = f"127.0.0.1:{find_port()}"
        self._url = f"http://{address}"
        command = [str(find_tool("prometheus")), f"--config.file={self._config}"]
        command += [f"--storage.tsdb.path={self.folder / 'data'}", f"--web.listen-address={address}"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        end = time.monotonic() + START_S
        while not self._is_ready():
            if time.monotonic() > end or self._process.poll() is not None:
                self.__exit__(None, None, None)
                raise RuntimeError((self.folder / "log").read_text(errors="replace"))
            time.sleep(0.1)
        return self

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Returns the samples of an instant query: `metric` has labels, `value` the time and the value as text."""
        return list(self._get("query", query=expression)["result"])

    def list_rules(self) -> list[dict[str, Any]]:
        """Returns the rules, with their state and `health`: `ok` once one was evaluated without an error."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def _get(self, path: str, **parameters: str) -> Any:
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                answer = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters}: {error.read().decode(errors='replace')}") from None
        assert answer["status"] == "success", answer
        assert not answer.get("warnings"), answer
        return answer["data"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(20)
