"""Shared fixtures: the PostgreSQL oracle and gpudb's server program, each started once a session."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support import ram_disk, schedule
from tests.support.emptying import empty_database
from tests.support.oracle.server import Oracle, start_oracle
from tests.support.server_program import running_server

# The same examples in every run; the long suites use other seeds.
hypothesis.settings.register_profile("seeded", derandomize=True)

_GPU = Path("/dev/nvidiactl")
_LONGEST_NAME = 500
_SHARED: list[str] = []
"""The databases that the tests of this process share."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --gpudb-dsn (compares a running server), --soak (runs the long suites only) and its options, and
    --update-snapshots.
    """
    parser.addoption("--gpudb-dsn", default=None, help="connection string of a running gpudb server")
    parser.addoption("--soak", action="store_true", help="run only the long suites")
    parser.addoption("--soak-seconds", type=float, default=3600.0, help="duration of the mixed load of --soak")
    parser.addoption("--soak-results", default=None, help="JSON file for the figures of that load")
    parser.addoption("--update-snapshots", action="store_true", help="rewrite expected plans in the tests' sources")


def pytest_configure(config: pytest.Config) -> None:
    """Seeds random generators, keeps temporary files in memory, and stops servers on SIGTERM, which they survive."""
    if not _GPU.exists():  # GPU workers read files with direct I/O, which a file system in memory does not support
        ram_disk.enter()
    if not config.getoption("--soak"):
        hypothesis.settings.load_profile("seeded")

    def end(*_: object) -> None:
        pytest.exit("terminated", returncode=143)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start jobs of the background
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Truncates the names of tests of very long statements; pytest numbers names that become equal."""
    return ascii(val[:_LONGEST_NAME])[1:-1] + "..." if isinstance(val, str) and len(val) > _LONGEST_NAME else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects soak tests, or with --soak all others; skips GPU tests without a GPU; puts long files first for xdist."""
    soak = bool(config.getoption("--soak"))
    other = [item for item in items if (item.get_closest_marker("soak") is not None) is not soak]
    if other:
        items[:] = [item for item in items if (item.get_closest_marker("soak") is not None) is soak]
        config.hook.pytest_deselected(items=other)
    if hasattr(config, "workerinput"):
        schedule.longest_first(items)
    if not _GPU.exists():
        for item in items:
            if item.get_closest_marker("gpu") is not None:
                item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """A real PostgreSQL 16, started once a session."""
    with start_oracle() as running:
        _SHARED.append(running.dsn)
        yield running


@pytest.fixture(scope="session")
def gpudb_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Connection string of a gpudb server program with an empty data directory."""
    given: str | None = request.config.getoption("--gpudb-dsn")
    if given is not None:
        yield given
        return
    with running_server(tmp_path_factory.mktemp("gpudb-data")) as dsn:
        _SHARED.append(dsn)
        yield dsn


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """Empties the shared databases after the tests of a module, once its other fixtures have ended."""
    yield
    for dsn in _SHARED:
        empty_database(dsn)
