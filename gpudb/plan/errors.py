"""What ends planning for the workers: the statement runs whole on the embedded engine instead, and says why."""

from __future__ import annotations


class NotCarried(Exception):
    """A construct that no worker runs; `construct` names it, as EXPLAIN and the NOTICE do."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        self.construct = construct
