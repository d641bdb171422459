"""All measurements of a machine with one or several GPUs, by one command; each part has a limit, none stops another.

    python -m benchmarks.gpu.machine OUT --gpus 1|2 [--seconds 580] [--only taxi tpch …] [--data DIR] [--drop]
        [--prepared DIR] [--commit NAME] [--machine NAME] [--scale 30] [--large 100] [--rows N] [--minutes 5]

benchmarks/README.md lists the parts and what each proves. They run in the order in which they are named, as long as
there are seconds; processes that a part leaves running are ended. OUT/results.tar.gz has the results so far
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
from benchmarks.harness import COMMIT_VARIABLE, RESULTS, default_machine, gpu_names, measured_commit, visible_gpus

MIN_SECONDS = 20.0
"""A part is not started with less time."""
TAIL_CHARACTERS = 1500
"""Number of characters of a part's output to print at its end."""
ROOT = Path(__file__).parents[2]


class Run:
    """One run: its folders, and how parts have ended."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.began = time.monotonic()
        self.started = time.time()
        self.ended: dict[str, str] = {}
        self.succeeded = True

    @property
    def remaining_s(self) -> float:
        """Seconds until the run must end."""
        return float(self.options.seconds) - (time.monotonic() - self.began)

    def run_parts(self, names: list[str], parts: dict[str, Part]) -> None:
        """Runs parts side by side within their limits, and archives their output."""
        title = "+".join(names)
        seconds = min(
            max(parts[name].limit for name in names) * self.options.limits, self.remaining_s - bounded.GRACE_S
        )
        if seconds < MIN_SECONDS:
            self.record(title, "not started: no time left", succeeded=False)
            return
        print(f"==== {title}: at most {seconds:.0f} s, {self.remaining_s:.0f} s left", flush=True)
        try:
            commands = {
                self.options.output / f"{name}{number or ''}.txt": command
                for name in names
                for number, command in enumerate(parts[name].commands(self.options, seconds))
            }
            if not commands:
                self.record(title, "skipped: needs a GPU", succeeded=True)
                return
            ended = bounded.run(title, commands, seconds, self.archive)
        except Exception as error:
            self.record(title, f"{type(error).__name__}: {error}", succeeded=False)
            return
        for log in commands:
            print(
                f"---- {log.stem}: {log.read_text(errors='replace')[-TAIL_CHARACTERS // len(commands) :].strip()}",
                flush=True,
            )
        self.record(title, str(ended), succeeded=ended.succeeded)

    def record(self, name: str, outcome: str, *, succeeded: bool) -> None:
        """Records how a part ended, and archives all results."""
        print(f"==== {name}: {outcome}\n", flush=True)
        self.ended[name] = outcome
        self.succeeded &= succeeded
        self.archive()

    def archive(self) -> None:
        """Archives the results of this run so far, and the programs' output."""
        try:
            self._write_archive()
        except (OSError, tarfile.TarError) as error:  # programs change their files meanwhile
            print(f"not archived this time: {error}", flush=True)

    def _write_archive(self) -> None:
        archive = self.options.out / ".results.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
            for path in sorted(RESULTS.rglob("*")):
                if path.suffix == ".json" and path.name[0] != "." and path.stat().st_mtime >= self.started:
                    packed.add(path, path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name)
            packed.add(self.options.output, "output")
        archive.replace(self.options.out / "results.tar.gz")
        lines = "".join(f"{name}: {how}\n" for name, how in self.ended.items())
        (self.options.out / "parts.txt").write_text(lines, encoding="utf-8")

    def drop(self, ended: list[Part], later: list[Part]) -> None:
        """Deletes the files of past parts, except those of parts to come."""
        made, needed = ({pattern for each in parts for pattern in each.files} for parts in (ended, later))
        for pattern in made - needed:
            for path in self.options.data.glob(pattern):
                shutil.rmtree(path, ignore_errors=True)


def _parts(gpus: int) -> dict[str, Part]:
    return ONE if gpus == 1 else TWO


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Parses a command line."""
    parser = argparse.ArgumentParser(description="all measurements of a machine with GPUs")
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, required=True, help="number of GPUs to use")
    parser.add_argument("--seconds", type=float, default=580, help="for all parts")
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts in this order; PART+PART run side by side")
    parser.add_argument("--limits", type=float, default=1.0, help="factor for the parts' limits")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--prepared", type=Path, help="folder of inputs generated elsewhere, linked into DATA")
    parser.add_argument("--drop", action="store_true", help="delete files that no later part reads")
    parser.add_argument("--commit", help="measured commit, if the files are outside of their repository")
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--large", type=float, default=100, help="scale of the large suites")
    parser.add_argument("--rows", type=int, help="rows of the largest tables instead of their defaults")
    parser.add_argument("--minutes", type=float, default=5, help="minutes of many clients, if there is time")
    parser.add_argument("--processes", type=int, default=12, help="processes that share a GPU in tests")
    options = parser.parse_args(arguments)
    options.only = [each.split("+") for each in options.only or ORDER[min(options.gpus, 2)]]
    if unknown := [name for names in options.only for name in names if name not in _parts(options.gpus)]:
        parser.error(f"on {options.gpus} GPUs there is no part {unknown[0]}")
    options.out, options.data = options.out.absolute(), options.data.absolute()
    return options


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if a part failed, timed out or was not started."""
    from gpudb.cli import machine

    options = parse_arguments(arguments)
    found = machine.query_gpus()
    engine, why = machine.select_engine(found)
    options.gpu = engine == "gpu"
    if found.gpus and not options.gpu:
        raise SystemExit(why)  # it would not measure the GPUs
    if options.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible_gpus(options.gpus)
    if options.commit:
        os.environ[COMMIT_VARIABLE] = options.commit
    options.machine = options.machine or default_machine()
    print(f"{options.machine}: {', '.join(gpu_names()) or 'the engine twin'}, commit {measured_commit()}", flush=True)
    for folder in (options.out, options.data):
        folder.mkdir(parents=True, exist_ok=True)
    for path in options.prepared.absolute().iterdir() if options.prepared else ():
        if not (options.data / path.name).exists():
            (options.data / path.name).symlink_to(path)
    # Programs started in the background of a shell inherit that they ignore SIGINT.
    before = {each: signal.signal(each, signal.default_int_handler) for each in (signal.SIGINT, signal.SIGTERM)}
    parts = _parts(options.gpus)
    with tempfile.TemporaryDirectory(prefix="gpudb-output-") as folder_name:
        options.output = Path(folder_name)
        run = Run(options)
        try:
            for place, names in enumerate(options.only, 1):
                run.run_parts(names, parts)
                if options.drop:
                    later = [parts[name] for each in options.only[place:] for name in each]
                    run.drop([parts[name] for name in names], later)
        except KeyboardInterrupt:
            run.record("all", "interrupted", succeeded=False)
        finally:
            report.main()
            for number, handler in before.items():
                signal.signal(number, handler)
    print("".join(f"{name:12} {how}\n" for name, how in run.ended.items()), flush=True)
    return 0 if run.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
