"""Runs the suite, and once more what failed; a test that passes then has a race, and is named at the end.

    python -m tests.support.suite [ARGUMENTS OF PYTEST…]

The second run has no other tests beside it. The exit status is 0 if no test failed twice and at most MOST_AGAIN failed
once. More than MOST_TRIED failures are no races: they are not run again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_AGAIN = 3
MOST_TRIED = 50
_FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
_TESTS_FAILED = 1  # pytest's exit status


def _run(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT).returncode


def _read_failed() -> list[str]:
    return sorted(json.loads(_FAILED.read_text(encoding="utf-8"))) if _FAILED.exists() else []


def main(arguments: list[str]) -> int:
    """Runs both; returns the exit status."""
    _FAILED.unlink(missing_ok=True)
    status = _run(*arguments)
    failed = _read_failed()
    if status != _TESTS_FAILED or not 0 < len(failed) <= MOST_TRIED:
        return status
    print("These tests failed once; they run again, without others beside them:", *failed, sep="\n  ", flush=True)
    status = _run(*arguments, "-n0", "--last-failed", "--last-failed-no-failures=none")
    again = sorted({*failed} - {*_read_failed()})
    print(f"{len(again)} passed at their second try; {MOST_AGAIN} may:", *again, sep="\n  ", flush=True)
    return status or int(len(again) > MOST_AGAIN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
