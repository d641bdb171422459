"""All measurements of a machine with one or several GPUs, by one command; each part has a limit, none stops another.

    python -m benchmarks.gpu.machine OUT --gpus 1|2 [--seconds 580] [--only taxi tpch …] [--data DIR] [--drop]
        [--prepared DIR] [--commit NAME] [--machine NAME] [--scale 30] [--large 100] [--rows N] [--minutes 5]

benchmarks/README.md lists the parts and what each proves. They run in the order in which they are named, as long as
there are seconds; processes that a part leaves running are ended. OUT/told.tar.gz has the results so far at any time
(unpack it in the project's folder, and run benchmarks.report), each part's output, and EXPLAIN ANALYZE of its queries;
OUT/parts.txt reports how each part ended. With --drop files are deleted once no later part reads them. Without GPUs it
runs the engine twin.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from benchmarks import report
from benchmarks.gpu import bounded
from benchmarks.gpu.parts import ONE, ORDER, TWO, Part
from benchmarks.harness import COMMIT, RESULTS, commit, default_machine, gpu_names, visible

LEAST_S = 20.0
"""A part is not started with less time."""
TAIL = 1500
"""Number of characters of a part's output to print at its end."""
ROOT = Path(__file__).parents[2]


class Run:
    """One run: its folders, and how parts have ended."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.began = time.monotonic()
        self.started = time.time()
        self.ended: dict[str, str] = {}
        self.well = True

    @property
    def left(self) -> float:
        """Seconds until the run must end."""
        return float(self.given.seconds) - (time.monotonic() - self.began)

    def together(self, names: list[str], parts: dict[str, Part]) -> None:
        """Runs parts side by side within their limits, and archives their output."""
        title = "+".join(names)
        seconds = min(max(parts[name].limit for name in names) * self.given.limits, self.left - bounded.ENDING_S)
        if seconds < LEAST_S:
            self.tell(title, "not begun: no time left", well=False)
            return
        print(f"==== {title}: at most {seconds:.0f} s, {self.left:.0f} s left", flush=True)
        try:
            commands = {
                self.given.told / f"{name}{number or ''}.txt": command
                for name in names
                for number, command in enumerate(parts[name].commands(self.given, seconds))
            }
            if not commands:
                self.tell(title, "not without a GPU", well=True)
                return
            ended = bounded.run(title, commands, seconds, self.keep)
        except Exception as error:
            self.tell(title, f"{type(error).__name__}: {error}", well=False)
            return
        for log in commands:
            print(f"---- {log.stem}: {log.read_text(errors='replace')[-TAIL // len(commands) :].strip()}", flush=True)
        self.tell(title, str(ended), well=ended.well)

    def tell(self, name: str, how: str, *, well: bool) -> None:
        """Records how a part ended, and archives all results."""
        print(f"==== {name}: {how}\n", flush=True)
        self.ended[name] = how
        self.well &= well
        self.keep()

    def keep(self) -> None:
        """Archives the results of this run so far, and the programs' output."""
        try:
            self._keep()
        except (OSError, tarfile.TarError) as error:  # programs change their files meanwhile
            print(f"not kept this time: {error}", flush=True)

    def _keep(self) -> None:
        made = self.given.out / ".told.tar.gz"
        with tarfile.open(made, "w:gz", compresslevel=1) as packed:
            for path in sorted(RESULTS.rglob("*")):
                if path.suffix == ".json" and path.name[0] != "." and path.stat().st_mtime >= self.started:
                    packed.add(path, path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
            packed.add(self.given.told, "told")
        made.replace(self.given.out / "told.tar.gz")
        lines = "".join(f"{name}: {how}\n" for name, how in self.ended.items())
        (self.given.out / "parts.txt").write_text(lines, encoding="utf-8")

    def drop(self, ended: list[Part], later: list[Part]) -> None:
        """Deletes the files of past parts, except those of parts to come."""
        made, needed = ({pattern for each in parts for pattern in each.files} for parts in (ended, later))
        for pattern in made - needed:
            for path in self.given.data.glob(pattern):
                shutil.rmtree(path, ignore_errors=True)


def _parts(gpus: int) -> dict[str, Part]:
    return ONE if gpus == 1 else TWO


def arguments(given: list[str] | None) -> argparse.Namespace:
    """Parses a command line."""
    parser = argparse.ArgumentParser(description="all measurements of a machine with GPUs")
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, required=True, help="number of GPUs to use")
    parser.add_argument("--seconds", type=float, default=580, help="for all parts")
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts in this order; PART+PART run side by side")
    parser.add_argument("--limits", type=float, default=1.0, help="factor for the parts' limits")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--prepared", type=Path, help="folder of inputs generated elsewhere, which are copied to DATA")
    parser.add_argument("--drop", action="store_true", help="delete files that no later part reads")
    parser.add_argument("--commit", help="measured commit, if the files are outside of their repository")
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--large", type=float, default=100, help="scale of the large suites")
    parser.add_argument("--rows", type=int, help="rows of the largest tables instead of their defaults")
    parser.add_argument("--minutes", type=float, default=5, help="minutes of many clients, if there is time")
    parser.add_argument("--processes", type=int, default=12, help="processes that share a GPU in tests")
    options = parser.parse_args(given)
    options.only = [each.split("+") for each in options.only or ORDER[min(options.gpus, 2)]]
    if unknown := [name for names in options.only for name in names if name not in _parts(options.gpus)]:
        parser.error(f"on {options.gpus} GPUs there is no part {unknown[0]}")
    options.out, options.data = options.out.absolute(), options.data.absolute()
    return options


def main(options: list[str] | None = None) -> int:
    """Returns status 1 if a part failed, timed out or was not started."""
    from gpudb.cli import machine

    given = arguments(options)
    found = machine.gpus()
    engine, why = machine.engine_of(found)
    given.gpu = engine == "gpu"
    if found.gpus and not given.gpu:
        raise SystemExit(why)  # it would not measure the GPUs
    if given.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible(given.gpus)
    if given.commit:
        os.environ[COMMIT] = given.commit
    given.machine = given.machine or default_machine()
    print(f"{given.machine}: {', '.join(gpu_names()) or 'the engine twin'}, commit {commit()}", flush=True)
    for folder in (given.out, given.data):
        folder.mkdir(parents=True, exist_ok=True)
    for path in given.prepared.absolute().iterdir() if given.prepared else ():
        if not (given.data / path.name).exists():
            (given.data / path.name).symlink_to(path)
    # Programs started in the background of a shell inherit that they ignore SIGINT.
    before = {each: signal.signal(each, signal.default_int_handler) for each in (signal.SIGINT, signal.SIGTERM)}
    parts = _parts(given.gpus)
    with tempfile.TemporaryDirectory(prefix="gpudb-told-") as told:
        given.told = Path(told)
        run = Run(given)
        try:
            for place, names in enumerate(given.only, 1):
                run.together(names, parts)
                if given.drop:
                    later = [parts[name] for each in given.only[place:] for name in each]
                    run.drop([parts[name] for name in names], later)
        except KeyboardInterrupt:
            run.tell("all", "interrupted", well=False)
        finally:
            report.main()
            for number, handler in before.items():
                signal.signal(number, handler)
    print("".join(f"{name:12} {how}\n" for name, how in run.ended.items()), flush=True)
    return 0 if run.well else 1


if __name__ == "__main__":
    sys.exit(main())
