"""The self-signed certificate of a data directory on which several servers start at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpudb.server.wire.tls import make_self_signed_context


def test_servers_that_start_at_once_share_one_certificate(tmp_path: Path) -> None:
    begin = threading.Barrier(6)

    def start(_: int) -> bytes:
        begin.wait(30)
        make_self_signed_context(tmp_path)  # raises unless certificate and key belong together
        return (tmp_path / "server.crt").read_bytes()

    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(start, range(6)))) == 1
