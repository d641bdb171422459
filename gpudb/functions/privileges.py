"""`has_table_privilege` and its family: whether a role has privileges on an object.

They read gpudb's own tables of grants through the macros of `gpudb.catalog.postgres`.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.registry import MISSING, Operands, declare
from gpudb.values.acl import find_privilege

_OPTION = " WITH GRANT OPTION"
_COLUMN_PRIVILEGES = "arwx"


def _render_names(operands: Operands, find: str, after: int) -> tuple[str | None, str]:
    """Returns the role, None for the current one, and the object, both as OIDs; `find` is the macro that finds
    an object by name, and `after` the number of operands behind it.
    """
    places = range(len(operands.sql) - after)
    names = [operands.sql[n] if operands.types[n].name == "oid" else None for n in places]
    found = names[-1] or f"{find}({operands.sql[places[-1]]})"
    if len(places) == 1:
        return None, found
    return names[0] or f"sys_role({operands.sql[0]})", found


def _list_wanted(known: str, text: object) -> str:
    """Returns the privileges of a list such as `SELECT, INSERT WITH GRANT OPTION`; 22023 for an unknown one."""
    if text is MISSING:
        raise SqlError.of("feature_not_supported", "the name of a privilege must be a constant here")
    if text is None:
        return "CAST(NULL AS VARCHAR[])"
    wanted = []
    for part in str(text).split(","):
        name = part.strip().upper()
        letter = find_privilege(name.removesuffix(_OPTION))
        if letter is None or letter not in known:
            raise SqlError.of("invalid_parameter_value", f'unrecognized privilege type: "{part.strip()}"')
        wanted.append(f"'{letter}*'" if name.endswith(_OPTION) else f"'{letter}'")
    return f"[{', '.join(wanted)}]"


def _make_test(code: str, find: str, known: str) -> Callable[[Operands], str]:
    """Returns the template of a function over objects with a code in `acl_lists`, a macro that finds them by name, and
    the privileges that they have.
    """

    def render(operands: Operands) -> str:
        who, found = _render_names(operands, find, 1)
        wanted = _list_wanted(known, operands.constants[-1])
        if who is None:
            return f"sys_own('{code}', {found}, {wanted})"
        return f"sys_may({who}, '{code}', {found}, {wanted})"

    return render


def _render_column_test(operands: Operands) -> str:
    who, table = _render_names(operands, "pg_to_regclass", 2)
    column = operands.sql[-2]
    number = column if operands.types[-2].name == "int2" else f"sys_column({table}, {column})"
    return _test_column(who, table, number, operands)


def _render_any_column_test(operands: Operands) -> str:
    who, table = _render_names(operands, "pg_to_regclass", 1)
    return _test_column(who, table, "-1", operands)


def _test_column(who: str | None, table: str, number: str, operands: Operands) -> str:
    wanted = _list_wanted(_COLUMN_PRIVILEGES, operands.constants[-1])
    if who is None:
        return f"sys_own_column({table}, {number}, {wanted})"
    return f"sys_may_column({who}, {table}, {number}, {wanted})"


for _name, _test in {
    "table": ("r", "pg_to_regclass", "arwdDxt"),
    "sequence": ("r", "pg_to_regclass", "rwU"),
    "schema": ("n", "sys_schema", "UC"),
    "database": ("d", "sys_database", "CTc"),
    "function": ("f", "pg_to_regprocedure", "X"),
    "type": ("T", "pg_to_regtype", "U"),
}.items():
    declare(f"has_{_name}_privilege", _make_test(*_test))
declare("has_column_privilege", _render_column_test)
declare("has_any_column_privilege", _render_any_column_test)
