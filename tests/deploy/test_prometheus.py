"""The dashboard and the alerts in Prometheus itself.

promtool checks the alerts where it is built. `make test-helm` builds it, and runs a Prometheus that scrapes a server
and answers the query of every panel and of every alert.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.support.deploy.charts import render
from tests.support.deploy.prometheus import MONITORING, Prometheus
from tests.support.deploy.tools import find_tool
from tests.support.server_program import Program

CASES = Path(__file__).with_name("alert_cases.yaml")
ALERTS = MONITORING / "alerts.yaml"
RULES = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
VARIABLES = {"$job": "gpudb", "$instance": ".+", "$__rate_interval": "30s"}
"""What Grafana puts into a panel's queries."""
DATA_S = 90
needs_promtool = pytest.mark.skipif(find_tool("promtool") is None, reason="make test-helm builds promtool")
needs_prometheus = pytest.mark.skipif(
    "GPUDB_TEST_KUBERNETES" not in os.environ or find_tool("prometheus") is None, reason="make test-helm runs it"
)


def run_promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(find_tool("promtool")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@needs_promtool
def test_promtool_takes_the_alerts(tmp_path: Path) -> None:
    done = run_promtool("check", "rules", "--lint=all", "--lint-fatal", ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"SUCCESS: {len(RULES)} rules found" in done.stdout
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(ALERTS.read_text(encoding="utf-8").replace("gpudb_ready == 0", "gpudb_ready == ("))
    assert run_promtool("check", "rules", wrong).returncode != 0


@needs_promtool
def test_each_alert_fires_for_what_it_is_for_alone(tmp_path: Path) -> None:
    text = CASES.read_text(encoding="utf-8")
    tested = {each["alertname"] for each in yaml.safe_load(text)["tests"][0]["alert_rule_test"]}
    assert tested == {rule["alert"] for rule in RULES}
    cases = tmp_path / "cases.yaml"
    cases.write_text(text.replace("ALERTS", str(ALERTS)), encoding="utf-8")
    done = run_promtool("test", "rules", cases)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_the_alerts_of_the_chart_are_those(tmp_path: Path) -> None:
    rules = render(None, "metrics.rules.enabled=true")["PrometheusRule", "gpudb"]["spec"]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rules), encoding="utf-8")
    done = run_promtool("check", "rules", path)
    assert f"SUCCESS: {len(RULES)} rules found" in done.stdout, done.stdout + done.stderr


class Watched:
    """A server with workers, whose statements succeed, fail and fall back, and the Prometheus that scrapes it."""

    def __init__(self, server: Program, prometheus: Prometheus) -> None:
        self.server, self.prometheus = server, prometheus

    def run_statements(self) -> None:
        with psycopg.connect(self.server.dsn, autocommit=True) as client:
            client.execute("CREATE TABLE IF NOT EXISTS t (a int)")
            client.execute("INSERT INTO t SELECT generate_series(1, 100)")
            client.execute("SELECT sum(a) FROM t WHERE a > 5")
            client.execute("SELECT count(*) FROM t WHERE a > random()")
            with pytest.raises(psycopg.errors.DivisionByZero):
                client.execute("SELECT 1 / 0")

    def wait_for_data(self, query: str) -> list[dict[str, Any]]:
        """Runs statements until a query has numbers."""
        end = time.monotonic() + DATA_S
        while True:
            found = self.prometheus.query(query)
            if any(each["value"][1] != "NaN" for each in found) or time.monotonic() > end:
                return found
            self.run_statements()
            time.sleep(0.5)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    options = ("--engine", "twin", "--workers", "1", "--http-port", "0")
    with Program(folder / "data", *options) as server:
        target = server.http.removeprefix("http://")
        with Prometheus(folder / "prometheus", target) as prometheus:
            yield Watched(server, prometheus)


def list_queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield panel["title"], query


QUERIES = list(list_queries())


@needs_prometheus
@pytest.mark.timeout(400)
@pytest.mark.parametrize("title,query", QUERIES, ids=[f"{title} {n}" for n, (title, _) in enumerate(QUERIES)])
def test_a_panel_is_answered(watched: Watched, title: str, query: str) -> None:
    if "gpudb_gpu_" in query:  # this machine need not have a GPU
        assert isinstance(watched.prometheus.query(query), list)
        return
    found = watched.wait_for_data(query)
    values = [float(each["value"][1]) for each in found]
    assert any(value == value for value in values), (title, found)
    assert all(value >= 0 for value in values if value == value)


@needs_prometheus
@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_is_evaluated_and_quiet(watched: Watched, rule: dict[str, Any]) -> None:
    end = time.monotonic() + DATA_S
    while True:
        (loaded,) = [each for each in watched.prometheus.list_rules() if each["name"] == rule["alert"]]
        if loaded["health"] != "unknown" or time.monotonic() > end:
            break
        time.sleep(0.2)
    assert (loaded["health"], loaded.get("lastError", "")) == ("ok", "")
    if rule["alert"] != "GpudbFallbacksFrequent":  # a fifth of these statements fall back
        assert loaded["state"] == "inactive"
    sides = re.split(r" (?:==|<|>) ", rule["expr"])
    assert len(sides) == 2
    for side in sides:
        if re.search(r"gpudb_(?!gpu)", side) and "sqlstate_class=" not in side:
            assert watched.wait_for_data(side), side


@needs_prometheus
def test_a_server_that_is_gone_is_down(watched: Watched) -> None:
    """The last one: it ends the server."""
    watched.server.kill()
    expression = next(rule["expr"] for rule in RULES if rule["alert"] == "GpudbDown")
    end = time.monotonic() + DATA_S
    while not (found := watched.prometheus.query(expression)) and time.monotonic() < end:
        time.sleep(0.2)
    assert found[0]["metric"]["job"] == "gpudb"
