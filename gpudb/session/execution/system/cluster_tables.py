"""The cluster's members as system relations show them: pgxc_node, pgxc_class, gpudb_resident and gpudb_devices.

A worker is a data node; a server without workers is its own only data node. Of several servers over one catalog each is
a coordinator; a node that CREATE NODE has declared names the one at its host and port.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.catalog.distribution import BUCKETS
from gpudb.catalog.model import Node
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context

_LOCATORS = {"hash": "H", "replication": "R", "roundrobin": "N"}
_COORDINATOR = -1
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def count_data_nodes(context: Context) -> int:
    """The number of data nodes."""
    members = context.session.database.members
    return members.count if members is not None else 1


def _nodes(context: Context) -> dict[int, Node]:
    """Every member by worker number; members without a name are under their default.

    This server is _COORDINATOR, and other coordinators have lower numbers.
    """
    nodes = _name_coordinators(context)
    for number in range(count_data_nodes(context)):
        nodes[number] = Node(0, f"datanode_{number + 1}", "datanode", number)
    for node in context.transaction.catalog.nodes.values():
        if node.type == "datanode" and node.worker in nodes:
            nodes[node.worker] = node
    return nodes


def _name_coordinators(context: Context) -> dict[int, Node]:
    declared = [node for node in context.transaction.catalog.nodes.values() if node.type == "coordinator"]
    this, running = context.session.database.store.list_coordinators()
    if not running:
        return {_COORDINATOR: declared[0] if declared else Node(0, "coordinator", "coordinator")}
    names = {_normalize_address(node.host, node.port): node for node in declared}
    nodes = {}
    others = _COORDINATOR
    for each in running:
        default = Node(0, f"coordinator_{each.number}", "coordinator", host=each.host, port=each.port)
        if each.number == this:
            number = _COORDINATOR
        else:
            number = others = others - 1
        nodes[number] = names.pop(_normalize_address(each.host, each.port), default)
    for node in names.values():  # not running now
        others -= 1
        nodes[others] = node
    return nodes


def _normalize_address(host: str | None, port: int | None) -> tuple[str, int | None]:
    name = (host or "localhost").lower()
    return "localhost" if name in _LOOPBACK else name, port


def find_own_address(context: Context) -> tuple[str, int] | None:
    """The host and port of this server if it is one of several over a catalog."""
    this, running = context.session.database.store.list_coordinators()
    return next(((each.host, each.port) for each in running if each.number == this), None)


def find_worker(context: Context, name: str) -> int | None:
    """The worker of a node, for EXECUTE DIRECT; None on a server without workers. 42704, 0A000."""
    for number, node in _nodes(context).items():
        if node.name == name:
            if number < 0:
                raise FeatureNotSupported("EXECUTE DIRECT on a coordinator, which has no rows, is not supported")
            return number if context.session.database.members is not None else None
    raise SqlError.of("undefined_object", f"PGXC Node {name}: object not defined")


def node_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgxc_node."""
    members = context.session.database.members
    addresses = {each.number: each for each in members.list_addresses()} if members is not None else {}
    rows: list[Mapping[str, object]] = []
    for number, node in _nodes(context).items():
        address = addresses.get(number)
        rows.append(
            {
                "oid": node.oid,
                "node_name": node.name,
                "node_type": "C" if number < 0 else "D",
                "node_port": node.port if node.port is not None else address.port if address is not None else 0,
                "node_host": node.host or (address.host if address is not None else "localhost"),
                "nodeis_primary": node.primary,
                "nodeis_preferred": node.preferred,
                "node_id": number + 1,
            }
        )
    return rows


def class_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgxc_class: the distribution of tables; one without DISTRIBUTE BY is distributed row by row."""
    oids = [node.oid for number, node in sorted(_nodes(context).items()) if number >= 0]
    return [
        {
            "pcrelid": table.oid,
            "pclocatortype": _LOCATORS[table.distribution.kind if table.distribution is not None else "roundrobin"],
            "pcattnum": _hash_column_number(table),
            "pchashalgorithm": int(table.hashed_by is not None),
            "pchashbuckets": BUCKETS if table.hashed_by is not None else 0,
            "nodeoids": oids,
        }
        for table in sorted(context.transaction.catalog.tables(), key=lambda each: each.oid)
        if table.query is None
    ]


def _hash_column_number(table: Table) -> int:
    return 0 if table.hashed_by is None else table.columns.index(table.hashed_by) + 1


def resident_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of gpudb_resident: none without workers."""
    members = context.session.database.members
    known = {relation.oid for relation in context.transaction.catalog.relations.values()}
    found: list[Mapping[str, object]] = []
    for member in members.list_members() if members is not None else ():
        for each in member.held:
            if each.table in known:
                row: dict[str, Any] = {"table": each.table, "column": each.column, "worker": member.number}
                row |= {"form": each.form, "parts": each.parts, "bytes": each.bytes}
                found.append({**row, "hits": each.hits, "pinned": each.pinned})
    return found


def device_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of gpudb_devices: one for each worker."""
    members = context.session.database.members
    found: list[Mapping[str, object]] = []
    names = _nodes(context)
    for member in members.list_members() if members is not None else ():
        facts = {name: value for name, value, _ in member.device}
        row: dict[str, object] = {"worker": member.number, "node_name": names[member.number].name}
        row |= {"host": member.host, "port": member.port, "kind": facts["DEVICE_KIND"], "name": facts["DEVICE_NAME"]}
        row |= {"memory_bytes": int(facts["DEVICE_TOTAL_MEM"]), "resident_bytes": sum(e.bytes for e in member.held)}
        for name in ("utilization", "memory_utilization"):  # told by NVML, of GPUs alone
            value = facts.get("GPU_UTILIZATION" if name == "utilization" else "MEMORY_UTILIZATION")
            row[name] = None if value is None else float(value)
        found.append(row)
    return found


def attribute_rows(context: Context) -> list[Mapping[str, object]]:
    """The rows of pgstrom_device_info(): the attributes of each device."""
    members = context.session.database.members
    return [
        {"gpu_id": member.number, "att_name": name, "att_value": value, "att_desc": meaning}
        for member in (members.list_members() if members is not None else ())
        for name, value, meaning in member.device
    ]
