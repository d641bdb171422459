"""Functions that a child process serves in tests."""

from __future__ import annotations

import os
import subprocess
import time

import numpy as np

from gpudb.errors import SqlError
from gpudb.processes.serving import ask


def add(first: int, second: int) -> int:
    return first + second


def get_pid() -> int:
    print("what is printed is no message")
    return os.getpid()


def fail(kind: str) -> None:
    if kind == "sql":
        raise SqlError.of("invalid_parameter_value", "refused")
    raise KeyError(kind)


def start_sleep() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


def wait() -> None:
    while True:
        time.sleep(1)


def repeat(data: bytes, count: int) -> bytes:
    return data * count


def sum_answers(count: int) -> int:
    return sum(ask(number) for number in range(count))


def ask_large(count: int, size: int) -> int:
    return sum(ask(np.arange(size)) for _ in range(count))


def catch_answer() -> str:
    try:
        ask("refuse")
    except SqlError as error:
        return error.sqlstate
    return ""


def end() -> None:
    os._exit(3)
