"""`gpudb cluster-certificates`: files that TLS accepts from each other, and from nobody else."""

from __future__ import annotations

import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from gpudb.certificates import CertificateFiles, locate_member
from gpudb.cli.cluster_certificates import MEMBERS
from tests.support.command_line import run_in_process


def _context(files: CertificateFiles, *, server: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(files.authority)
    context.load_cert_chain(files.certificate, files.key)
    return context


def _talk(server: CertificateFiles, client: CertificateFiles) -> bytes:
    """Returns what a client gets from a server; raises the client's error, or ConnectionError at a silent end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    theirs.settimeout(20)

    def serve() -> None:
        try:
            with _context(server, server=True).wrap_socket(theirs, server_side=True) as connection:
                connection.sendall(b"hello")
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with _context(client, server=False).wrap_socket(ours) as connection:
            got = connection.recv(100)
    finally:
        ours.close()
        thread.join(20)
    if not got:
        raise ConnectionError("nothing came")
    return got


def test_members_trust_each_other_and_nobody_else(tmp_path: Path) -> None:
    for name in ("one", "other"):
        done = run_in_process("cluster-certificates", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
        assert {"ca.crt", "scheduler.key", "worker.key", "server.key", "ca.key"} <= set(
            done.stdout.replace(",", "").split()
        )
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700
    written = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "one").iterdir()}
    assert {name for name, mode in written.items() if mode == 0o600} >= {"ca.key", *(f"{each}.key" for each in MEMBERS)}
    for first in MEMBERS:
        for second in MEMBERS:
            ours, theirs = locate_member(tmp_path / "one", first), locate_member(tmp_path / "one", second)
            assert _talk(ours, theirs) == b"hello"
    ours, others = locate_member(tmp_path / "one", "server"), locate_member(tmp_path / "other", "server")
    mixed = CertificateFiles(ours.authority, others.certificate, others.key)
    for client in (others, mixed):
        with pytest.raises(OSError, match=r".+"):
            _talk(ours, client)


def test_certificates_are_not_overwritten(tmp_path: Path) -> None:
    assert run_in_process("cluster-certificates", tmp_path).returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run_in_process("cluster-certificates", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "already has the certificates of a cluster" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    done = run_in_process("cluster-certificates", tmp_path / "ca.crt" / "below")
    assert done.returncode == 1
    assert "cannot write certificates" in done.stderr
