"""The path of a warm statement: few modules, no call into a higher room, and the guide's page lists just these modules."""

from __future__ import annotations

import ast
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.server_program import Program
from tests.support.tracing import Trace, Tracer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "developers" / "architecture.md"
RUNS = 5
"""Traced runs, of which the one with the fewest modules counts: after a slow run, a statement takes the longer way once."""
SQL = "SELECT count(*) FROM t WHERE a > 5"
BACKGROUND = {
    "<module>",
    "_compact_waiting",
    "_drain_periodically",
    "_fold_waiting",
    "_supervise",
    "watch",
    "_watch",
    "heartbeat",
    "serve_forever",
    "service_actions",
    "used_bytes",
}
"""The main thread, which waits for signals, and periodic functions of the cluster, the listener and the recorder: they run
beside a statement and are not on its path.
"""
POLLED = {"gpudb.engine.gpu.worker.memory_watchdog"}
"""Modules that are asked now and then, so that a statement may meet them."""
ENGINES = {"cpu": ((), 36), "twin": (("--engine", "twin", "--workers", "1"), 72)}
"""Server options for each engine, and the limit of modules that a warm statement passes."""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def trace(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    folder = tmp_path_factory.mktemp(engine)
    tracer = Tracer(folder)
    with Program(folder / "data", *ENGINES[engine][0], environment=tracer.environment, executed=True) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 100000) g")
            connection.execute("SELECT count(*) FROM pg_class")  # waits for the system catalog, which a thread loads
            for _ in range(10):
                assert connection.execute(SQL).fetchall() == [(99995,)]
            time.sleep(1)  # the last statement's clean-up, after its reply
            traces = []
            for _ in range(RUNS):
                with tracer.record() as recorded:
                    assert connection.execute(SQL).fetchall() == [(99995,)]
                    time.sleep(0.2)  # what follows its reply
                traces.append(recorded)
        for each in traces:
            each.calls = {call for call in each.calls if call.root not in BACKGROUND and call.callee not in POLLED}
        yield min(traces, key=lambda each: len(each.modules))


def test_few_modules(engine: str, trace: Trace) -> None:
    print(f"\n{engine}: {len(trace.modules)} modules", *trace.modules, sep="\n  ")
    assert len(trace.modules) <= ENGINES[engine][1]


def layers() -> dict[str, dict[str, int]]:
    """For each package with layers: the height of each module or package in it, by import-linter's contracts."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    return {
        container: {
            name: height for height, row in enumerate(reversed(each["layers"])) for name in re.findall(r"[\w.]+", row)
        }
        for each in contracts
        if each["type"] == "layers"
        for container in each["containers"]
    }


def test_no_room_is_called_from_below(trace: Trace) -> None:
    named = set(re.findall(r"`(gpudb\.[\w.]+) → (gpudb\.[\w.]+)`", PAGE.read_text(encoding="utf-8")))
    upward = set()
    for call in trace.calls:
        for container, heights in layers().items():
            places = [_place(module, container, heights) for module in (call.caller or "", call.callee)]
            if None not in places and places[0] < places[1]:  # type: ignore[operator]
                upward.add((call.caller, call.callee))
    assert upward <= named


def _place(module: str, container: str, heights: dict[str, int]) -> int | None:
    """Returns a module's height among the layers of a container; None outside of it."""
    inside = module.removeprefix(f"{container}.")
    if inside == module:
        return None
    return next((height for name, height in heights.items() if f"{inside}.".startswith(f"{name}.")), None)


def test_the_page_lists_these_modules(engine: str, trace: Trace, request: pytest.FixtureRequest) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(f"<!-- trace:{engine} -->\n")
    section, after = rest.split(f"<!-- /trace:{engine} -->")
    table = _table(trace)
    if request.config.getoption("--update-snapshots"):
        PAGE.write_text(f"{before}<!-- trace:{engine} -->\n{table}<!-- /trace:{engine} -->{after}", encoding="utf-8")
        return
    listed, passed = (set(re.findall(r"^\| `([^`]+)`", each, re.MULTILINE)) for each in (section, table))
    assert sorted(passed - listed) == [], "missing on the page"
    assert sorted(listed - passed) == [], "not passed"


def _table(trace: Trace) -> str:
    """The modules from the highest room to the lowest, with what each says of itself."""
    rooms = layers()["gpudb"]
    heights = {name: _place(name, "gpudb", rooms) or 0 for name in trace.modules}
    rows = ["| module | what it does |", "|---|---|"]
    for name in sorted(trace.modules, key=lambda each: (-heights[each], each)):
        docstring = ast.get_docstring(ast.parse((ROOT / _file(name)).read_text(encoding="utf-8"))) or ""
        rows.append(f"| `{_file(name)}` | {docstring.splitlines()[0]} |")
    return "".join(f"{row}\n" for row in rows)


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"
