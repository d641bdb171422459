"""The relations of pg_catalog and information_schema: PostgreSQL's columns, OIDs and view definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpudb import pgdata
from gpudb.types import OID, SqlType

HIDDEN = (("tableoid", OID), ("xmin", SqlType("xid")))
SCHEMAS = ("pg_catalog", "information_schema")


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A system relation: `kind` is r (stored rows) or v (`definition` is its SELECT)."""

    schema: str
    name: str
    kind: str
    oid: int
    columns: tuple[tuple[str, SqlType], ...]
    definition: str | None = None

    @property
    def stored_columns(self) -> tuple[tuple[str, SqlType], ...]:
        """The stored columns: a stored relation also has its own OID and a row's transaction."""
        return (*self.columns, *HIDDEN) if self.kind == "r" else self.columns


@cache
def load_relations() -> Mapping[tuple[str, str], SystemRelation]:
    """Returns all relations of both schemas, by schema and name."""
    columns: dict[tuple[str, str], list[tuple[str, SqlType]]] = {}
    facts: dict[tuple[str, str], tuple[str, int]] = {}
    listed = "schema", "relation", "kind", "relation_oid", "name", "type", "modifier"
    for schema, name, kind, oid, column, type_name, modifier in pgdata.load_table("columns").select(*listed):
        key = (schema, name)
        facts[key] = kind, int(oid)
        columns.setdefault(key, []).append((column, _parse_type(type_name, int(modifier))))
    views = pgdata.load_table("views").select("schema", "name", "definition")
    definitions = {(schema, name): text for schema, name, text in views}
    return {
        key: SystemRelation(*key, kind, oid, tuple(columns[key]), definitions.get(key))
        for key, (kind, oid) in facts.items()
    }


def get_system_relation(schema: str, name: str) -> SystemRelation | None:
    """Returns a relation by schema and name."""
    return load_relations().get((schema, name))


def _parse_type(name: str, modifier: int) -> SqlType:
    # Rows of pg_statistic as values: only an empty view has them.
    return SqlType("anyarray") if name == "_pg_statistic" else SqlType(name, modifier)
