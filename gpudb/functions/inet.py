"""inet, cidr, macaddr and macaddr8 (PostgreSQL's manual, 9.12). Addresses are bytes in the types' order.

Containment is a comparison too: a network's members are between two keys (`pg_inet_low`, `pg_inet_high`).
"""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values
from gpudb.functions.registry import declare
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS

NETWORKS = frozenset({"inet", "cidr"})

for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"network_{_name} macaddr_{_name} macaddr8_{_name}", f"({{0}} {_symbol} {{1}})")
_COMPARED = "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER"
declare("network_cmp macaddr_cmp macaddr8_cmp", _COMPARED)
declare("network_larger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("network_smaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")

# ---------------------------------------------------------------------------------------------- containment


def _render_containment(inner: str, outer: str, strict: bool) -> str:
    low = f"pg_inet_low({outer}, {str(strict).lower()})"
    return f"({inner} >= {low} AND {inner} <= pg_inet_high({outer}))"


declare("network_sub", lambda o: bind_values(lambda a, b: _render_containment(a, b, True), *o.sql))
declare("network_subeq", lambda o: bind_values(lambda a, b: _render_containment(a, b, False), *o.sql))
declare("network_sup", lambda o: bind_values(lambda a, b: _render_containment(b, a, True), *o.sql))
declare("network_supeq", lambda o: bind_values(lambda a, b: _render_containment(b, a, False), *o.sql))
declare(
    "network_overlap",
    lambda o: bind_values(
        lambda a, b: f"({_render_containment(a, b, False)} OR {_render_containment(b, a, False)})", *o.sql
    ),
)
declare("inet_same_family", "(octet_length({0}) = octet_length({1}))")

# ---------------------------------------------------------------------------------------------- parts

declare("family(inet)", "(CASE octet_length({0}) WHEN 10 THEN 4 WHEN 34 THEN 6 END)::INTEGER")
declare("host(inet)", "pg_inet_host({0})")
declare("masklen(inet)", "pg_inet_masklen({0})")
declare("network(inet)", "pg_inet_network({0})")
declare("broadcast(inet)", "pg_inet_broadcast({0})")
declare("netmask(inet)", "pg_inet_netmask({0})")
declare("hostmask(inet)", "pg_inet_hostmask({0})")
declare("abbrev(inet)", "pg_inet_text({0})")
declare("abbrev(cidr)", "pg_cidr_abbrev({0})")
declare("set_masklen(inet,int4)", "pg_inet_set_masklen({0}, {1})")
declare("set_masklen(cidr,int4)", "pg_inet_network(pg_inet_set_masklen({0}, {1}))")
declare("inet_merge", "pg_inet_merge({0}, {1})")

# ---------------------------------------------------------------------------------------------- arithmetic

declare("inetnot", "pg_inet_not({0})")
declare("inetand", "pg_inet_and({0}, {1})")
declare("inetor", "pg_inet_or({0}, {1})")
declare("inetpl", "pg_inet_plus({0}, {1})")
declare("int8pl_inet", "pg_inet_plus({1}, {0})")
declare("inetmi_int8", "pg_inet_minus({0}, {1})")
declare("inetmi", "pg_inet_difference({0}, {1})")
declare("macaddr_not macaddr8_not", "pg_mac_not({0})")
declare("macaddr_and macaddr8_and", "pg_mac_and({0}, {1})")
declare("macaddr_or macaddr8_or", "pg_mac_or({0}, {1})")
declare("trunc(macaddr)", "(left({0}, 9) || '00:00:00')")
declare("trunc(macaddr8)", "(left({0}, 9) || '00:00:00:00:00')")
declare("macaddr8_set7bit", "pg_mac_or({0}, '02:00:00:00:00:00:00:00')")

# ---------------------------------------------------------------------------------------------- casts


def to_network(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Converts a value to inet, cidr, macaddr or macaddr8; a cidr from an inet loses the host's bits."""
    if source.name in STRINGS:
        return f"pg_{target.name}_in({sql})"
    if source.name == "inet" and target.name == "cidr":
        return f"pg_inet_network({sql})"
    if source.name == "macaddr" and target.name == "macaddr8":
        return bind_values(lambda mac: f"(left({mac}, 8) || ':ff:fe:' || right({mac}, 8))", sql)
    if source.name == "macaddr8" and target.name == "macaddr":
        return f"pg_mac_short({sql})"
    same = source.name == target.name or (source.name == "cidr" and target.name == "inet")
    return sql if same else None


def format_network(sql: str, item: SqlType, output: bool) -> str:
    """Formats as the output function does, or as a cast to text: always with the mask's length."""
    return f"pg_inet_text({sql})" if output and item.name == "inet" else f"pg_cidr_text({sql})"
