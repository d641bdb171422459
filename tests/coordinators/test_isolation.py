"""Interleaved statements of sessions on two servers have the outcomes that they have in one PostgreSQL."""

from __future__ import annotations

import pytest

from tests.support.coordinators import connect
from tests.support.interleavings import SCRIPTS, play
from tests.support.oracle.server import Oracle
from tests.support.server_program import Program

_OF_ONE_SERVER = ("a deadlock of rows", "a deadlock of keys")
"""Of two servers either is chosen, whatever deadlock_timeout says: `test_locks` plays deadlocks between them."""


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in _OF_ONE_SERVER])
def test_interleaved_sessions_of_two_servers(name: str, oracle: Oracle, servers: tuple[Program, Program]) -> None:
    expected = play(dict.fromkeys("abcd", oracle.dsn), SCRIPTS[name])
    dsns = []
    for server in servers:
        with connect(server) as connection:
            dsns.append(f"{connection.info.dsn} options='-c gpudb.fresh_reads=on'")
    assert play(dict(zip("abcd", dsns * 2, strict=True)), SCRIPTS[name]) == expected
