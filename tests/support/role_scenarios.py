"""Scenarios of several roles' statements, played on PostgreSQL and on gpudb and compared as clients see them.

A scenario is lines `role: statement`; each role has one session, which `role!:` opens anew. In a statement, `{pid:role}`
is the process of that role's session and `{directory}` a folder that the server may write.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql as composed

from tests.support.oracle.server import Oracle, start_oracle

Connection = psycopg.Connection[tuple[Any, ...]]
Open = Callable[[str], Connection]
_LINE = re.compile(r"(?P<role>\w+)(?P<anew>!?): (?P<sql>.*)", re.S)
_PID = re.compile(r"\{pid:(\w+)\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a scenario."""

    role: str
    sql: str
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client sees of a statement."""

    tag: str = ""
    rows: tuple[tuple[Any, ...], ...] = ()
    sqlstate: str | None = None
    message: str | None = None
    detail: str | None = None
    hint: str | None = None
    position: str | None = None
    notices: tuple[tuple[str | None, ...], ...] = ()


def read(text: str) -> list[Step]:
    """Reads a scenario; an indented line continues the statement before it."""
    steps: list[Step] = []
    for line in text.strip().splitlines():
        if not line.strip() or line.startswith("--"):
            continue
        if line.startswith(" "):
            last = steps.pop()
            steps.append(Step(last.role, f"{last.sql}\n{line.strip()}", last.anew))
            continue
        match = _LINE.fullmatch(line)
        assert match is not None, line
        steps.append(Step(match["role"], match["sql"], bool(match["anew"])))
    return steps


def play(steps: list[Step], opened: Open, directory: Path) -> list[Seen]:
    """Plays a scenario on one server; returns what is seen of each step."""
    seen: list[Seen] = []
    with contextlib.ExitStack() as stack:
        sessions: dict[str, Connection] = {}
        notices: dict[str, list[tuple[str | None, ...]]] = {}

        def session(role: str, *, anew: bool = False) -> Connection:
            if anew and role in sessions:
                sessions.pop(role).close()
            if role not in sessions:
                connection = stack.enter_context(contextlib.closing(opened(role)))
                heard = notices[role] = []
                connection.add_notice_handler(
                    lambda told: heard.append(
                        (told.severity_nonlocalized, told.sqlstate, told.message_primary, told.message_detail)
                    )
                )
                sessions[role] = connection
            return sessions[role]

        for step in steps:
            try:
                connection = session(step.role, anew=step.anew)
            except psycopg.OperationalError as error:
                seen.append(Seen(message=_connection_error(error)))
                continue
            sql = _PID.sub(lambda match: str(session(match[1]).info.backend_pid), step.sql)
            sql = sql.replace("{directory}", str(directory))
            notices[step.role].clear()
            seen.append(_run(connection, sql, notices[step.role]))
    return seen


def _connection_error(error: psycopg.OperationalError) -> str:
    """Returns the server's own message."""
    return str(error).strip().rpartition("FATAL:")[2].strip()


def _run(connection: Connection, sql: str, notices: list[tuple[str | None, ...]]) -> Seen:
    try:
        cursor = connection.execute(sql)
        rows: tuple[tuple[Any, ...], ...] = ()
        while True:
            rows = tuple(cursor.fetchall()) if cursor.description is not None else ()
            if not cursor.nextset():
                break
        return Seen(cursor.statusmessage or "", rows, notices=tuple(notices))
    except psycopg.Error as error:
        told = error.diag
        return Seen(
            "",
            (),
            told.sqlstate,
            told.message_primary or str(error),
            told.message_detail,
            told.message_hint,
            told.statement_position,
            tuple(notices),
        )


def compare(steps: list[Step], oracle: list[Seen], gpudb: list[Seen]) -> None:
    """Raises AssertionError with every step of which the two servers show different things."""
    wrong = [
        f"{step.role}: {step.sql}\n  oracle {expected}\n  gpudb  {actual}"
        for step, expected, actual in zip(steps, oracle, gpudb, strict=True)
        if expected != actual
    ]
    assert not wrong, "\n".join(wrong)


class RoleOracle:
    """A PostgreSQL of its own, since roles belong to a whole server. Its bootstrap superuser is `gpudb`, as gpudb's."""

    def __init__(self, oracle: Oracle) -> None:
        self._dsn = oracle.dsn
        with self.open("gpudb") as connection:
            connection.execute("CREATE ROLE renamer SUPERUSER LOGIN")
        with self.open("renamer") as connection:
            connection.execute("ALTER ROLE gpudb RENAME TO former")
            connection.execute("ALTER ROLE postgres RENAME TO gpudb")
        with self.open("gpudb") as connection:
            connection.execute("ALTER DATABASE gpudb OWNER TO gpudb")
            connection.execute("DROP OWNED BY former")
            connection.execute("DROP ROLE former, renamer")

    @property
    def dsn(self) -> str:
        """The connection string of the superuser."""
        return self._dsn

    def open(self, role: str) -> Connection:
        """Opens a session of a role."""
        return psycopg.connect(f"{self._dsn.replace('user=gpudb', '')} user={role}", autocommit=True)

    def clear(self) -> None:
        """Drops every role that is not PostgreSQL's own, with its objects, and every schema of users."""
        with self.open("gpudb") as connection:
            rows = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)'"
            ).fetchall()
            for (name,) in rows:
                connection.execute(composed.SQL("DROP SCHEMA {} CASCADE").format(composed.Identifier(name)))
            connection.execute("CREATE SCHEMA public AUTHORIZATION pg_database_owner")
            connection.execute("GRANT USAGE ON SCHEMA public TO PUBLIC")
            connection.execute("REVOKE CREATE ON DATABASE gpudb FROM PUBLIC")
            rows = connection.execute(r"SELECT rolname FROM pg_roles WHERE rolname !~ '^(pg_|gpudb$)'").fetchall()
            names = [composed.Identifier(name) for (name,) in rows]
            if names:
                listed = composed.SQL(", ").join(names)
                connection.execute(composed.SQL("DROP OWNED BY {} CASCADE").format(listed))
                connection.execute(composed.SQL("DROP ROLE {}").format(listed))


@contextlib.contextmanager
def start_role_oracle() -> Iterator[RoleOracle]:
    """Starts such a server, and ends it."""
    with start_oracle() as oracle:
        oracle.close()
        yield RoleOracle(oracle)
