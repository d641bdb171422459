"""PostgreSQL's extensions: those that gpudb has something of, and those that a database has.

CREATE EXTENSION creates a foreign-data wrapper for those of `wrappers`; what others bring is there without it. Every
database has `plpgsql`, as in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.wrappers import KNOWN


@dataclass(frozen=True, slots=True)
class AvailableExtension:
    """What CREATE EXTENSION takes: its only version, PostgreSQL's comment, and whether ALTER may move its schema."""

    name: str
    version: str
    comment: str
    relocatable: bool = True


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension of a database; `schema` is an OID. All belong to the bootstrap superuser."""

    oid: int
    name: str
    schema: int
    version: str
    comment: str | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.extensions`: the name."""
        return self.name


_AVAILABLE = (
    AvailableExtension("btree_gist", "1.7", "support for indexing common datatypes in GiST"),
    AvailableExtension(
        "pg_stat_statements", "1.10", "track planning and execution statistics of all SQL statements executed"
    ),
    AvailableExtension("vector", "0.8.0", "vector data type and ivfflat and hnsw access methods"),
)
_LANGUAGES = (
    AvailableExtension("plpgsql", "1.0", "PL/pgSQL procedural language", relocatable=False),
    *(AvailableExtension(name, each.version, each.comment, False) for name, each in TRAITS.items() if each.version),
)
_WRAPPERS = tuple(AvailableExtension(each.name, each.version, each.comment) for each in KNOWN.values())
AVAILABLE: Mapping[str, AvailableExtension] = {each.name: each for each in (*_AVAILABLE, *_LANGUAGES, *_WRAPPERS)}
"""By name. PostgreSQL 16's versions, and that of pgvector whose types and functions gpudb has."""

PLPGSQL = Extension(12756, "plpgsql", 11, "1.0", "PL/pgSQL procedural language")
"""In pg_catalog of every database, with PostgreSQL's OID: pg_dump leaves out what initdb made. It cannot be dropped."""


def list_extensions(created: Mapping[str, Extension]) -> Mapping[str, Extension]:
    """Returns the extensions of a database by name, from those that its catalog keeps."""
    return {PLPGSQL.name: PLPGSQL, **created}
