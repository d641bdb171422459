"""The cluster's members as relations show them: pgxc_node, pgxc_class, gpudb_resident, gpudb_devices, and their names.

A data node is a worker; a server without workers is its own only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpudb.catalog.distribution import BUCKETS
from gpudb.catalog.model import Node, Table
from gpudb.errors import FeatureNotSupported, SqlError

if TYPE_CHECKING:
    from gpudb.session.context import Context
    from gpudb.session.session import Session

_LOCATORS = {"hash": "H", "replication": "R", "roundrobin": "N"}
_COORDINATOR = -1


def count(session: Session) -> int:
    """How many data nodes there are."""
    members = session.database.members
    return members.count if members is not None else 1


def _named(context: Context) -> dict[int, Node]:
    """Every member by its worker's number, the coordinator as _COORDINATOR, those without a name under their own."""
    found = {_COORDINATOR: Node(0, "coordinator", "coordinator")}
    for number in range(count(context.session)):
        found[number] = Node(0, f"datanode_{number + 1}", "datanode", number)
    for node in context.transaction.catalog.nodes.values():
        place = _COORDINATOR if node.type == "coordinator" else node.worker
        if place in found:
            found[place] = node
    return found


def worker_named(context: Context, name: str) -> int | None:
    """The worker that a node is, for EXECUTE DIRECT; None for a server without workers. 42704, 0A000."""
    for number, node in _named(context).items():
        if node.name == name:
            if number == _COORDINATOR:
                raise FeatureNotSupported("EXECUTE DIRECT on a coordinator, which has no rows, is not supported")
            return number if context.session.database.members is not None else None
    raise SqlError.of("undefined_object", f"PGXC Node {name}: object not defined")


def node_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgxc_node."""
    members = context.session.database.members
    there = {each.number: each for each in members.addresses()} if members is not None else {}
    rows: list[Mapping[str, object]] = []
    for number, node in _named(context).items():
        real = there.get(number)
        rows.append(
            {
                "oid": node.oid,
                "node_name": node.name,
                "node_type": "C" if number == _COORDINATOR else "D",
                "node_port": node.port if node.port is not None else real.port if real is not None else 0,
                "node_host": node.host or (real.host if real is not None else "localhost"),
                "nodeis_primary": node.primary,
                "nodeis_preferred": node.preferred,
                "node_id": number + 1,
            }
        )
    return rows


def class_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgxc_class: how tables are distributed, those without DISTRIBUTE BY being spread row by row."""
    oids = [node.oid for number, node in sorted(_named(context).items()) if number != _COORDINATOR]
    return [
        {
            "pcrelid": table.oid,
            "pclocatortype": _LOCATORS[table.distribution.kind if table.distribution is not None else "roundrobin"],
            "pcattnum": _place(table),
            "pchashalgorithm": int(table.hashed_by is not None),
            "pchashbuckets": BUCKETS if table.hashed_by is not None else 0,
            "nodeoids": oids,
        }
        for table in sorted(context.transaction.catalog.tables(), key=lambda each: each.oid)
        if table.query is None
    ]


def _place(table: Table) -> int:
    return 0 if table.hashed_by is None else table.columns.index(table.hashed_by) + 1


def resident_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of gpudb_resident: none without workers."""
    members = context.session.database.members
    known = {relation.oid for relation in context.transaction.catalog.relations.values()}
    found: list[Mapping[str, object]] = []
    for member in members.told() if members is not None else ():
        for each in member.held:
            if each.table in known:
                row: dict[str, Any] = {"table": each.table, "column": each.column, "worker": member.number}
                row |= {"form": each.form, "parts": each.parts, "bytes": each.bytes}
                found.append({**row, "hits": each.hits, "pinned": each.pinned})
    return found


def device_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of gpudb_devices: a worker each."""
    members = context.session.database.members
    found: list[Mapping[str, object]] = []
    names = _named(context)
    for member in members.told() if members is not None else ():
        facts = {name: value for name, value, _ in member.device}
        row: dict[str, object] = {"worker": member.number, "node_name": names[member.number].name}
        row |= {"host": member.host, "port": member.port, "kind": facts["DEVICE_KIND"], "name": facts["DEVICE_NAME"]}
        row |= {"memory_bytes": int(facts["DEVICE_TOTAL_MEM"]), "resident_bytes": sum(e.bytes for e in member.held)}
        found.append(row)
    return found


def fact_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgstrom_device_info(): each device's facts."""
    members = context.session.database.members
    return [
        {"gpu_id": member.number, "att_name": name, "att_value": value, "att_desc": meaning}
        for member in (members.told() if members is not None else ())
        for name, value, meaning in member.device
    ]
