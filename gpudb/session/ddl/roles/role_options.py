"""Options of CREATE ROLE and ALTER ROLE; passwords are stored as SCRAM-SHA-256 verifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.roles.role_logins import LOGIN_OPTIONS, read_login_option
from gpudb.sql.parse.parser import inner, kind, position, present
from gpudb.values.scram import Verifier, make_verifier, parse_verifier, password_matches

_MD5 = re.compile("md5[0-9a-f]{32}")
_MOST_ITERATIONS = 1 << 20

# Boolean options, by the parse tree's name, and the fields of `Role`.
_FLAGS = {
    "superuser": "superuser",
    "inherit": "inherit",
    "createrole": "createrole",
    "createdb": "createdb",
    "canlogin": "login",
    "isreplication": "replication",
    "bypassrls": "bypassrls",
}
# Lists of roles: of which the new role is to be a member, its members, and its members with ADMIN OPTION.
_LISTS = {"addroleto": "member_of", "rolemembers": "members", "adminmembers": "admins"}


@dataclass(slots=True)
class RoleOptions:
    """The named options: `attributes` are fields of `Role`; the others are lists of RoleSpecs of the parse tree."""

    attributes: dict[str, Any] = field(default_factory=dict)
    member_of: Sequence[Any] = ()
    members: Sequence[Any] = ()
    admins: Sequence[Any] = ()


def read_role_options(context: Context, options: Any) -> RoleOptions:
    """Returns the options of a statement; 42601 for one that is named twice."""
    found = RoleOptions()
    named: set[str] = set()
    for each in options:
        option = inner(each)
        name = option.defname
        if name in named:
            error = SqlError.of("syntax_error", "conflicting or redundant options")
            raise error.at(position(context.statement.text, option.location))
        named.add(name)
        if name == "password":
            found.attributes["verifier"] = _make_verifier(context, option)
        elif name in _FLAGS:
            found.attributes[_FLAGS[name]] = bool(inner(option.arg).boolval) if present(option.arg) else True
        elif name in _LISTS:
            setattr(found, _LISTS[name], [inner(spec) for spec in inner(option.arg).items])
        elif name in LOGIN_OPTIONS:
            found.attributes.update(read_login_option(context, option))
        elif name == "sysid":
            context.notice("SYSID can no longer be specified")
        else:
            raise FeatureNotSupported(f"role option {name} is not supported")
    return found


def _make_verifier(context: Context, option: Any) -> str | None:
    """Returns what is stored for a password; None for PASSWORD NULL and, with a notice, for an empty one."""
    if not present(option.arg) or kind(option.arg) != "string":
        return None
    text = str(inner(option.arg).sval)
    if _MD5.fullmatch(text):
        hint = "Give the password itself, or its SCRAM-SHA-256 verifier."
        raise FeatureNotSupported("passwords encrypted with MD5 are not supported", hint=hint)
    verifier = parse_verifier(text)
    if not text or (verifier is not None and _is_empty(verifier)):
        context.notice("empty string is not a valid password, clearing password")
        return None
    return text if verifier is not None else make_verifier(text)


def _is_empty(verifier: Verifier) -> bool:
    """Whether a verifier is that of the empty password. One of very many iterations is not computed."""
    return verifier.iterations <= _MOST_ITERATIONS and password_matches("", verifier)
