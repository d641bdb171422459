"""An intruder: a program that knows a cluster's ports and files, and tries to run code there, or to read anything.

    python -m tests.support.gpu.intruder FOLDER [UID] < {"ports": [...], "paths": [...]}

Prints a JSON object: what each attempt on each port or path got, empty for nothing. An attempt to run code touches a
file in FOLDER. With UID the program first becomes that user.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import distributed
import distributed.comm.tcp
import tornado.netutil  # noqa: F401 - another user may be unable to import it later
from distributed import Client, Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps

NOBODY = 65534
SECONDS = 4.0
PAGES = ("/info/main/workers.html", "/json/index.html", "/json/identity.json", "/metrics", "/health", "/status")


def intrude(folder: Path, ports: list[int], paths: list[str], uid: int | None) -> dict[str, str]:
    """Runs the program; returns what it got, without the attempts that got nothing."""
    command = [sys.executable, "-m", "tests.support.gpu.intruder", str(folder), *([] if uid is None else [str(uid)])]
    given = json.dumps({"ports": ports, "paths": paths})
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    got: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert len(got) == len(_ATTEMPTS) * len(ports) + len(paths)
    return {attempt: found for attempt, found in got.items() if found}


async def _run_on_scheduler(address: str, mark: Path, security: Any) -> str:
    async with Client(address, asynchronous=True, timeout=SECONDS, set_as_default=False, security=security) as client:
        await client.run_on_scheduler(Path.touch, mark)
    return "ran"


async def _run_on_worker(address: str, mark: Path, security: Any) -> str:
    arguments = {} if security is None else {"connection_args": security.get_connection_args("client")}
    async with rpc(address, timeout=SECONDS, **arguments) as worker:
        await worker.run(function=dumps(Path.touch), args=dumps((mark,)), kwargs=dumps({}))
    return "ran"


async def _open(port: int, context: ssl.SSLContext | None = None) -> tuple[Any, Any]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=context)


async def _read_all(reader: Any) -> bytes:
    """Returns what comes until the end, or until nothing more comes."""
    got = b""
    try:
        while more := await asyncio.wait_for(reader.read(1 << 16), SECONDS / 2):
            got += more
    except (TimeoutError, OSError):
        pass
    return got


async def _send_garbage(port: int, context: ssl.SSLContext | None = None) -> str:
    reader, writer = await _open(port, context)
    writer.write(os.urandom(1 << 16))
    got = await _read_all(reader)
    writer.close()
    # An HTTP server's refusal, an alert of TLS and a nonce say nothing of the cluster.
    return "" if got.startswith(b"HTTP/1.1 400") or len(got) <= 32 else repr(got[:100])


async def _get_pages(port: int) -> str:
    found = ""
    for page in PAGES:
        reader, writer = await _open(port)
        writer.write(f"GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        got = await _read_all(reader)
        writer.close()
        if got.startswith(b"HTTP/1.1 200"):
            found += f"{page} "
    return found


def _without_certificate() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_ATTEMPTS: dict[str, Callable[[int, Path, Any], Awaitable[str]]] = {
    "scheduler": lambda port, mark, _: _run_on_scheduler(f"tcp://127.0.0.1:{port}", mark, None),
    "scheduler, other authority": lambda port, mark, own: _run_on_scheduler(f"tls://127.0.0.1:{port}", mark, own),
    "worker": lambda port, mark, _: _run_on_worker(f"tcp://127.0.0.1:{port}", mark, None),
    "worker, other authority": lambda port, mark, own: _run_on_worker(f"tls://127.0.0.1:{port}", mark, own),
    "garbage": lambda port, mark, _: _send_garbage(port),
    "garbage, no certificate": lambda port, mark, _: _send_garbage(port, _without_certificate()),
    "pages": lambda port, mark, _: _get_pages(port),
}


async def _attempt(work: Callable[[], Awaitable[str]]) -> str:
    try:
        return await asyncio.wait_for(work(), 3 * SECONDS)
    except (OSError, TimeoutError, RuntimeError, ValueError, TypeError, MemoryError):
        return ""


def _reach(path: str) -> str:
    """What a path gives: a socket accepts, a directory lists, a file is read."""
    try:
        if Path(path).is_socket():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(SECONDS)
                connection.connect(path)
            return "connected"
        return "listed" if Path(path).is_dir() and list(Path(path).iterdir()) else Path(path).read_text()[:20]
    except OSError:
        return ""


async def _main(folder: Path, ports: list[int], paths: list[str], own: Any) -> dict[str, str]:
    got = {path: _reach(path) for path in paths}
    names = [(name, port) for name in _ATTEMPTS for port in ports]
    works = (
        _attempt(lambda name=name, port=port: _ATTEMPTS[name](port, folder / f"{name}-{port}", own))  # type: ignore[misc]
        for name, port in names
    )
    for (name, port), found in zip(names, await asyncio.gather(*works), strict=True):
        got[f"{name} {port}"] = found
    return got


if __name__ == "__main__":
    request = json.loads(sys.stdin.read())
    certificates = Security.temporary()  # type: ignore[no-untyped-call]
    distributed.comm.tcp.TCPConnector()
    if len(sys.argv) > 2:
        user = int(sys.argv[2])
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    print(json.dumps(asyncio.run(_main(Path(sys.argv[1]), request["ports"], request["paths"], certificates))))
