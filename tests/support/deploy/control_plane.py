"""A control plane of Kubernetes on loopback: etcd, API server, controller manager and scheduler, and a client of it."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.deploy.ports import find_port
from tests.support.deploy.tools import find_tool

START_S = 120
_TOKEN = "loopback"


class ApiError(Exception):
    """A refused request: the status and the server's message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class ControlPlane:
    """The programs, each in its own process, with their files in a folder. A context manager that ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self._programs: list[subprocess.Popen[bytes]] = []
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE  # it signs its certificate itself

    def __enter__(self) -> ControlPlane:
        etcd, peers, api = (find_port() for _ in range(3))
        self._url = f"https://127.0.0.1:{api}"
        key = self._write_files()
        try:
            self._start(
                "etcd", f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=error",
                f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                f"--listen-peer-urls=http://127.0.0.1:{peers}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
                f"--initial-cluster=default=http://127.0.0.1:{peers}",
            )  # fmt: skip
            self._start(
                "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", f"--secure-port={api}",
                "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={self.folder / 'api'}",
                f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC",
                "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
                f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.96.0.0/16",
                "--endpoint-reconciler-type=none",
            )  # fmt: skip
            self._wait_until_ready()
            common = (f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0")
            self._start("kube-controller-manager", *common, f"--service-account-private-key-file={key}")
            self._start("kube-scheduler", *common)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in reversed(self._programs):
            program.terminate()
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait(20)

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Sends a request to the API; returns the decoded reply. Raises ApiError."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._tls) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            message = json.loads(text).get("message", text) if text.startswith("{") else text
            raise ApiError(error.code, message) from None

    def patch(self, path: str, body: Any) -> Any:
        """Merges fields into an object."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def _start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [str(find_tool(name)), *arguments]
            self._programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def _write_files(self) -> Path:
        key = self.folder / "service-accounts.key"
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        key.write_bytes(private.private_bytes(*form))
        (self.folder / "tokens.csv").write_text(f'{_TOKEN},admin,admin,"system:masters"\n')
        cluster = {"server": self._url, "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "loopback",
            "clusters": [{"name": "loopback", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "loopback", "context": {"cluster": "loopback", "user": "admin"}}],
        }  # fmt: skip
        self.kubeconfig.write_text(json.dumps(config))
        return key

    def _wait_until_ready(self) -> None:
        ends = time.monotonic() + START_S
        while True:
            try:
                self.request("GET", "/api/v1/namespaces/kube-system")
                return
            except (ApiError, OSError) as error:
                if time.monotonic() > ends or any(program.poll() is not None for program in self._programs):
                    logs = [(self.folder / f"{name}.log").read_text()[-2000:] for name in ("etcd", "kube-apiserver")]
                    raise AssertionError("\n".join([str(error), *logs])) from error
            time.sleep(0.2)
