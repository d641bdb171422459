"""A rule of a rules file: which connections it is for, and how they authenticate; parsed from its line."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from gpudb.server.wire.hba.tokens import Field, Line, Word

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METHODS = ("trust", "reject", "scram-sha-256", "cert")
_POSTGRESQL_METHODS = ("gss", "sspi", "ident", "peer", "pam", "bsd", "ldap", "radius")
_WEAK_METHODS = ("password", "md5")
_TYPES = ("local", "host", "hostssl", "hostnossl", "hostnogssenc")
_INCLUDES = ("include", "include_if_exists", "include_dir")
_ADDRESS_KEYWORDS = ("all", "samehost", "samenet")


class RuleError(Exception):
    """A line that is no rule; the message is PostgreSQL's where PostgreSQL has the case."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. It is for clients in `address` under `mask`, or in the keyword `address`; a `local` rule has neither.

    `client_certificate` is `verify-ca`, `verify-full`, or empty where none is needed.
    """

    line: int
    type: str
    databases: Field
    roles: Field
    address: Address | str | None
    mask: Address | None
    method: str
    client_certificate: str = ""
    options: tuple[str, ...] = field(default=())


def parse_rule(line: Line, *, verifies_certificates: bool) -> Rule:
    """Returns the rule of a line, or raises RuleError.

    `verifies_certificates` is whether the server has certificates of authorities to check clients' certificates by.
    """
    remaining = list(line.fields)
    type_ = _take_one(remaining, "connection type", "connection type")
    _check_type(type_)
    if not remaining:
        raise RuleError("end-of-line before database specification")
    databases = remaining.pop(0)
    if not remaining:
        raise RuleError("end-of-line before role specification")
    roles = remaining.pop(0)
    for word in (*databases, *roles):
        _check_name(word)
    address, mask = (None, None) if type_.text == "local" else _take_address(remaining)
    if not remaining:
        raise RuleError("end-of-line before authentication method")
    method = _take_one(remaining, "authentication type", "authentication type").text
    _check_method(method, type_.text)
    options = [word.text for words in remaining for word in words]
    certificate = _parse_options(options, type_.text, method)
    if certificate and not verifies_certificates:
        raise RuleError("client certificates can only be checked if the setting tls_ca names a root certificate store")
    shown = (f"clientcert={certificate}",) if certificate else ()
    return Rule(line.number, type_.text, databases, roles, address, mask, method, certificate, shown)


def _take_one(remaining: list[Field], what: str, name: str) -> Word:
    words = remaining.pop(0)
    if len(words) > 1:
        raise RuleError(f"multiple values specified for {name}")
    return words[0]


def _check_type(word: Word) -> None:
    if word.text in _INCLUDES:
        raise RuleError(f'"{word.text}" is not supported')
    if word.text == "hostgssenc":
        raise RuleError("hostgssenc record cannot match because GSSAPI is not supported by this build")
    if word.text not in _TYPES:
        raise RuleError(f'invalid connection type "{word.text}"')


def _check_name(word: Word) -> None:
    if not word.quoted and len(word.text) > 1 and word.text[0] in "@/":
        what = "a file of names" if word.text[0] == "@" else "a regular expression"
        raise RuleError(f'{what} is not supported: "{word.text}"')


def _take_address(remaining: list[Field]) -> tuple[Address | str, Address | None]:
    if not remaining:
        raise RuleError("end-of-line before IP address specification")
    word = _take_one(remaining, "host address", "host address")
    if word.is_keyword(*_ADDRESS_KEYWORDS):
        return word.text, None
    text, slash, bits = word.text.partition("/")
    address = _parse_address(text)
    if address is None:
        if slash:
            raise RuleError(f'specifying both host name and CIDR mask is invalid: "{word.text}"')
        raise RuleError(f'host names are not supported: "{word.text}"')
    if slash:
        return address, _make_mask(address, bits, word.text)
    if not remaining:
        raise RuleError("end-of-line before netmask specification")
    mask_text = _take_one(remaining, "netmask", "netmask").text
    mask = _parse_address(mask_text)
    if mask is None:
        raise RuleError(f'invalid IP mask "{mask_text}": Name or service not known')
    if mask.version != address.version:
        raise RuleError("IP address and mask do not match")
    return address, mask


def _parse_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _make_mask(address: Address, bits: str, text: str) -> Address:
    width = address.max_prefixlen
    if not (bits.isascii() and bits.isdigit()) or int(bits) > width:
        raise RuleError(f'invalid CIDR mask in address "{text}"')
    number = (1 << width) - (1 << (width - int(bits)))
    return ipaddress.IPv4Address(number) if address.version == 4 else ipaddress.IPv6Address(number)


def _check_method(method: str, type_: str) -> None:
    if method in _WEAK_METHODS:
        raise RuleError(f'authentication method "{method}" is not supported: use "scram-sha-256"')
    if method in _POSTGRESQL_METHODS:
        raise RuleError(f'invalid authentication method "{method}": not supported by this build')
    if method not in METHODS:
        raise RuleError(f'invalid authentication method "{method}"')
    if method == "cert" and type_ != "hostssl":
        raise RuleError("cert authentication is only supported on hostssl connections")


def _parse_options(options: list[str], type_: str, method: str) -> str:
    """Returns what a client's certificate has to fulfil: `verify-ca`, `verify-full`, or nothing."""
    certificate = "verify-full" if method == "cert" else ""
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise RuleError(f"authentication option not in name=value format: {option}")
        if name == "clientcert":
            certificate = _check_client_certificate(value, type_, method)
        elif name == "clientname":
            if type_ != "hostssl":
                raise RuleError('clientname can only be configured for "hostssl" rows')
            if value != "CN":
                raise RuleError(f'clientname={value} is not supported: use "CN"')
        elif name == "map":
            raise RuleError('authentication option "map" is not supported')
        else:
            raise RuleError(f'unrecognized authentication option name: "{name}"')
    return certificate


def _check_client_certificate(value: str, type_: str, method: str) -> str:
    if type_ != "hostssl":
        raise RuleError('clientcert can only be configured for "hostssl" rows')
    if value not in ("verify-ca", "verify-full"):
        raise RuleError(f'invalid value for clientcert: "{value}"')
    if method == "cert" and value != "verify-full":
        raise RuleError('clientcert only accepts "verify-full" when using "cert" authentication')
    return value
