"""Fields of parse tree nodes that several DDL statements read."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg


def definition_field(node: Any) -> Any:
    """The field `def` of a node; the name is a keyword in Python."""
    return getattr(node, "def")


def object_kind(object_type: int) -> str:
    """The name of an ObjectType: TABLE, VIEW, MATVIEW, TABCONSTRAINT, …"""
    return str(pg.ObjectType.Name(object_type)).removeprefix("OBJECT_")


def command_kind(object_type: int) -> str:
    """A kind of object as command tags name it."""
    return object_kind(object_type).replace("MATVIEW", "MATERIALIZED VIEW").replace("FOREIGN_TABLE", "FOREIGN TABLE")
