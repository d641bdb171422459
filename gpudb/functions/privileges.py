"""`has_table_privilege` and its family: whether a role has privileges on an object.

They read gpudb's own tables of grants through the macros of `gpudb.catalog.postgres`.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.registry import MISSING, Operands, declare
from gpudb.values.acl import NAMES

_OPTION = " WITH GRANT OPTION"
_COLUMN_PRIVILEGES = "arwx"
# The macros that yield an OID if such an object exists, by those that find it by name
_EXISTING = {
    "pg_to_regrelation": "sys_known_relation",
    "pg_to_regprocedure": "sys_known_routine",
    "pg_to_regtype": "sys_known_type",
    "sys_schema": "sys_known_schema",
    "sys_database": "sys_known_database",
}


def _render_names(operands: Operands, find: str, after: int) -> tuple[str | None, str]:
    """Returns the role, None for the current one, and the object, both as OIDs; `find` is the macro that finds
    an object by name, and `after` the number of operands behind it.
    """
    places = range(len(operands.sql) - after)
    names = [operands.sql[n] if operands.types[n].name == "oid" else None for n in places]
    found = names[-1]
    if found is None:
        found = f"{find}({operands.sql[places[-1]]})"
    elif operands.constants[places[-1]] is not MISSING and find in _EXISTING:
        # An OID that a user writes may be of nothing: that yields NULL. Those of the system catalog exist
        found = f"{_EXISTING[find]}({found})"
    if len(places) == 1:
        return None, found
    return names[0] or f"sys_role({operands.sql[0]})", found


def _list_letters(known: str) -> dict[str, str]:
    """Returns what the names of privileges stand for. RULE is one that PostgreSQL still knows and nobody has."""
    names = {name: letter for letter, name in NAMES.items() if letter in known}
    names |= {"TEMP": "T"} if "T" in known else {}
    names |= {"RULE": ""} if "D" in known else {}
    return names | {name + _OPTION: letter and f"{letter}*" for name, letter in names.items()}


def _list_wanted(known: str, operands: Operands) -> str:
    """Returns the privileges of a list such as `SELECT, INSERT WITH GRANT OPTION`; 22023 for an unknown one."""
    letters, text = _list_letters(known), operands.constants[-1]
    if text is MISSING:
        pairs = ", ".join(f"'{name}': '{letter}'" for name, letter in letters.items())
        return f"sys_wanted({operands.sql[-1]}, MAP {{{pairs}}})"
    if text is None:
        return "CAST(NULL AS VARCHAR[])"
    wanted = []
    for part in str(text).split(","):
        letter = letters.get(part.strip().upper())
        if letter is None:
            raise SqlError.of("invalid_parameter_value", f'unrecognized privilege type: "{part.strip()}"')
        wanted += [f"'{letter}'"] if letter else []
    return f"CAST([{', '.join(wanted)}] AS VARCHAR[])"


def _make_test(code: str, find: str, known: str) -> Callable[[Operands], str]:
    """Returns the template of a function over objects with a code in `acl_lists`, a macro that finds them by name, and
    the privileges that they have.
    """

    def render(operands: Operands) -> str:
        who, found = _render_names(operands, find, 1)
        wanted = _list_wanted(known, operands)
        if who is None:
            return f"sys_own('{code}', {found}, {wanted})"
        return f"sys_may({who}, '{code}', {found}, {wanted})"

    return render


def _render_sequence_test(operands: Operands) -> str:
    """42809 for a relation that is not a sequence, if it is named: views ask for those that are."""
    place = len(operands.sql) - 2
    by_name, constant = operands.types[place].name != "oid", operands.constants[place] is not MISSING
    who, found = _render_names(operands, "pg_to_regrelation", 1)
    if by_name or constant:
        shown = operands.sql[place] if by_name else "NULL"
        found = f"sys_sequence({found}, {shown})"
    wanted = _list_wanted("rwU", operands)
    return f"sys_own('r', {found}, {wanted})" if who is None else f"sys_may({who}, 'r', {found}, {wanted})"


def _render_column_test(operands: Operands) -> str:
    who, table = _render_names(operands, "pg_to_regrelation", 2)
    number = operands.sql[-2]
    if operands.types[-2].name != "int2":
        number = f"sys_column({table}, {number})"
    elif operands.constants[-2] is not MISSING:
        number = f"sys_column_number({table}, {number})"
    return _test_column(who, table, number, operands)


def _render_any_column_test(operands: Operands) -> str:
    who, table = _render_names(operands, "pg_to_regrelation", 1)
    return _test_column(who, table, "-1", operands)


def _test_column(who: str | None, table: str, number: str, operands: Operands) -> str:
    wanted = _list_wanted(_COLUMN_PRIVILEGES, operands)
    if who is None:
        return f"sys_own_column({table}, {number}, {wanted})"
    return f"sys_may_column({who}, {table}, {number}, {wanted})"


for _name, _test in {
    "table": ("r", "pg_to_regrelation", "arwdDxt"),
    "schema": ("n", "sys_schema", "UC"),
    "database": ("d", "sys_database", "CTc"),
    "function": ("f", "pg_to_regprocedure", "X"),
    "type": ("T", "pg_to_regtype", "U"),
    "language": ("l", "sys_language", "U"),
}.items():
    declare(f"has_{_name}_privilege", _make_test(*_test))
declare("has_sequence_privilege", _render_sequence_test)
declare("has_column_privilege", _render_column_test)
declare("has_any_column_privilege", _render_any_column_test)
