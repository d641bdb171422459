"""Parts of a long benchmark run: time limits, clean-up, and results that are kept as they come."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tarfile
import time
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import harness, report
from benchmarks.fused import device
from benchmarks.gpu import bounded, machine
from benchmarks.gpu.bounded import Command
from benchmarks.gpu.parts import ONE, TWO, Part
from benchmarks.harness import Row, save_results
from gpudb.cli.machine import Gpu, Gpus

_LEAVES = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open(sys.argv[1], "w").write(str(left.pid))
"""
_LATE = """
import sys, time
try:
    time.sleep(600)
except KeyboardInterrupt:
    open(sys.argv[1], "w").write("kept")
"""
_DEAF = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
time.sleep(600)
"""


def _program(text: str, *arguments: object) -> Command:
    return [sys.executable, "-c", text, *map(str, arguments)]


def test_what_a_part_leaves_running_is_ended(tmp_path: Path) -> None:
    ended = bounded.run("leaves", {tmp_path / "log": _program(_LEAVES, tmp_path / "pid")}, 60, lambda: None)
    assert (ended.statuses, ended.timed_out, ended.leftover, ended.succeeded) == ((0,), False, 1, True)
    with pytest.raises(ProcessLookupError):
        _alive(int((tmp_path / "pid").read_text()))


_NESTS = f"""
import os, sys
from pathlib import Path
from benchmarks.gpu import bounded
inner = {{Path(sys.argv[1] + ".log"): [sys.executable, "-c", {_LEAVES!r} + "\\nimport time; time.sleep(600)", sys.argv[1]]}}
bounded.run("inner", inner, 600, lambda: Path(sys.argv[1]).exists() and os._exit(3))
"""


def test_a_part_of_a_part_is_ended_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes end even if the calling program has no time to end them."""
    monkeypatch.setenv("PYTHONPATH", str(machine.ROOT))
    ended = bounded.run("outer", {tmp_path / "log": _program(_NESTS, tmp_path / "pid")}, 100, lambda: None)
    assert ended.statuses == (3,)
    assert ended.leftover == 2
    with pytest.raises(ProcessLookupError):
        _alive(int((tmp_path / "pid").read_text()))


def _alive(process: int) -> None:
    """Raises ProcessLookupError for an ended process, which may not have been waited for."""
    os.kill(process, 0)
    if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
        raise ProcessLookupError


def test_a_part_beyond_its_time_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "GRACE_S", 5.0)
    programs = {tmp_path / "one": _program(_LATE, tmp_path / "kept"), tmp_path / "two": _program(_DEAF)}
    began = time.monotonic()
    ended = bounded.run("late", programs, 6, lambda: None)
    assert ended.timed_out
    assert not ended.succeeded
    assert ended.leftover == 0
    assert ended.statuses[1] < 0
    assert (tmp_path / "kept").read_text() == "kept"
    assert time.monotonic() - began < 100


def test_a_program_that_a_driver_holds_up_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "TICK_S", 0.1)
    process = subprocess.Popen(_program(_DEAF))
    try:
        assert bounded._exit_status(process) < 0
    finally:
        process.kill()
    assert process.wait() < 0


def test_files_that_go_away_stop_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    run = machine.Run(Namespace(out=tmp_path, output=tmp_path / "gone"))
    run.record("one", "succeeded", succeeded=True)
    assert "not archived this time" in capsys.readouterr().out
    assert run.succeeded
    run.options.output.mkdir()
    run.record("two", "succeeded", succeeded=True)
    assert "not kept" not in capsys.readouterr().out
    assert (tmp_path / "parts.txt").read_text() == "one: succeeded\ntwo: succeeded\n"


