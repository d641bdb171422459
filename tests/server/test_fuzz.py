"""Malformed messages, seeded: the server answers with a SQLSTATE or closes, and continues to serve other clients.

300 cases by default, 10,000 with --soak.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from gpudb.session.interfaces import DatabaseInterface
from tests.support import raw_wire
from tests.support.fake_database import FakeDatabase
from tests.support.raw_wire import SYNC, bind, close, connected, describe, execute, message, parse, query, startup

SEED = 20_240_601
CASES, SOAK_CASES = 300, 10_000

_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_FRONTEND = "QPBDECHSXFdcfp"

_SENSIBLE: tuple[Callable[[random.Random], bytes], ...] = (
    lambda r: query("select 1 as a; select 'x' as b"),
    lambda r: query("selec"),
    lambda r: query("begin"),
    lambda r: query("fault"),
    lambda r: query("copy t from stdin"),
    lambda r: query("copy t to stdout"),
    lambda r: parse("select $1::int as a, $2::text as b", r.choice(["", "s", "t"]), [23, 25]),
    lambda r: parse("select * from generate_series(1, 9) t(n)", r.choice(["", "s", "t"])),
    lambda r: bind(r.choice(["", "p"]), r.choice(["", "s", "t"]), [b"1", None], r.choice([[], [0], [1, 0]]), [0]),
    lambda r: bind(r.choice(["", "p"]), r.choice(["", "s", "t"])),
    lambda r: describe(r.choice("SP"), r.choice(["", "s", "p"])),
    lambda r: execute(r.choice(["", "p"]), r.choice([0, 1, 3, -1, 2**31 - 1])),
    lambda r: close(r.choice("SP"), r.choice(["", "s", "p"])),
    lambda r: message("d", b"1\n"),
    lambda r: message("d", b"bad"),
    lambda r: message("c"),
    lambda r: message("f", b"no\0"),
    lambda r: message("F", r.randbytes(8)),
    lambda r: SYNC,
    lambda r: raw_wire.FLUSH,
)


def broken(random_: random.Random) -> bytes:
    """Valid messages, then one that is truncated, changed, given a wrong length or type, or random bytes."""
    data = b"".join(random_.choice(_SENSIBLE)(random_) for _ in range(random_.randint(0, 5)))
    whole = bytearray(random_.choice(_SENSIBLE)(random_))
    match random_.randrange(7):
        case 0:
            del whole[random_.randrange(1, len(whole) + 1) :]
        case 1:
            for _ in range(random_.randint(1, 4)):
                whole[random_.randrange(len(whole))] = random_.randrange(256)
        case 2:
            whole[1:5] = random_.choice(
                [b"\0\0\0\0", b"\0\0\0\3", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", random_.randbytes(4)]
            )
        case 3:
            whole[0] = random_.randrange(256)
        case 4:
            whole[5:] = random_.randbytes(len(whole) - 5)
        case 5:
            whole = bytearray(message(random_.choice(_FRONTEND), random_.randbytes(random_.randint(0, 40))))
        case 6:
            whole = bytearray(random_.randbytes(random_.randint(1, 60)))
    return data + bytes(whole) + b"".join(random_.choice(_SENSIBLE)(random_) for _ in range(random_.randint(0, 2)))


def broken_startup(random_: random.Random) -> bytes:
    whole = bytearray(startup(user="gpudb", database="gpudb", TimeZone="UTC"))
    for _ in range(random_.randint(1, 5)):
        whole[random_.randrange(len(whole))] = random_.randrange(256)
    return bytes(whole[: random_.randint(1, len(whole))] if random_.random() < 0.3 else whole)


def check(answers: list[raw_wire.Answer]) -> None:
    for answer in answers:
        assert answer.kind in "RSKZTDCEIN123nstGHdcv"
        if answer.kind in "EN":
            assert _SQLSTATE.fullmatch(answer.fields["C"])
            assert "Traceback" not in answer.fields["M"]
            assert "secret" not in answer.fields["M"]


def run(server: PgServer, seed: int) -> None:
    random_ = random.Random(seed)
    starting = random_.random() < 0.15
    with connected(server.address, login=not starting) as client:
        client.send(broken_startup(random_) if starting else broken(random_))
        # Nothing can follow this: the server reads the end of the stream.
        client.socket.shutdown(1)
        check(client.to_end())


def rounds(server: PgServer, count: int) -> None:
    for number in range(count):
        run(server, SEED + number)
        if number % 50 == 0:
            with connected(server.address) as client:
                client.send(query("select 1 as a"))
                assert "".join(answer.kind for answer in client.until()) == "TDCZ"


def real() -> Database:
    database = Database()
    session = database.session("gpudb")
    for _ in session.run("create table t (a text)"):
        pass
    session.close()
    return database


DATABASES = pytest.mark.parametrize("make", [FakeDatabase, real], ids=["fake", "real"])


@DATABASES
def test_broken_messages(serve: Callable[..., PgServer], make: Callable[[], DatabaseInterface]) -> None:
    rounds(serve(make(), WireSettings(port=0, authentication_timeout=5)), CASES)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@DATABASES
def test_many_broken_messages(serve: Callable[..., PgServer], make: Callable[[], DatabaseInterface]) -> None:
    rounds(serve(make(), WireSettings(port=0, authentication_timeout=5)), SOAK_CASES)
