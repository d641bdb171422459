"""What the scenarios in Python share: checks are context managers that print their outcome."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn
from urllib.parse import quote

ENDLESS = "SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)"
"""A statement that does not end by itself."""


def version(text: str) -> None:
    """Prints the client's version."""
    print(json.dumps({"version": text}), flush=True)


def skip(reason: str) -> NoReturn:
    """Ends the scenario: what it needs cannot be had here."""
    print(json.dumps({"skipped": reason}), flush=True)
    sys.exit()


def note(text: str) -> None:
    """Prints a note for the matrix, such as the counts of a test suite and what it left out."""
    print(json.dumps({"note": text}), flush=True)


@contextmanager
def check(feature: str, name: str) -> Iterator[None]:
    """Runs its block as a check: an exception is printed as its reason, and the scenario goes on."""
    error = None
    try:
        yield
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    print(json.dumps({"feature": feature, "check": name, "error": error}), flush=True)


def same(found: object, expected: object) -> None:
    """Raises AssertionError unless both are equal and of the same type."""
    if found != expected or type(found) is not type(expected):
        raise AssertionError(f"{found!r} instead of {expected!r}")


def refused(run: Callable[[], object], sqlstate: str) -> None:
    """Raises AssertionError unless `run` raises an error of this SQLSTATE."""
    try:
        run()
    except Exception as error:
        inner: BaseException | None = error
        while inner is not None:
            code = getattr(inner, "sqlstate", None) or getattr(inner, "pgcode", None)
            if code is not None:
                same(code, sqlstate)
                return
            inner = getattr(inner, "orig", None) or inner.__cause__
        raise
    raise AssertionError(f"no error {sqlstate}")


@contextmanager
def cancelling(running: Callable[[], bool], cancel: Callable[[], object]) -> Iterator[None]:
    """Calls `cancel` in a thread once `running` says that the statement runs."""

    def wait() -> None:
        for _ in range(600):
            if running():
                break
            time.sleep(0.05)
        cancel()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def url(scheme: str) -> str:
    """The server as a URL."""
    known = {
        name: quote(os.environ[name], safe="") for name in ("PGUSER", "PGPASSWORD", "PGHOST", "PGPORT", "PGDATABASE")
    }
    return "{scheme}://{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(scheme=scheme, **known)
