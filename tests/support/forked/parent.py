"""The process that programs are forked from: imports modules, then forks a child for each connection to its socket.

A connection's one message is JSON, with the descriptors of the child's stdin, stdout and stderr. It is answered by the
child's process id, and by its exit status when it has ended. The process ends with its stdin; children run on.
Run by path: the socket's path, and modules to import; `module:function` is also called, `package.*` are all its modules.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
import warnings
from typing import Any

MESSAGE = 1 << 20
STREAMS = 3


def _fork(request: dict[str, Any], descriptors: list[int]) -> int:
    """Forks; returns the child's process id, and in the child 0, with the request's streams, folder and variables."""
    with warnings.catch_warnings(action="ignore"):  # libraries' threads, which a fork does not disturb
        if (pid := os.fork()) != 0:
            return pid
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    for name in os.environ.keys() - request["environment"].keys():
        del os.environ[name]
    os.environ.update(request["environment"])
    time.tzset()
    return 0


def _serve(listening: socket.socket) -> dict[str, Any]:
    """Forks children and tells their exit statuses; returns in each child, with its request."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by the process's descriptor: its id, and who asked for it
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), listening.fileno(), *running], [], [])
        for process in {*ready} & running.keys():
            pid, asks = running.pop(process)
            os.close(process)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with asks, contextlib.suppress(BrokenPipeError):
                asks.sendall(str(status).encode())
        if listening.fileno() in ready:
            asks, _ = listening.accept()
            message, descriptors, _, _ = socket.recv_fds(asks, MESSAGE, STREAMS)
            if not message:  # who connected has ended
                asks.close()
                continue
            request: dict[str, Any] = json.loads(message)
            if (pid := _fork(request, descriptors)) == 0:
                for process in running:
                    os.close(process)
                return request
            for descriptor in descriptors:
                os.close(descriptor)
            running[os.pidfd_open(pid)] = (pid, asks)
            with contextlib.suppress(BrokenPipeError):
                asks.sendall(str(pid).encode())
        elif sys.stdin.fileno() in ready:
            os._exit(0)


def main() -> None:
    """Imports, forks, and in each child runs the module that a request names as the main program."""
    sys.path[0] = ""
    for name in sys.argv[2:]:
        module, _, function = name.removesuffix(".*").partition(":")
        imported = importlib.import_module(module)
        if function:
            getattr(imported, function)()
        if name.endswith(".*"):
            for each in pkgutil.walk_packages(imported.__path__, f"{module}."):
                importlib.import_module(each.name)
    logging.getLogger().handlers.clear()
    assert "polars" not in sys.modules, "its threads survive no fork"
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the tests
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(sys.argv[1])
        listening.listen(128)
        print("ready", flush=True)
        request = _serve(listening)
    signal.signal(signal.SIGINT, handler)
    sys.argv = [request["module"], *request["arguments"]]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


main()