def test_parts_keep_results_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part's results are archived before the next part begins; a failed part stops no other."""
    results = tmp_path / "results"
    results.mkdir()
    for module in (harness, report, machine):
        monkeypatch.setattr(module, "RESULTS", results)
    monkeypatch.setattr(harness, "COMMIT_VARIABLE", "GPUDB_TEST_COMMIT")
    monkeypatch.setenv("GPUDB_TEST_COMMIT", "abc")
    out, data = tmp_path / "out", tmp_path / "data"
    seen: list[list[str]] = []

    def measures(given: object, seconds: float) -> list[Command]:
        save_results("kept", [Row("q", "gpudb", 0.001, 0.001, 1, 10, answers_agree=True)], {}, "here")
        (data / "large-1").mkdir()
        return [_program("print('measured')")]

    def fails(given: object, seconds: float) -> list[Command]:
        with tarfile.open(out / "results.tar.gz") as packed:
            seen.append(packed.getnames())
        assert not (data / "large-1").exists()
        return [_program("raise SystemExit(3)")]

    def cannot(given: object, seconds: float) -> list[Command]:
        raise ValueError("2 GPUs are wanted")

    parts = {"one": Part(1, 60, measures, ("large-*",)), "beside": Part(1, 60, lambda *_: [_program("print(1)")])}
    parts |= {"two": Part(1, 60, fails), "three": Part(1, 60, cannot)}
    monkeypatch.setattr(machine, "ONE", {**parts, "four": Part(1, 5, measures)})
    arguments = ["--gpus", "1", "--data", str(data), "--drop", "--only", "one+beside", "two", "three", "four"]
    assert machine.main([str(out), *arguments]) == 1
    assert seen
    assert {"kept.here.json", "output/one.txt", "output/beside.txt"} <= set(seen[0])
    assert "on here" in (results / "README.md").read_text()
    lines = dict(line.split(": ", 1) for line in (out / "parts.txt").read_text().splitlines())
    assert list(lines) == ["one+beside", "two", "three", "four"]
    assert lines["one+beside"].startswith("succeeded")
    assert lines["two"].startswith("status [3]")
    assert lines["three"].startswith("ValueError")
    assert lines["four"].startswith("not started")
    assert json.loads((results / "kept.here.json").read_text())["commit"] == "abc"


_MORE = "--no-such-argument"


@pytest.mark.parametrize("parts", [ONE, TWO], ids=["one GPU", "two"])
def test_parts_programs_take_their_arguments(
    parts: dict[str, Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each program gets one extra argument and rejects only that one: it knows the others."""
    for rows in ([], ["--rows", "1000"]):
        given = machine.parse_arguments(["out", "--gpus", "2" if parts is TWO else "1", *rows])
        given.output, given.machine, given.gpu = tmp_path, "here", False
        for part in parts.values():
            for command in part.commands(given, part.limit):
                start, name, options = command[:4], command[4], command[5:]
                assert start == [sys.executable, "-W", "ignore", "-m"]
                if name == "benchmarks.tables":
                    continue
                monkeypatch.setattr(sys, "argv", [name, *options, _MORE])
                with pytest.raises(SystemExit):
                    importlib.import_module(name).main()
                assert f"error: unrecognized arguments: {_MORE}\n" in capsys.readouterr().err, name


def test_gpus_are_chosen_among_those_given(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Gpus(tuple(Gpu(number, "NVIDIA H200", 143_771, "9.0") for number in range(4)))
    monkeypatch.setattr(harness, "_gpus", lambda: there)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert harness.visible_gpus(2) == "0,1"
    assert harness.default_machine() == "h200x4"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-1")
    assert [harness.visible_gpus(count) for count in (1, 2)] == ["3", "3,GPU-1"]
    assert harness.default_machine() == "h200x2"
    with pytest.raises(ValueError, match="3 GPUs are wanted"):
        harness.visible_gpus(3)


_TESTS = """
import pytest

def test_passes():
    pass

def test_fails():
    assert 1 == 2

@pytest.mark.skip(reason="not here")
def test_is_skipped():
    pass

def test_ends_the_run():
    pytest.exit("ended", returncode=1)

def test_is_not_reached():
    pass
"""


def test_what_tests_told_is_kept(tmp_path: Path) -> None:
    """Results are kept even if the run ends early."""
    (tmp_path / "test_some.py").write_text(_TESTS)
    kept = tmp_path / "kept.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.engine.gpu.record_outcomes"]
    command += ["--keep", str(kept), "--machine", "here", "-p", "no:xdist", "-c", os.devnull]
    path = os.pathsep.join([str(machine.ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [*command, str(tmp_path / "test_some.py")],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        timeout=100,
        check=False,
    )
    told = json.loads(kept.read_text())
    assert str(machine.ROOT) not in told["command"]
    assert (told["machine"], told["whole"], told["tests"]) == ("here", False, 5)
    assert (told["passed"], told["failed"], told["skipped"]) == (1, 1, 1)
    assert told["skipped because"] == {"not here": 1}
    ((name, why),) = told["failures"].items()
    assert name.endswith("::test_fails")
    assert "assert 1 == 2" in why
    assert "| total of 5 | 1 | 1 | 1 |" in report.tests_section("here", told)


def test_a_step_of_the_kernels_keeps_its_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert device.run_step("right", ["-c", "print(6 * 7)"], 60, tmp_path)
    assert not device.run_step("wrong", ["-c", "raise SystemExit(4)"], 60, tmp_path)
    assert (tmp_path / "right.txt").read_text() == "42\n"
    told = capsys.readouterr().out
    assert "== right: succeeded" in told
    assert "== wrong: status [4]" in told
