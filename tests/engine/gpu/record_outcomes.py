"""A pytest plugin that records outcomes from the first test on: -p tests.engine.gpu.record_outcomes --keep FILE.json

The file has the number of passed tests, the failed ones with their errors, the skipped ones by reason, and the counts
by file; whether the run was complete, and its number of tests.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import describe_run, write_json

EVERY_S = 2.0
_TEXT = 1500


class Keeping:
    """The outcomes so far."""

    def __init__(self, path: Path, machine: str | None) -> None:
        self._path = path
        self._head = describe_run("pytest", machine)
        self._began = self._kept = time.monotonic()
        self._tests = 0
        self._files: dict[str, Counter[str]] = {}
        self._skipped: Counter[str] = Counter()
        self._failed: dict[str, str] = {}
        self._keep(ended=False)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Counts the tests of a run without xdist; with xdist this process collects none."""
        self._tests = max(self._tests, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """Each xdist process has collected all tests."""
        self._tests = len(list(ids))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Records a report of a test's setup, call or teardown."""
        outcome = report.outcome
        if outcome == "passed" and report.when != "call":
            return
        name, file = report.nodeid, report.nodeid.partition("::")[0]
        if outcome == "failed":
            self._failed[name] = f"{report.when}: {report.longreprtext[-_TEXT:]}"
        elif outcome == "skipped":
            told = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext[-_TEXT:]
            self._skipped[told.removeprefix("Skipped: ")] += 1
        self._files.setdefault(file, Counter())[outcome] += 1
        if time.monotonic() > self._kept + EVERY_S:
            self._keep(ended=False)

    def pytest_sessionfinish(self) -> None:
        """The run is complete, unless it was stopped."""
        self._keep(ended=True)

    def _keep(self, *, ended: bool) -> None:
        count: Counter[str] = Counter()
        for each in self._files.values():
            count += each
        told: dict[str, Any] = {
            "whole": ended and count.total() >= self._tests,
            "seconds": round(time.monotonic() - self._began, 1),
            "tests": self._tests,
            "passed": count["passed"],
            "failed": count["failed"],
            "skipped": count["skipped"],
            "files": {file: dict(each) for file, each in sorted(self._files.items())},
            "skipped because": dict(self._skipped.most_common()),
            "failures": self._failed,
        }
        write_json(self._path, {**self._head, **told})
        self._kept = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --keep and --machine."""
    parser.addoption("--keep", type=Path, default=None, help="file for the outcomes")
    parser.addoption("--machine", default=None, help="the results' label, such as h200x1")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the plugin in the process that receives all reports."""
    path = config.getoption("--keep")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Keeping(path, config.getoption("--machine")))
