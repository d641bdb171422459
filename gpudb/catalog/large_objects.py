"""Large objects: bytes that applications read and write in pieces, by an OID and a position, as files are."""

from __future__ import annotations

from dataclasses import dataclass

from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.tables import Column, Table
from gpudb.types import INT4, OID, SqlType
from gpudb.values.acl import Acl

PAGE_BYTES = 2048
MAX_BYTES = (2**31 - 1) * PAGE_BYTES
"""The most bytes of one large object."""
CONTENT_NAME = "pg_largeobject"
CONTENT_COLUMNS = (
    Column("loid", OID, not_null=True),
    Column("pageno", INT4, not_null=True),
    Column("data", SqlType("bytea"), not_null=True),
)
"""The columns of the table that has the pages of all large objects of a database; pages of zeros may be missing."""


@dataclass(frozen=True, slots=True)
class LargeObject:
    """What is known of a large object beside its pages; `size` counts its bytes.

    `stamp` is another number after each transaction that changes its pages: of two at the same time one fails.
    """

    oid: int
    owner: str
    size: int = 0
    stamp: int = 0
    comment: str | None = None
    acl: Acl | None = None

    @property
    def name(self) -> str:
        """What messages call it: its OID."""
        return str(self.oid)

    @property
    def key(self) -> str:
        """The key in `Catalog.large_objects`: the OID as text."""
        return str(self.oid)


def make_content_table(oid: int, owner: str) -> Table:
    """Returns the table of a database's pages before there are any."""
    return Table(oid, CONTENT_SCHEMA, CONTENT_NAME, CONTENT_COLUMNS, owner)
