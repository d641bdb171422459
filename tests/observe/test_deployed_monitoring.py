"""The dashboard and the alerts in deploy/: each query names metrics and labels that the server exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpudb.observe.metrics import METRICS, Metric

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
OF_PROMETHEUS = {"job", "instance", "le"}
"""Labels that Prometheus adds, and that of histograms' buckets."""
GUIDE = Path(__file__).parents[2] / "docs" / "monitoring.md"


def series(metric: Metric) -> set[str]:
    """The names of a metric's series."""
    if metric.kind == "histogram":
        return {f"{metric.name}_{suffix}" for suffix in ("bucket", "sum", "count")}
    return {metric.name}


KNOWN = {name: each for each in METRICS for name in series(each)}


def queries() -> Iterator[tuple[str, str, str]]:
    """Where a query is, the query, and the legend or summary over its labels."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield f"panel {panel['title']}", target["expr"], target["legendFormat"]
    for rule in RULES:
        yield f"alert {rule['alert']}", rule["expr"], rule["annotations"]["summary"]


CASES = list(queries())


@pytest.mark.parametrize("place,query,text", CASES, ids=[f"{place} {n}" for n, (place, _, _) in enumerate(CASES)])
def test_a_query_names_what_exists(place: str, query: str, text: str) -> None:
    names = set(re.findall(r"\b(?:gpudb|process)_\w+", query))
    assert names or query.startswith("up{"), place
    assert names <= KNOWN.keys() | PROCESS
    labels = {label for name in names & KNOWN.keys() for label in KNOWN[name].labels} | OF_PROMETHEUS
    used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query))
    for group in re.findall(r"(?:by|without) \(([\w, ]+)\)", query):
        used |= set(group.split(", "))
    used |= set(re.findall(r"\{\{ *(?:\$labels\.)?(\w+) *\}\}", text.replace("$value", "instance")))
    assert used <= labels
    assert query.count("(") == query.count(")")
    assert query.count("{") == query.count("}")


def test_the_dashboard_shows_every_metric() -> None:
    shown = " ".join(query for _, query, _ in CASES)
    hidden = {"gpudb_start_time_seconds", "gpudb_cached_plans", "gpudb_accepted_connections_total"}
    assert {each.name for each in METRICS if each.name not in shown} == hidden


def test_panels_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def test_the_guide_has_a_line_for_each_alert() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    assert [rule["alert"] for rule in RULES if f"| `{rule['alert']}` |" not in page] == []
