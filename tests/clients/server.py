"""The server that clients connect to: passwords by SCRAM, TLS, and an empty database for each client."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from gpudb.certificates import create_self_signed
from tests.support.server_program import Program

USER, PASSWORD = "gpudb", "correct horse"
_RULES = "host all all 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server and the variables by which libpq's clients find it, but for the database."""

    environment: Mapping[str, str]

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection to the database postgres, which commits each statement."""
        known = self.environment
        return psycopg.connect(
            host=known["PGHOST"],
            port=known["PGPORT"],
            user=known["PGUSER"],
            password=known["PGPASSWORD"],
            dbname="postgres",
            autocommit=True,
        )

    @contextmanager
    def database(self, name: str) -> Iterator[Mapping[str, str]]:
        """Creates an empty database; yields a process environment that leads there; drops it with its connections."""
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        with self.connect() as connection:
            connection.execute(drop)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield {**os.environ, **self.environment, "PGDATABASE": name}
        finally:
            # a session that has not noticed yet that its client is gone ends with the server
            with self.connect() as connection, suppress(psycopg.errors.ObjectInUse):
                connection.execute(drop)


VARIABLES = ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGSSLROOTCERT")


def given() -> Server:
    """The server that libpq's variables name, such as a PostgreSQL to compare with. Raises KeyError without them."""
    return Server({name: os.environ[name] for name in VARIABLES} | {"PGCONNECT_TIMEOUT": "20"})


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Server]:
    """Starts `gpudb serve` in a folder, where its certificate is too; ends it."""
    certificate, key, rules = folder / "server.crt", folder / "server.key", folder / "hba.conf"
    create_self_signed(certificate, key, "127.0.0.1")
    rules.write_text(_RULES, encoding="utf-8")
    passwords = folder / "passwords"
    passwords.mkdir()
    (passwords / USER).write_text(PASSWORD, encoding="utf-8")
    files = ("--tls-cert", str(certificate), "--tls-key", str(key), "--hba-file", str(rules))
    program = Program(folder / "data", *files, *options, environment={"GPUDB_ROLE_PASSWORDS": str(passwords)})
    try:
        yield Server(
            {
                "PGHOST": program.host,
                "PGPORT": str(program.port),
                "PGUSER": USER,
                "PGPASSWORD": PASSWORD,
                "PGSSLROOTCERT": str(certificate),
                "PGCONNECT_TIMEOUT": "20",
            }
        )
    finally:
        program.end()
