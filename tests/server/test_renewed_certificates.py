"""Certificates that are renewed while connections are made: each handshake has one of them, whole."""

from __future__ import annotations

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpudb.certificates import create_self_signed
from gpudb.server.wire.tls import RenewableCertificate

HANDSHAKES = 100


def _shake(certificate: RenewableCertificate) -> bytes:
    """Returns the certificate that a client is shown."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    serving = threading.Thread(target=lambda: certificate.context.wrap_socket(ours, server_side=True).close())
    serving.start()
    with client.wrap_socket(theirs) as connection:
        shown = connection.getpeercert(binary_form=True)
    serving.join()
    assert shown is not None
    return shown


def test_handshakes_beside_renewals(tmp_path: Path) -> None:
    create_self_signed(tmp_path / "crt", tmp_path / "key", "localhost")
    create_self_signed(tmp_path / "new.crt", tmp_path / "new.key", "localhost")
    certificate = RenewableCertificate(tmp_path / "crt", tmp_path / "key")
    former = _shake(certificate)
    with ThreadPoolExecutor(3) as pool:
        shown = [pool.submit(_shake, certificate) for _ in range(HANDSHAKES)]
        while not all(each.done() for each in shown):
            certificate.reload()
        assert {each.result() for each in shown} == {former}
    (tmp_path / "new.crt").replace(tmp_path / "crt")
    certificate.reload()  # whose key is not there yet
    assert _shake(certificate) == former
    (tmp_path / "new.key").replace(tmp_path / "key")
    certificate.reload()
    assert _shake(certificate) != former
