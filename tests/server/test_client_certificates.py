"""Clients with certificates: the methods cert and clientcert of the rules, over TLS with psycopg."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gpudb.catalog.roles import Role
from gpudb.config.wire import WireSettings
from gpudb.errors import SqlError
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.tls import make_self_signed_context
from gpudb.values.scram import make_verifier
from tests.support.fake_database import FakeDatabase

Serve = Callable[..., PgServer]


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority with its certificate in a file, which signs clients' certificates."""

    folder: Path
    name: str
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, folder: Path, name: str) -> Authority:
        made = cls(folder, name, ec.generate_private_key(ec.SECP256R1()))
        made.write(name, made.key, is_authority=True)
        return made

    @property
    def certificate(self) -> Path:
        return self.folder / f"{self.name}.crt"

    def write(self, common_name: str, key: ec.EllipticCurvePrivateKey, *, is_authority: bool = False) -> None:
        now = dt.datetime.now(dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        path = self.folder / f"{common_name}.crt"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, common_name: str) -> dict[str, str]:
        """Returns connection options with a certificate of this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        self.write(common_name, key)
        path = self.folder / f"{common_name}.key"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        path.chmod(0o600)
        return {"sslcert": str(self.folder / f"{common_name}.crt"), "sslkey": str(path)}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "ours").mkdir()
    return Authority.create(tmp_path / "ours", "authority")


@pytest.fixture
def server(serve: Serve, tmp_path: Path, authority: Authority) -> PgServer:
    rules = tmp_path / "pg_hba.conf"
    rules.write_text(
        "hostssl all ann all cert\n"
        "hostssl all bob all scram-sha-256 clientcert=verify-full\n"
        "hostssl all eve all trust clientcert=verify-ca\n"
        "host all gpudb all trust\n"
    )
    database = FakeDatabase(
        Role(10, "gpudb", superuser=True),
        Role(11, "ann"),
        Role(12, "bob", verifier=make_verifier("secret", iterations=100)),
        Role(13, "eve"),
    )
    tls = make_self_signed_context(tmp_path, authorities=authority.certificate)
    return serve(
        database,
        WireSettings(port=0, failed_login_delay=0),
        hba=HbaFile(rules, verifies_certificates=True),
        tls=tls,
    )


def connect(server: PgServer, user: str, **options: str) -> str:
    """Returns `in`, or the refusal."""
    host, port = server.address
    given: dict[str, Any] = {"host": host, "port": port, "user": user, "dbname": "gpudb", "sslmode": "require"}
    try:
        with psycopg.connect(**{**given, "sslcert": "", **options}, connect_timeout=60) as connection:
            return "in" if connection.execute("select 1").fetchone() == (1,) else "no answer"
    except psycopg.OperationalError as error:
        return str(error).rpartition("FATAL:")[2].strip() or str(error)


def test_a_certificate_of_the_name_is_let_in(server: PgServer, authority: Authority) -> None:
    certificate = authority.sign("ann")
    assert connect(server, "ann", **certificate) == "in"
    assert connect(server, "ann") == "connection requires a valid client certificate"
    assert connect(server, "ann", sslmode="disable").startswith("no pg_hba.conf entry")
    assert connect(server, "ann", **authority.sign("bob")) == 'certificate authentication failed for user "ann"'


def test_a_certificate_may_be_wanted_beside_the_password(server: PgServer, authority: Authority) -> None:
    own, other = authority.sign("bob"), authority.sign("ann")
    assert connect(server, "bob", **own, password="secret") == "in"
    assert connect(server, "bob", **own, password="wrong") == 'password authentication failed for user "bob"'
    assert connect(server, "bob", password="secret") == "connection requires a valid client certificate"
    assert connect(server, "bob", **other, password="secret") == 'password authentication failed for user "bob"'


def test_verify_ca_wants_any_certificate_of_the_authority(server: PgServer, authority: Authority) -> None:
    assert connect(server, "eve", **authority.sign("ann")) == "in"
    assert connect(server, "eve") == "connection requires a valid client certificate"


def test_certificates_of_other_authorities_are_refused(server: PgServer, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    foreign = Authority.create(tmp_path / "theirs", "stranger")
    for user in ("ann", "eve", "gpudb"):
        assert connect(server, user, **foreign.sign("ann")) != "in"


def test_clients_without_certificate_connect_where_none_is_wanted(server: PgServer) -> None:
    assert connect(server, "gpudb") == "in"
    assert connect(server, "gpudb", sslmode="disable") == "in"


def test_unusable_authorities_are_refused(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("no certificate")
    for name in ("none", "missing"):
        with pytest.raises(SqlError, match="root certificate file") as raised:
            make_self_signed_context(tmp_path, authorities=tmp_path / name)
        assert raised.value.sqlstate == "F0000"
