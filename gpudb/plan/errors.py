"""Error that ends planning for the workers; the statement then runs whole on the embedded engine."""

from __future__ import annotations


class NotSupportedOnWorkers(Exception):
    """Raised for a construct that no worker runs. `construct` names it, as EXPLAIN and the NOTICE do."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        self.construct = construct
