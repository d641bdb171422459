"""The chart as helm renders it: valid objects, pods that the restricted standard admits, and refused contradictions.

Skipped where `make helm-tools` has not built helm.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.deploy.charts import CHART, EXAMPLES, get_pod_specs, refuse, render, render_text, run_helm
from tests.support.deploy.tools import KUBERNETES, ROOT, find_schemas, find_tool

EIGHT, LAPTOP, MIG, ONE = EXAMPLES
EVERYTHING = (
    "engine=gpu",
    "workers.replicas=2",
    "persistence.accessModes={ReadWriteMany}",
    "gpu.claim.enabled=true",
    "gpu.runtimeClassName=nvidia",
    "tls.certManager.enabled=true",
    "tls.certManager.issuerRef.name=ca",
    "cluster.certificates.certManager.enabled=true",
    "tls.clientCASecret=clients",
    "metrics.podMonitor.enabled=true",
    "metrics.rules.enabled=true",
    "metrics.dashboard.enabled=true",
    "backup.enabled=true",
    "gateway.enabled=true",
    "gateway.parentRefs[0].name=edge",
    "gateway.parentRefs[0].namespace=infra",
    "gateway.parentRefs[0].sectionName=postgresql",
    "gateway.annotations.team=analysts",
    "restore.source=s3://bucket/prefix",
    "restore.at=2026-11-25T18:30:00+00:00",
    "service.type=LoadBalancer",
    "service.nodePort=30432",
    "service.loadBalancerSourceRanges={10.0.0.0/8}",
    "networkPolicy.clients[0].namespaceSelector.matchLabels.team=analysts",
    "networkPolicy.metrics[0].namespaceSelector.matchLabels.team=watch",
    "workers.priorityClassName=high",
    "workers.topologySpreadConstraints[0].maxSkew=1",
    "workers.topologySpreadConstraints[0].topologyKey=kubernetes.io/hostname",
    "workers.topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
    "coordinator.extraEnvFrom[0].secretRef.name=bucket",
    "spill.storageClassName=nvme",
    "image.pullSecrets[0].name=registry",
)
SETS: list[tuple[str, Path | None, tuple[str, ...]]] = [
    ("default", None, ()),
    *((each.stem, each, ()) for each in EXAMPLES),
    ("everything", None, EVERYTHING),
    ("restore", LAPTOP, ("backup.enabled=true", "restore.source=/var/lib/gpudb-backups/old", "restore.backup=x")),
    ("twin", LAPTOP, ("engine=twin", "workers.replicas=2", "persistence.accessModes={ReadWriteMany}")),
]
each_set = pytest.mark.parametrize("example, values", [each[1:] for each in SETS], ids=[each[0] for each in SETS])


def test_helm_lint() -> None:
    for example in EXAMPLES:
        done = run_helm("lint", "--strict", "--quiet", CHART, "--values", example)
        assert done.returncode == 0, done.stdout + done.stderr


@each_set
def test_objects_are_valid(example: Path | None, values: tuple[str, ...]) -> None:
    text = render_text(example, *values)
    command = [
        str(find_tool("kubeconform")), "-strict", "-summary", "-kubernetes-version", KUBERNETES, "-schema-location",
        f"{find_schemas()}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
    ]  # fmt: skip
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipped: 0" in done.stdout
    wrong = re.sub(r"^( +)periodSeconds:", r"\1periodSecond:", text, count=1, flags=re.MULTILINE)
    assert subprocess.run(command, input=wrong, capture_output=True, text=True, timeout=60).returncode != 0


@each_set
def test_pods_are_restricted(example: Path | None, values: tuple[str, ...]) -> None:
    for name, spec in get_pod_specs(render(example, *values)).items():
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        # Kubernetes would set GPUDB_PORT and others, after a Service with the name gpudb.
        assert spec["enableServiceLinks"] is False
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"], name
            mounted = {each["name"] for each in container.get("volumeMounts", [])}
            assert mounted <= {each["name"] for each in spec["volumes"]}
        allowed = {"configMap", "secret", "emptyDir", "persistentVolumeClaim", "ephemeral"}
        assert all(set(volume) - {"name"} <= allowed for volume in spec["volumes"])


@each_set
def test_selectors_find_pods_and_ports(example: Path | None, values: tuple[str, ...]) -> None:
    objects = render(example, *values)
    pods = [each["spec"]["template"] for each in objects.values() if "template" in each.get("spec", {})]
    ports = {port["name"] for pod in pods for each in pod["spec"]["containers"] for port in each.get("ports", [])}
    for (kind, name), each in objects.items():
        if kind == "Service":
            found = [pod for pod in pods if each["spec"]["selector"].items() <= pod["metadata"]["labels"].items()]
            assert len(found) == 1, name
            assert all(port["targetPort"] in ports for port in each["spec"].get("ports", []))
    names = {name for _, name in objects}
    for spec in get_pod_specs(objects).values():
        for volume in spec["volumes"]:
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            assert claim is None or claim in names
            secret = volume.get("secret", {}).get("secretName")
            assert secret is None or secret in names | {"clients"}


def test_workers_have_one_gpu_each_and_the_coordinator_none() -> None:
    objects = render(EIGHT)
    worker = objects["StatefulSet", "gpudb-worker"]["spec"]
    assert worker["replicas"] == 8
    (container,) = worker["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert container["command"] == ["dask", "cuda", "worker"]
    (coordinator,) = objects["StatefulSet", "gpudb-coordinator"]["spec"]["template"]["spec"]["containers"]
    assert "nvidia.com/gpu" not in coordinator["resources"]["limits"]
    settings = objects["ConfigMap", "gpudb"]["data"]
    assert settings["GPUDB_WORKERS"] == "8"
    assert settings["GPUDB_SCHEDULER"] == "tls://gpudb-scheduler:8786"
    assert objects["PersistentVolumeClaim", "gpudb-data"]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_one_node_has_its_gpus_in_the_server() -> None:
    objects = render(ONE, "gpu.count=4")
    assert {kind for kind, _ in objects} & {"Deployment"} == set()
    assert [name for kind, name in objects if kind == "StatefulSet"] == ["gpudb-coordinator"]
    (container,) = objects["StatefulSet", "gpudb-coordinator"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 4
    assert "GPUDB_SCHEDULER" not in objects["ConfigMap", "gpudb"]["data"]


def test_parts_of_a_gpu_and_claims() -> None:
    (container,) = render(MIG)["StatefulSet", "gpudb-worker"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/mig-3g.40gb"] == 1
    objects = render(EIGHT, "gpu.claim.enabled=true")
    spec = objects["StatefulSet", "gpudb-worker"]["spec"]["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "gpudb-gpu"}]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "gpu"}]
    assert "nvidia.com/gpu" not in spec["containers"][0]["resources"]["limits"]
    (request,) = objects["ResourceClaimTemplate", "gpudb-gpu"]["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1}


def test_a_pod_outlives_its_transactions() -> None:
    objects = render(None, "coordinator.shutdownTimeout=120", "coordinator.preStopSleep=7")
    spec = objects["StatefulSet", "gpudb-coordinator"]["spec"]["template"]["spec"]
    assert spec["terminationGracePeriodSeconds"] >= 120 + 7 + 10
    assert spec["containers"][0]["lifecycle"]["preStop"] == {"sleep": {"seconds": 7}}
    assert objects["ConfigMap", "gpudb"]["data"]["GPUDB_SHUTDOWN_TIMEOUT"] == "120"


def test_a_changed_setting_restarts_the_coordinator_alone() -> None:
    def annotations(*values: str) -> list[Any]:
        found = render(EIGHT, *values)
        return [found[each]["spec"]["template"]["metadata"].get("annotations") for each in sets]

    sets = [("StatefulSet", "gpudb-coordinator"), ("StatefulSet", "gpudb-worker"), ("Deployment", "gpudb-scheduler")]
    before, same, after = (
        annotations(),
        annotations("service.port=6000"),
        annotations("settings.max_connections=1000000"),
    )
    assert before == same
    assert before[0] != after[0]
    assert before[1:] == after[1:]
    data = render(EIGHT, "settings.max_connections=1000000")["ConfigMap", "gpudb"]["data"]
    assert data["GPUDB_MAX_CONNECTIONS"] == "1000000"


def test_certificates_of_the_cluster() -> None:
    assert ("Secret", "gpudb-cluster") in render(EIGHT)
    assert ("Secret", "gpudb-cluster") not in render(None)
    objects = render(EIGHT, "cluster.certificates.existingSecret=mine")
    assert ("Secret", "gpudb-cluster") not in objects
    for name in ("gpudb-coordinator", "gpudb-worker", "gpudb-scheduler"):
        volumes = {each["name"]: each for each in get_pod_specs(objects)[name]["volumes"]}
        assert volumes["cluster"]["secret"]["secretName"] == "mine"
    issued = render(EIGHT, "cluster.certificates.certManager.enabled=true")
    assert issued["Certificate", "gpudb-cluster"]["spec"]["secretName"] == "gpudb-cluster"


def test_a_route_of_a_gateway_leads_to_the_service() -> None:
    objects = render(None, "gateway.enabled=true", "gateway.parentRefs[0].name=edge", "service.port=6543")
    route = objects["TCPRoute", "gpudb"]["spec"]
    assert route["parentRefs"] == [{"name": "edge"}]
    (rule,) = route["rules"]
    (backend,) = rule["backendRefs"]
    service = objects["Service", backend["name"]]["spec"]
    assert [each["port"] for each in service["ports"]] == [backend["port"]] == [6543]
    assert ("TCPRoute", "gpudb") not in render(None)


def test_an_uninstall_keeps_volumes_and_passwords() -> None:
    objects = render(None, "backup.enabled=true")
    kept = [
        key for key, each in objects.items() if each["metadata"].get("annotations", {}).get("helm.sh/resource-policy")
    ]
    assert sorted(kept) == [
        ("PersistentVolumeClaim", "gpudb-backups"),
        ("PersistentVolumeClaim", "gpudb-data"),
        ("Secret", "gpudb-passwords"),
    ]


@pytest.mark.parametrize(
    "values, message",
    [
        (["workers.replicas=2"], "workers.replicas needs engine gpu"),
        (["engine=gpu", "workers.replicas=2"], "persistence.accessModes must have ReadWriteMany"),
        (["tls.certManager.enabled=true"], "needs tls.certManager.issuerRef.name"),
        (["service.nodePort=30000"], "service.nodePort needs service.type NodePort or LoadBalancer"),
        (["service.loadBalancerSourceRanges={10.0.0.0/8}"], "needs service.type LoadBalancer"),
        (["auth.existingSecret=a", "auth.password=b"], "auth.password has no effect"),
        (["metrics.serviceMonitor.enabled=true", "metrics.podMonitor.enabled=true"], "scrape the server twice"),
        (["settings.port=5432"], "settings.port is set by the chart: use the value service.port"),
        (["settings.data_dir=/data"], "settings.data_dir is set by the chart: use the value persistence"),
        (["engine=cuda"], "at '/engine': value must be one of 'cpu', 'gpu', 'twin'"),
        (["restore.source=/var/lib/gpudb-backups"], "restore.source is a folder that no pod mounts"),
        (["backup.enabled=true", "restore.source=/var/lib/gpudb-backups2"], "must be in backup.destination"),
        (["gateway.enabled=true"], "gateway.enabled needs gateway.parentRefs"),
        (["gateway.enabled=true", "gateway.parentRefs[0].listener=x"], "additional properties 'listener' not allowed"),
        (["restore.backup=x"], "restore.backup and restore.at need restore.source"),
        (["worker.replicas=2"], "additional properties 'worker' not allowed"),
    ],
)
def test_contradictions_are_refused(values: list[str], message: str) -> None:
    assert message in refuse(*values)


def test_alerts_and_dashboard_are_those_of_the_repository() -> None:
    objects = render(None, "metrics.rules.enabled=true", "metrics.dashboard.enabled=true")
    alerts = yaml.safe_load((ROOT / "deploy" / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))
    assert objects["PrometheusRule", "gpudb"]["spec"]["groups"] == alerts["groups"]
    monitor = render(EIGHT)["ServiceMonitor", "gpudb"]
    assert 'job="gpudb"' in json.dumps(alerts).replace("\\", "")
    assert monitor["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "gpudb"
    text = objects["ConfigMap", "gpudb-dashboard"]["data"]["gpudb.json"]
    assert json.loads(text) == json.loads(
        (ROOT / "deploy" / "monitoring" / "dashboard.json").read_text(encoding="utf-8")
    )
