"""The server's side of TLS: a context of certificate and key files, or of a self-signed certificate."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
from pathlib import Path

from gpudb.errors import SqlError

_YEARS = 10


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
        if key.stat().st_mode & 0o027:
            hint = "Permissions should be u=rw (0600) or less, or u=rw,g=r (0640) or less if owned by root."
            raise SqlError.of("config_file_error", f'private key file "{key}" has group or world access', hint=hint)
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


def _reject_password() -> str:
    raise ssl.SSLError("the private key is protected by a password")


def make_self_signed_context(
    directory: Path, host: str = "localhost", authorities: Path | None = None
) -> ssl.SSLContext:
    """Returns a context with a self-signed certificate, created in `directory` (server.crt, server.key) on first
    use. `authorities` as in `make_server_context`.
    """
    certificate, key = directory / "server.crt", directory / "server.key"
    if not certificate.exists() or not key.exists():
        _create_certificate(certificate, key, host)
    return make_server_context(certificate, key, authorities)


def _create_certificate(certificate_path: Path, key_path: Path, host: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    names: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    try:
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write_private(key_path, private)
    _write_private(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))


def _write_private(path: Path, data: bytes) -> None:
    """Writes a file that is never readable by others, not even for a moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
