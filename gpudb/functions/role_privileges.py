"""pg_has_role: what one role may do with another, through memberships.

It reads the lists of roles of `gpudb.catalog.postgres.role_rows` through macros.
"""

from __future__ import annotations

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.registry import MISSING, Operands, declare

_KINDS = {"USAGE": "usage", "MEMBER": "member", "SET": "set"}
_ADMIN_SUFFIXES = (" WITH GRANT OPTION", " WITH ADMIN OPTION")


def _read_kinds(privileges: object) -> list[str]:
    """Returns what a privilege text asks for, of which one is enough; 22023 for an unknown word."""
    if not isinstance(privileges, str):
        raise FeatureNotSupported("the privilege of pg_has_role must be a constant here")
    kinds = []
    for part in privileges.split(","):
        word = part.strip()
        name = word.upper()
        plain = next((name.removesuffix(suffix) for suffix in _ADMIN_SUFFIXES if name.endswith(suffix)), None)
        if (name if plain is None else plain) not in _KINDS:
            raise SqlError.of("invalid_parameter_value", f'unrecognized privilege type: "{word}"')
        kinds.append(_KINDS[name] if plain is None else "admin")
    return list(dict.fromkeys(kinds))


def _render_has_role(operands: Operands) -> str:
    """Looks the role up in the lists of a member, or in those of the current role, which are at hand."""
    *roles, _ = operands.sql
    privileges = operands.constants[-1]
    if privileges is None:
        return "CAST(NULL AS BOOLEAN)"
    if privileges is MISSING:
        raise FeatureNotSupported("the privilege of pg_has_role must be a constant here")
    kinds = f"[{', '.join(repr(kind) for kind in _read_kinds(privileges))}]"
    oids = [
        f"sys_role_oid({sql})" if item.name == "name" else sql
        for sql, item in zip(roles, operands.types[:-1], strict=True)
    ]
    return (
        f"sys_current_has_role({oids[0]}, {kinds})" if len(oids) == 1 else f"sys_has_role({', '.join(oids)}, {kinds})"
    )


declare("pg_has_role", _render_has_role)
