"""Policies of row level security: conditions on the rows of a table, for commands and for roles."""

from __future__ import annotations

from dataclasses import dataclass

ALL, SELECT, INSERT, UPDATE, DELETE = "*", "r", "a", "w", "d"
"""The commands of policies, as pg_policy.polcmd has them."""
PUBLIC = 0
"""What stands for PUBLIC among the OIDs of roles."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy; its table holds it.

    `using` and `check` (WITH CHECK) are SQL text over the columns of the table. Rows that one of the permissive
    policies accepts are accepted, if each restrictive one accepts them too. `roles` are OIDs.
    """

    oid: int
    name: str
    command: str
    permissive: bool
    roles: tuple[int, ...]
    using: str | None = None
    check: str | None = None
    comment: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The conditions that it has."""
        return tuple(each for each in (self.using, self.check) if each is not None)

    def is_for(self, command: str) -> bool:
        """Whether the policy applies to a command."""
        return self.command in (ALL, command)
