"""The server's side of TLS: a context of certificate and key files, or of a self-signed certificate."""

from __future__ import annotations

import fcntl
import logging
import ssl
from pathlib import Path

from gpudb.certificates import check_private_key, create_self_signed
from gpudb.errors import SqlError
from gpudb.storage.private_files import open_private

_LOG = logging.getLogger(__name__)


def make_server_context(certificate: Path, key: Path, authorities: Path | None = None) -> ssl.SSLContext:
    """Returns a context for TLS 1.2 or newer with these PEM files; F0000 if they are unusable, or the key is readable
    by others.

    With `authorities` clients may give certificates, which have to be signed by one of these.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # At shutdown reading stops as well (Stream.stop_reading), and the client has yet to receive the reason.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        check_private_key(key)
        context.load_cert_chain(certificate, key, password=_reject_password)
    except (OSError, ssl.SSLError) as error:
        raise SqlError.of("config_file_error", f'could not load certificate "{certificate}": {error}') from error
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except (OSError, ssl.SSLError) as error:
            message = f'could not load root certificate file "{authorities}": {error}'
            raise SqlError.of("config_file_error", message) from error
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


class RenewableCertificate:
    """A certificate that is renewed while the server runs; `context` serves all connections.

    OpenSSL lets nobody change a context while handshakes use it: a renewed certificate has a context of its own, which
    the connections that follow change to.
    """

    def __init__(self, certificate: Path, key: Path, authorities: Path | None = None) -> None:
        """See `make_server_context`."""
        self._files = certificate, key, authorities
        self.context = make_server_context(certificate, key, authorities)
        self._renewed: ssl.SSLContext | None = None
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        if self._renewed is not None:
            connection.context = self._renewed

    def reload(self) -> None:
        """Loads the files for the connections that follow; those that cannot be used are logged and not loaded."""
        try:
            self._renewed = make_server_context(*self._files)
        except SqlError as error:
            _LOG.error("the certificate is not loaded again: %s", error)


def _reject_password() -> str:
    raise ssl.SSLError("the private key is protected by a password")


def make_self_signed_context(
    directory: Path, host: str = "localhost", authorities: Path | None = None
) -> ssl.SSLContext:
    """Returns a context with a self-signed certificate, created in `directory` (server.crt, server.key) on first
    use. `authorities` as in `make_server_context`.
    """
    certificate, key = directory / "server.crt", directory / "server.key"
    # Of several servers that start on the directory at once, the first makes both files.
    with open(directory / "server.key.lock", "a", opener=open_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not certificate.exists() or not key.exists():
            create_self_signed(certificate, key, host)
    return make_server_context(certificate, key, authorities)
