"""What a matcher process runs: calls of `regex_matching` that it reads from stdin, answered on stdout by pickle."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys

from gpudb.errors import GpudbError
from gpudb.functions import regex_matching

_HEADER = struct.Struct("<Q")
_ASK_S = 1.0
"""How often it is asked, amid a call too, whether the parent has ended."""


def serve() -> None:
    """Answers calls until stdin ends: whether each succeeded, and its result or error."""
    parent = os.getppid()

    def end_with_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, end_with_parent)
    signal.setitimer(signal.ITIMER_REAL, _ASK_S, _ASK_S)
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    while len(header := calls.read(_HEADER.size)) == _HEADER.size:
        name, arguments = pickle.loads(calls.read(*_HEADER.unpack(header)))
        try:
            answer = True, getattr(regex_matching, name)(*arguments)
        except GpudbError as error:
            answer = False, error
        made = pickle.dumps(answer)
        answers.write(_HEADER.pack(len(made)) + made)
        answers.flush()
