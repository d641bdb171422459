"""Access control lists: PostgreSQL's defaults, the privileges that a role has by a list, and their text form.

A privilege is PostgreSQL's letter for it (`r` SELECT, `w` UPDATE, …), a set of privileges is a text of letters. An
object without a list of its own has the default one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

PUBLIC = ""
"""The grantee of what every role may do."""

LETTERS = "arwdDxtXUCTcsA"
"""All privileges, in the order in which lists show them."""

NAMES: Mapping[str, str] = {
    "r": "SELECT", "a": "INSERT", "w": "UPDATE", "d": "DELETE", "D": "TRUNCATE", "x": "REFERENCES", "t": "TRIGGER",
    "X": "EXECUTE", "U": "USAGE", "C": "CREATE", "T": "TEMPORARY", "c": "CONNECT", "s": "SET", "A": "ALTER SYSTEM",
}  # fmt: skip
_BY_NAME = {**{name: letter for letter, name in NAMES.items()}, "TEMP": "T"}

APPLICABLE: Mapping[str, str] = {
    "table": "arwdDxt",
    "column": "arwx",
    "sequence": "rwU",
    "schema": "UC",
    "function": "X",
    "type": "U",
    "database": "CTc",
    "foreign-data wrapper": "U",
    "foreign server": "U",
    "language": "U",
    "large object": "rw",
}
"""The privileges that a kind of object has, by kind."""

_PUBLIC_DEFAULTS: Mapping[str, str] = {"function": "X", "type": "U", "language": "U", "database": "Tc"}


@dataclass(frozen=True, slots=True)
class AclItem:
    """What `grantor` grants to `grantee`, names of roles; the grantee may grant the `options` among the `privileges`.

    The grantee PUBLIC is every role.
    """

    grantee: str
    privileges: str
    grantor: str
    options: str = ""


Acl = tuple[AclItem, ...]


def sort_privileges(letters: Iterable[str]) -> str:
    """Returns privileges in the order in which lists show them, each once."""
    found = set(letters)
    return "".join(letter for letter in LETTERS if letter in found)


def find_privilege(name: str) -> str | None:
    """Returns the letter of a privilege by its name in any case; None for an unknown name."""
    return _BY_NAME.get(name.upper())


def make_default_acl(kind: str, owner: str) -> Acl:
    """Returns the list of an object of a kind in `APPLICABLE` that has no list of its own."""
    if kind == "column":
        return ()
    public = _PUBLIC_DEFAULTS.get(kind)
    shared = (AclItem(PUBLIC, sort_privileges(public), owner),) if public else ()
    return (*shared, AclItem(owner, sort_privileges(APPLICABLE[kind]), owner))


def list_privileges(acl: Acl, roles: Collection[str], owner: str, *, options: bool = False) -> frozenset[str]:
    """Returns the privileges that any of `roles` has by a list; with `options` those that it may grant.

    An owner may grant everything, whatever the list says.
    """
    if options and owner in roles:
        return frozenset(LETTERS)
    found: set[str] = set()
    for item in acl:
        # Grant options are never held by PUBLIC
        if item.grantee in roles or (item.grantee == PUBLIC and not options):
            found.update(item.options if options else item.privileges)
    return frozenset(found)


def format_acl(acl: Acl) -> list[str]:
    """Returns a list as `aclitem[]` shows it: `grantee=privileges/grantor`, a star behind what may be granted on."""
    shown = []
    for item in acl:
        letters = "".join(letter + ("*" if letter in item.options else "") for letter in item.privileges)
        shown.append(f"{_quote(item.grantee)}={letters}/{_quote(item.grantor)}")
    return shown


def _quote(name: str) -> str:
    if all(each.isalnum() or each == "_" for each in name):
        return name
    return '"' + name.replace('"', '""') + '"'


def rename_role(acl: Acl, old: str, new: str) -> Acl:
    """Returns a list with one role's name replaced; items that then have the same grantee and grantor are united."""
    united: dict[tuple[str, str], AclItem] = {}
    for item in acl:
        grantee = new if item.grantee == old else item.grantee
        grantor = new if item.grantor == old else item.grantor
        known = united.get((grantee, grantor), AclItem(grantee, "", grantor))
        united[grantee, grantor] = AclItem(
            grantee,
            sort_privileges(known.privileges + item.privileges),
            grantor,
            sort_privileges(known.options + item.options),
        )
    return tuple(united.values())
