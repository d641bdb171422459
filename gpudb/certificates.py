"""X.509 certificates: the server's self-signed one, and a cluster's authority with the certificates that it signs.

Private keys are written with mode 0600 and are elliptic (P-256). Imports errors.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.errors import SqlError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY = "ca"
"""Name of an authority's files in its directory."""
_YEARS = 10


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """PEM files of a member of a cluster: its certificate, its private key, and the authority that signs all members.

    Whoever has a certificate of the authority may give the cluster orders.
    """

    authority: Path
    certificate: Path
    key: Path


def create_self_signed(certificate: Path, key: Path, host: str) -> None:
    """Writes a self-signed certificate for a server at `host` and on localhost, and its private key."""
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    try:
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    private = _generate_key()
    builder = (
        _start(host, host, private)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    _write_key(key, private)
    _write_certificate(certificate, builder, private)


def create_cluster_certificates(directory: Path, members: Sequence[str], *, keep_authority_key: bool) -> None:
    """Writes a new authority (`ca.crt`) and a certificate that it signs for each member (`MEMBER.crt`, `MEMBER.key`).

    With `keep_authority_key` the authority's key is written too (`ca.key`): further certificates can be signed with
    it. Creates the directory with mode 0700 if it is missing; 58P02 if it already has an authority.
    """
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (directory / f"{AUTHORITY}.crt").exists():
        raise SqlError.of("duplicate_file", f'directory "{directory}" already has the certificates of a cluster')
    issuer = "gpudb cluster"
    authority = _generate_key()
    known = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    builder = (
        _start(issuer, issuer, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(known, critical=False)
    )
    if keep_authority_key:
        _write_key(directory / f"{AUTHORITY}.key", authority)
    _write_certificate(directory / f"{AUTHORITY}.crt", builder, authority)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    for member in members:
        private = _generate_key()
        builder = (
            _start(member, issuer, private)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(member)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), critical=False)
        )
        files = locate_member(directory, member)
        _write_key(files.key, private)
        _write_certificate(files.certificate, builder, authority)


def locate_member(directory: Path, member: str) -> CertificateFiles:
    """Returns the files that `create_cluster_certificates` writes for a member."""
    return CertificateFiles(directory / f"{AUTHORITY}.crt", directory / f"{member}.crt", directory / f"{member}.key")


def check_private_key(key: Path) -> None:
    """Raises F0000 if others may read a private key, by PostgreSQL's rule; OSError if it does not exist."""
    if key.stat().st_mode & 0o027:
        hint = "Permissions should be u=rw (0600) or less, or u=rw,g=r (0640) or less if owned by root."
        raise SqlError.of("config_file_error", f'private key file "{key}" has group or world access', hint=hint)


def _generate_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _start(subject: str, issuer: str, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    """Returns a certificate of `key` without extensions, by common names."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=365 * _YEARS))
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives import serialization

    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The key is never readable by others, not even for a moment.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(private)


def _write_certificate(path: Path, builder: x509.CertificateBuilder, signer: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives import hashes, serialization

    path.write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
