"""Documents of the console: queries and dashboards that roles have saved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A saved query or dashboard.

    `owner` is the OID of a role, and outlives it: then superusers alone change it. `shared` is whether other roles see
    it. `changed` is a time in ISO 8601, `body` JSON of which the page alone knows the form.
    """

    id: str
    kind: str
    name: str
    owner: int
    shared: bool
    changed: str
    body: str

    @property
    def key(self) -> str:
        """The key in `Catalog.documents`: the id."""
        return self.id
