"""A node of Kubernetes without a machine: its pods run in the objects' status alone."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
from typing import Any

from tests.support.deploy.control_plane import ApiError, ControlPlane

PERIOD_S = 0.3
LEASE_S = 10.0


class FakeNode:
    """A node with GPUs, and the thread that plays its kubelet: pods become ready at once, and end when they are told."""

    def __init__(self, plane: ControlPlane, name: str, gpus: int) -> None:
        self.name = name
        self._plane, self._gpus = plane, gpus
        self._addresses = itertools.count(2)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Registers the node."""
        labels = {"kubernetes.io/hostname": self.name, "nvidia.com/gpu.present": "true"}
        metadata = {"name": self.name, "labels": labels}
        self._plane.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}}
        self._plane.request("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease)
        self._renew()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._thread.join(30)

    def _run(self) -> None:
        for round in itertools.count():
            if self._stopped.wait(PERIOD_S):
                return
            try:
                if round % int(LEASE_S / PERIOD_S) == 0:
                    self._renew()
                pods = self._plane.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}")["items"]
                for pod in pods:
                    self._sync(pod)
            except (ApiError, OSError):
                continue  # an object that has changed or is gone: the next round sees it

    def _sync(self, pod: dict[str, Any]) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        if "deletionTimestamp" in pod["metadata"]:
            self._plane.request("DELETE", path, {"gracePeriodSeconds": 0})
            return
        if pod["status"].get("phase") != "Pending":
            return
        now = _now()
        conditions = [{"type": each, "status": "True", "lastTransitionTime": now}
                      for each in ("Initialized", "ContainersReady", "Ready", "PodScheduled")]  # fmt: skip
        containers = [
            {"name": each["name"], "image": each["image"], "imageID": "", "ready": True, "restartCount": 0,
             "state": {"running": {"startedAt": now}}}
            for each in pod["spec"]["containers"]
        ]  # fmt: skip
        address = f"10.244.0.{next(self._addresses) % 250}"
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": containers, "podIP": address}
        self._plane.patch(f"{path}/status", {"status": {**status, "startTime": now}})

    def _renew(self) -> None:
        capacity = {"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": str(self._gpus)}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": _now()}
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
        self._plane.patch(f"/api/v1/nodes/{self.name}/status", {"status": status})
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{self.name}"
        lease = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": _now(micro=True)}
        self._plane.patch(path, {"spec": lease})


def _now(*, micro: bool = False) -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
