"""`gpudb cluster-certificates`: a new authority, and the certificates of scheduler, workers and server."""

from __future__ import annotations

from pathlib import Path

from gpudb.certificates import create_cluster_certificates
from gpudb.errors import GpudbError

MEMBERS = ("scheduler", "worker", "server")


def run(directory: Path) -> None:
    """Writes the files and prints which belongs where. Errors: 58P02 if they exist, 58030 if the disk fails."""
    try:
        create_cluster_certificates(directory, MEMBERS, keep_authority_key=True)
    except OSError as error:
        message = f'cannot write certificates to "{directory}": {error.strerror or error}'
        raise GpudbError(message, condition="io_error") from error
    rows = [
        ("ca.crt", "every host: the authority that all trust"),
        ("scheduler.crt, scheduler.key", "the scheduler's host"),
        ("worker.crt, worker.key", "each worker's host"),
        ("server.crt, server.key", "the host of gpudb serve"),
        ("ca.key", "no host: it signs further certificates"),
    ]
    for files, place in rows:
        print(f"{files:32}{place}")
