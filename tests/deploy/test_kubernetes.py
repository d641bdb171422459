"""The chart on a control plane of Kubernetes, with a node of eight GPUs that exists in objects alone: `make test-helm`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.deploy.charts import CHART, RELEASE
from tests.support.deploy.control_plane import ApiError, ControlPlane
from tests.support.deploy.fake_node import FakeNode
from tests.support.deploy.tools import find_tool
from tests.support.sessions import wait_until

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        "GPUDB_TEST_KUBERNETES" not in os.environ or find_tool("kube-apiserver") is None,
        reason="make test-helm runs it",
    ),
]

NAMESPACE = "analytics"
GPUS = 8
INSTALL_S = 240
VALUES = ("metrics.serviceMonitor.enabled=false", "spill.storageClassName=", "persistence.size=10Gi")


class Cluster:
    """The control plane with a namespace that enforces the restricted standard."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def get(self, resource: str, name: str = "", group: str = "api/v1") -> Any:
        return self.plane.request("GET", f"/{group}/namespaces/{NAMESPACE}/{resource}/{name}".rstrip("/"))

    def pods(self, component: str) -> dict[str, dict[str, Any]]:
        found = self.get(f"pods?labelSelector=app.kubernetes.io/component%3D{component}")["items"]
        return {each["metadata"]["name"]: each for each in found}

    def helm(self, *arguments: str | Path) -> str:
        command = [str(find_tool("helm")), *map(str, arguments), "--namespace", NAMESPACE]
        environment = {**os.environ, "KUBECONFIG": str(self.plane.kubeconfig)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S + 60, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def deploy(self, command: str, *values: str, wait: bool = True) -> str:
        options = ["--wait", "--timeout", f"{INSTALL_S}s"] if wait else []
        given = [part for value in (*VALUES, *values) for part in ("--set", value)]
        return self.helm(command, RELEASE, CHART, "--values", CHART / "examples" / "eight-gpus.yaml", *given, *options)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ControlPlane(tmp_path_factory.mktemp("kubernetes")) as plane:
        enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": enforce}}
        plane.request("POST", "/api/v1/namespaces", namespace)
        spec = {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "shared",
            "nfs": {"server": "127.0.0.1", "path": "/"}, "persistentVolumeReclaimPolicy": "Retain",
        }  # fmt: skip
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "shared"}, "spec": spec}
        plane.request("POST", "/api/v1/persistentvolumes", volume)
        node = FakeNode(plane, "gpu-node", GPUS)
        node.start()
        try:
            made = Cluster(plane)
            made.deploy("install")
            yield made
        finally:
            node.stop()


def is_running(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("phase") == "Running" and pod["spec"].get("nodeName") == "gpu-node")


def test_eight_workers_are_placed_and_a_ninth_waits_for_a_gpu(cluster: Cluster) -> None:
    workers = cluster.pods("worker")
    assert sorted(workers) == [f"gpudb-worker-{number}" for number in range(GPUS)]
    assert all(is_running(each) for each in workers.values())
    assert all(
        is_running(each) for each in [*cluster.pods("coordinator").values(), *cluster.pods("scheduler").values()]
    )
    assert cluster.get("persistentvolumeclaims", "gpudb-data")["status"]["phase"] == "Bound"
    budget = cluster.get("poddisruptionbudgets", "gpudb-worker", "apis/policy/v1")
    assert budget["status"]["disruptionsAllowed"] == 1

    before = cluster.pods("coordinator")["gpudb-coordinator-0"]["metadata"]["uid"]
    cluster.deploy("upgrade", "workers.replicas=9", wait=False)

    def reason() -> str:
        pod = cluster.pods("worker").get("gpudb-worker-8", {"status": {}})
        return " ".join(each.get("message", "") for each in pod["status"].get("conditions", []))

    wait_until(lambda: "Insufficient nvidia.com/gpu" in reason(), "the scheduler's reason")
    assert cluster.pods("worker")["gpudb-worker-8"]["status"]["phase"] == "Pending"
    # The server is told of the number when it starts.
    wait_until(
        lambda: (
            cluster.pods("coordinator").get("gpudb-coordinator-0", {"metadata": {"uid": before}})["metadata"]["uid"]
            != before
        ),
        "the server's next pod",
    )
    assert cluster.get("configmaps", "gpudb")["data"]["GPUDB_WORKERS"] == "9"

    cluster.helm("rollback", RELEASE, "1", "--wait", "--timeout", f"{INSTALL_S}s")
    wait_until(lambda: len(cluster.pods("worker")) == GPUS, "eight workers")
    assert all(is_running(each) for each in cluster.pods("worker").values())
    assert cluster.get("configmaps", "gpudb")["data"]["GPUDB_WORKERS"] == "8"


def test_the_namespace_refuses_other_pods(cluster: Cluster) -> None:
    container = {"name": "root", "image": "gpudb"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"}, "spec": {"containers": [container]}}
    with pytest.raises(ApiError, match="violates PodSecurity") as refused:
        cluster.plane.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod)
    assert refused.value.status == 403


def test_an_upgrade_keeps_secrets_and_replaces_every_pod_for_another_image(cluster: Cluster) -> None:
    secrets = [cluster.get("secrets", name)["data"] for name in ("gpudb-passwords", "gpudb-cluster")]
    before = {
        pod["metadata"]["uid"] for kind in ("worker", "coordinator", "scheduler") for pod in cluster.pods(kind).values()
    }
    cluster.deploy("upgrade", "image.tag=0.2.0-cu13")
    pods = [pod for kind in ("worker", "coordinator", "scheduler") for pod in cluster.pods(kind).values()]
    assert not before & {pod["metadata"]["uid"] for pod in pods}
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"gpudb:0.2.0-cu13"}
    assert all(is_running(pod) for pod in pods)
    assert [cluster.get("secrets", name)["data"] for name in ("gpudb-passwords", "gpudb-cluster")] == secrets


def test_a_drain_takes_one_worker_at_a_time(cluster: Cluster) -> None:
    def evict(name: str) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
        cluster.plane.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", body)

    wait_until(
        lambda: cluster.get("poddisruptionbudgets", "gpudb-worker", "apis/policy/v1")["status"]["disruptionsAllowed"],
        "room for an eviction",
    )
    evict("gpudb-worker-0")
    with pytest.raises(ApiError, match="disruption budget") as refused:
        evict("gpudb-worker-1")
    assert refused.value.status == 429
    wait_until(
        lambda: is_running(cluster.pods("worker").get("gpudb-worker-0", {"status": {}})), "the worker's next pod"
    )


def test_an_uninstall_keeps_the_volume_and_the_passwords(cluster: Cluster) -> None:
    password = cluster.get("secrets", "gpudb-passwords")["data"]
    volume = cluster.get("persistentvolumeclaims", "gpudb-data")["metadata"]["uid"]
    cluster.helm("uninstall", RELEASE, "--wait", "--timeout", f"{INSTALL_S}s")
    wait_until(lambda: not cluster.pods("worker") and not cluster.pods("coordinator"), "no pods")
    assert cluster.get("persistentvolumeclaims", "gpudb-data")["status"]["phase"] == "Bound"
    with pytest.raises(ApiError):
        cluster.get("configmaps", "gpudb")
    cluster.deploy("install")
    assert cluster.get("secrets", "gpudb-passwords")["data"] == password
    assert cluster.get("persistentvolumeclaims", "gpudb-data")["metadata"]["uid"] == volume
