"""Triggers of tables and views: functions that run when rows are inserted, updated or deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BEFORE, AFTER, INSTEAD = "BEFORE", "AFTER", "INSTEAD OF"
INSERT, UPDATE, DELETE, TRUNCATE = "INSERT", "UPDATE", "DELETE", "TRUNCATE"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger; its relation holds it. `function` is the OID of its function, `arguments` those of TG_ARGV.

    `events` are in PostgreSQL's order: INSERT, DELETE, UPDATE, TRUNCATE. `columns` are those of UPDATE OF. `condition`
    (WHEN) is SQL text over the rows `old` and `new`. `old_table` and `new_table` name transition tables.
    `enabled` is pg_trigger's letter: O (origin), D (disabled), R (replica), A (always). That of a partition that its
    partitioned table has too has the OID of that one as `parent`.
    """

    oid: int
    name: str
    function: int
    timing: str
    events: tuple[str, ...]
    for_each_row: bool = False
    columns: tuple[str, ...] = ()
    condition: str | None = None
    arguments: tuple[str, ...] = ()
    old_table: str = ""
    new_table: str = ""
    enabled: str = "O"
    comment: str | None = None
    parent: int = 0

    def is_enabled(self, replication_role: str) -> bool:
        """Whether the trigger fires in a session with a `session_replication_role`."""
        fires_in = {"O": {"origin", "local"}, "R": {"replica"}, "A": {"origin", "local", "replica"}}
        return replication_role in fires_in.get(self.enabled, ())


def has_event(triggers: Iterable[Trigger], event: str) -> bool:
    """Whether one of the triggers is for an event."""
    return any(event in each.events for each in triggers)
