"""CREATE, ALTER and DROP NODE: names of the cluster's running members.

A worker is a data node. CREATE NODE names the first worker without a name and stores its host and port. Members without
a name are `coordinator`, `datanode_1`, `datanode_2` and so on. A server without workers is its own only data node.

Of several servers over one catalog each is a coordinator, `coordinator_` and its number without a name. CREATE NODE
names the one at HOST and PORT, this server by default, whether it runs at this moment or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudb.catalog.model import Node
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.execution.system.cluster_tables import count_data_nodes, find_own_address
from gpudb.session.results import Result

_OPTIONS = {"type", "host", "port", "primary", "preferred"}
_ON = {"true": True, "on": True, "1": True, "yes": True, "false": False, "off": False, "0": False, "no": False}


def change_node(context: Context) -> Result:
    """CREATE | ALTER | DROP NODE name [WITH (option [= value], …)]."""
    definition = context.statement.node_statement
    assert definition is not None
    context.check_writable(f"{definition.verb.upper()} NODE")
    catalog = context.transaction.catalog
    role = catalog.roles.get(context.session.user)
    if role is None or not role.superuser:
        raise SqlError.of("insufficient_privilege", f"must be superuser to {definition.verb} cluster nodes")
    known = catalog.nodes.get(definition.name)
    if definition.verb == "create":
        if known is not None:
            raise SqlError.of("duplicate_object", f"PGXC Node {definition.name}: object already defined")
        oid, catalog = catalog.allocate_oid()
        options = dict(definition.options)
        kind = options.get("type", "").lower()
        node = _with_options(Node(oid, definition.name, kind), options)
        own = find_own_address(context) if kind == "coordinator" else None
        if own is None:
            node = replace(node, worker=_free_member(context, kind))
        else:
            node = replace(node, host=node.host or own[0], port=node.port or own[1])
        context.transaction.set_catalog(catalog.put(node))
    elif known is None:
        raise SqlError.of("undefined_object", f"PGXC Node {definition.name}: object not defined")
    elif definition.verb == "alter":
        context.transaction.set_catalog(catalog.put(_with_options(known, dict(definition.options))))
    else:
        context.transaction.set_catalog(catalog.drop(known))
    return Result(f"{definition.verb.upper()} NODE")


def _with_options(node: Node, options: Mapping[str, str]) -> Node:
    if unknown := options.keys() - _OPTIONS:
        raise SqlError.of("syntax_error", f'option "{min(unknown)}" is not recognized')
    kind = options.get("type", node.type).lower()
    if kind not in {"coordinator", "datanode"}:
        if kind == "gtm":
            raise FeatureNotSupported(
                "nodes of type gtm are not supported", hint="The catalog is the transaction manager."
            )
        raise SqlError.of("syntax_error", f'type "{kind}" of a node is neither coordinator nor datanode')
    if node.type and kind != node.type:
        raise SqlError.of("invalid_parameter_value", f"PGXC node {node.name}: cannot alter its type")
    port = options.get("port")
    if port is not None and (not port.isdigit() or not 1 <= int(port) <= 65535):
        raise SqlError.of("invalid_parameter_value", "port value is out of range")
    flags = {name: _flag(name, options[name]) for name in ("primary", "preferred") if name in options}
    if flags.get("primary") and kind == "coordinator":
        raise SqlError.of("syntax_error", f"PGXC node {node.name}: cannot be a primary node, it has to be a Datanode")
    return replace(
        node,
        type=kind,
        host=options.get("host", node.host),
        port=int(port) if port is not None else node.port,
        primary=flags.get("primary", node.primary),
        preferred=flags.get("preferred", node.preferred),
    )


def _flag(name: str, value: str) -> bool:
    if value.lower() not in _ON:
        raise SqlError.of("syntax_error", f"{name} requires a Boolean value")
    return _ON[value.lower()]


def _free_member(context: Context, kind: str) -> int:
    """The first member of a kind without a name; 55000 if all have one."""
    of_kind = [0] if kind == "coordinator" else list(range(count_data_nodes(context)))
    taken = {node.worker for node in context.transaction.catalog.nodes.values() if node.type == kind}
    for number in of_kind:
        if number not in taken:
            return number
    message = f"every running {kind} of the cluster has a name already"
    hint = f"It has {len(of_kind)}: a worker is a data node, and this server the coordinator."
    raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)
