"""Finds the rule for a connection: the first that its encryption, address, database and role match."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpudb.server.wire.hba.rules import Address, Rule
from gpudb.server.wire.hba.tokens import Word

IsMember = Callable[[str, str], bool]
"""Whether a role, the first, is a member of the other, or is it."""


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """What rules decide by. `common_name` is that of the client's verified certificate, None without one."""

    user: str
    database: str
    host: str
    encrypted: bool = False
    common_name: str | None = None

    @property
    def encryption(self) -> str:
        """The encryption as PostgreSQL names it in messages."""
        return "SSL encryption" if self.encrypted else "no encryption"


def find_rule(rules: Iterable[Rule], request: ConnectionRequest, is_member: IsMember) -> Rule | None:
    """Returns the first rule that matches, or None."""
    address = parse_client_address(request.host)
    for rule in rules:
        if (
            _matches_encryption(rule.type, request.encrypted)
            and _matches_address(rule, address)
            and any(_matches_database(word, request, is_member) for word in rule.databases)
            and any(_matches_role(word, request.user, is_member) for word in rule.roles)
        ):
            return rule
    return None


def parse_client_address(host: str) -> Address | None:
    """Returns a client's address, an IPv4 address where IPv6 maps one; None if it has none."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _matches_encryption(type_: str, encrypted: bool) -> bool:
    return type_ in ("host", "hostnogssenc") or type_ == ("hostssl" if encrypted else "hostnossl")


def _matches_address(rule: Rule, address: Address | None) -> bool:
    if address is None or rule.address is None:
        return False
    if rule.address == "all":
        return True
    if isinstance(rule.address, str):
        return _is_near(address, same_host=rule.address == "samehost")
    return rule.mask is not None and _is_in(address, rule.address, rule.mask)


def _is_in(address: Address, network: Address, mask: Address) -> bool:
    return address.version == network.version and not (int(address) ^ int(network)) & int(mask)


def _is_near(address: Address, *, same_host: bool) -> bool:
    """Whether an address is one of this machine, or in a network that this machine is in."""
    import psutil

    for interfaces in psutil.net_if_addrs().values():
        for interface in interfaces:
            own = parse_client_address(interface.address)
            if own is None:
                continue
            mask = parse_client_address(interface.netmask or "")
            if same_host or mask is None:
                mask = ipaddress.ip_address(b"\xff" * len(own.packed))
            if _is_in(address, own, mask):
                return True
    return False


def _matches_database(word: Word, request: ConnectionRequest, is_member: IsMember) -> bool:
    if word.is_keyword("all"):
        return True
    if word.is_keyword("sameuser"):
        return request.database == request.user
    if word.is_keyword("samerole", "samegroup"):
        return is_member(request.user, request.database)
    return not word.is_keyword("replication") and word.text == request.database


def _matches_role(word: Word, user: str, is_member: IsMember) -> bool:
    if not word.quoted and word.text.startswith("+"):
        return is_member(user, word.text[1:])
    return word.is_keyword("all") or word.text == user
