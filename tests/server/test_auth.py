"""SCRAM-SHA-256: RFC 7677's example, PostgreSQL's secrets, and every kind of failed exchange."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError
from gpudb.server.wire.auth import Scram, is_loopback, is_trusted
from gpudb.values.scram import derive_keys, make_verifier, parse_verifier, password_matches, saslprep
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient


def client_final(password: str, bare: bytes, server_first: bytes, header: bytes = b"n,,") -> bytes:
    fields = dict(part.split(b"=", 1) for part in server_first.split(b","))
    salt, rounds = base64.b64decode(fields[b"s"]), int(fields[b"i"])
    salted = hashlib.pbkdf2_hmac("sha256", saslprep(password).encode(), salt, rounds)
    key = hmac.digest(salted, b"Client Key", "sha256")
    without = b"c=" + base64.b64encode(header) + b",r=" + fields[b"r"]
    signature = hmac.digest(hashlib.sha256(key).digest(), b",".join((bare, server_first, without)), "sha256")
    proof = bytes(a ^ b for a, b in zip(key, signature))
    return without + b",p=" + base64.b64encode(proof)


def role(password: str | None = "secret") -> Role:
    return Role(1, "u", verifier=None if password is None else make_verifier(password))


def exchange(scram: Scram, password: str, header: bytes = b"n,,") -> bytes:
    bare = b"n=,r=abcdef"
    first = scram.answer_first(header + bare)
    return scram.answer_final(client_final(password, bare, first, header))


def test_the_keys_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = derive_keys("pencil", 4096, salt)
    signed = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = base64.b64encode(hmac.digest(keys.server_key, signed, "sha256"))
    assert signature == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("password", ["secret", "pässwörd", "ﬁne", "a\u00a0b", "\u0627\u0628", "a\u0627", "x" * 500])
def test_verifiers_are_postgresqls(oracle: Oracle, password: str) -> None:
    with oracle.connect() as client:
        assert not client.execute("SET password_encryption = 'scram-sha-256'").failed
        assert not client.execute("DROP ROLE IF EXISTS scrambled").failed
        assert not client.execute(f"CREATE ROLE scrambled PASSWORD '{password}'").failed
        stored = client.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'scrambled'").rows[0][0]
    assert stored is not None
    verifier = parse_verifier(stored)
    assert verifier is not None
    assert str(verifier) == stored
    assert password_matches(password, verifier)
    assert not password_matches(password + "x", verifier)


def test_postgresql_takes_our_verifier_as_it_is(oracle: Oracle) -> None:
    text = make_verifier("secret")
    with WireClient(oracle.dsn) as client:
        assert not client.execute("DROP ROLE IF EXISTS scrambled").failed
        assert not client.execute(f"CREATE ROLE scrambled PASSWORD '{text}'").failed
        stored = client.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'scrambled'").rows[0][0]
    assert stored == text


@pytest.mark.parametrize(
    "text", ["", "secret", "md5abc", "SCRAM-SHA-256$4096:!$a:b", "SCRAM-SHA-256$4096:YQ==$YQ==:YQ=="]
)
def test_other_texts_are_no_verifiers(text: str) -> None:
    assert parse_verifier(text) is None


@pytest.mark.parametrize("header", [b"n,,", b"y,,"])
def test_the_right_password_is_let_in(header: bytes) -> None:
    assert exchange(Scram("u", role()), "secret", header).startswith(b"v=")


@pytest.mark.parametrize("known", [role(), role(None), None])
def test_wrong_passwords_and_unknown_roles_fail_alike(known: Role | None) -> None:
    with pytest.raises(GpudbError) as raised:
        exchange(Scram("u", known), "wrong")
    assert raised.value.sqlstate == "28P01"
    assert raised.value.message == 'password authentication failed for user "u"'


def test_an_unknown_roles_salt_stays_the_same() -> None:
    salts = {Scram("nobody", None).answer_first(b"n,,n=,r=x").split(b",")[1] for _ in range(3)}
    assert len(salts) == 1
    assert salts != {Scram("somebody", None).answer_first(b"n,,n=,r=x").split(b",")[1]}


@pytest.mark.parametrize(
    ("message", "sqlstate"),
    [
        (b"", "08P01"),
        (b"n,,", "08P01"),
        (b"n,,n=,r=", "08P01"),
        (b"n,,n=,r=a\x00b", "08P01"),
        (b"n,,n=,r=a b", "08P01"),
        (b"x,,n=,r=a", "08P01"),
        (b"p=tls-server-end-point,,n=,r=a", "08P01"),
        (b"n,a=other,n=,r=a", "0A000"),
        (b"n,,m=ext,n=,r=a", "0A000"),
    ],
)
def test_first_messages_that_are_refused(message: bytes, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as raised:
        Scram("u", role()).answer_first(message)
    assert raised.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "change",
    [
        lambda final: b"",
        lambda final: final[: final.index(b",p=")],
        lambda final: final.replace(b"c=biws", b"c=eSws"),
        lambda final: final.replace(b"c=biws", b"c=!"),
        lambda final: final.replace(b",r=", b",r=x"),
        lambda final: final + b"!",
        lambda final: final.split(b",p=")[0] + b",p=AAAA=A",
    ],
)
def test_final_messages_that_are_malformed(change: object) -> None:
    scram = Scram("u", role())
    bare = b"n=,r=abc"
    final = client_final("secret", bare, scram.answer_first(b"n,," + bare))
    with pytest.raises(GpudbError) as raised:
        scram.answer_final(change(final))  # type: ignore[operator]
    assert raised.value.sqlstate == "08P01"


def test_a_proof_of_another_length_is_wrong() -> None:
    scram = Scram("u", role())
    bare = b"n=,r=abc"
    final = client_final("secret", bare, scram.answer_first(b"n,," + bare))
    with pytest.raises(GpudbError) as raised:
        scram.answer_final(final.split(b",p=")[0] + b",p=QUJD")
    assert raised.value.sqlstate == "28P01"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("localhost", True),
     ("10.0.0.1", False), ("0.0.0.0", False), ("::", False), ("::ffff:10.0.0.1", False), ("example", False)],
)  # fmt: skip
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_trust_is_for_loopback_and_roles_without_password() -> None:
    assert is_trusted(role(None), "127.0.0.1")
    assert not is_trusted(role(None), "10.0.0.1")
    assert not is_trusted(role(), "127.0.0.1")
    assert not is_trusted(None, "127.0.0.1")
