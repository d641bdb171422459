"""SQL/JSON's constructors and IS JSON: constructs of the grammar for which PostgreSQL has no functions.

Their functions are gpudb's own; the hyphen in each name prevents calls from SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.json import make_array_builder, raise_if_null, render_key_text, to_json
from gpudb.functions.let_binding import render_error
from gpudb.functions.library import Function
from gpudb.functions.registry import Operands, declare
from gpudb.types import BOOL, JSON, JSONB, TEXT, SqlType

KINDS = ("any", "object", "array", "scalar")
_ANY = SqlType("any")


def get_constructor(what: str, *, binary: bool, absent: bool, unique: bool = False) -> Function:
    """JSON_ARRAY or JSON_OBJECT (`what`): `absent` omits NULL values, `unique` rejects duplicate keys."""
    words = [what, "absent" if absent else "null", *["unique"] * unique, *["jsonb"] * binary]
    return Function(0, "-".join(words), (_ANY,), JSONB if binary else JSON, strict=False)


def get_is_json(kind: str, unique: bool) -> Function:
    """IS JSON [VALUE | SCALAR | ARRAY | OBJECT] [WITH UNIQUE KEYS], by the kind's name; of text."""
    return Function(0, f"is-json-{kind}{'-unique' * unique}", (TEXT,), BOOL)


def _render_is_present(operands: Operands, index: int) -> str:
    return to_json(operands.sql[index], operands.scales[index], operands.types[index])


def _make_array(binary: bool) -> Callable[[Operands], str]:
    """Omits the items that are NULL."""

    def render(operands: Operands) -> str:
        items = ", ".join(_render_is_present(operands, index) for index in range(len(operands.sql)))
        json = f"('[' || array_to_string([{items}], ', ') || ']')" if items else "'[]'"
        return f"pg_jsonb_in({json})" if binary else json

    return render


def _make_object(binary: bool, absent: bool, unique: bool) -> Callable[[Operands], str]:
    """Omits the members whose values are NULL, or checks that all keys are unique."""

    def render(operands: Operands) -> str:
        keys = [render_key_text(operands, index) for index in range(0, len(operands.sql), 2)]
        missing = render_error("22004", "'null value not allowed for object key'", "VARCHAR")
        members = []
        for index, key in zip(range(1, len(operands.sql), 2), keys, strict=True):
            value = _render_is_present(operands, index)
            value = value if absent else f"coalesce({value}, 'null')"
            members.append(f"CAST(to_json({raise_if_null(key, missing)}) AS VARCHAR) || ' : ' || {value}")
        json = f"('{{' || array_to_string([{', '.join(members)}], ', ') || '}}')" if members else "'{}'"
        if unique and keys:
            names = ", ".join(f"CAST({key} AS VARCHAR)" for key in keys)
            json = f"(CASE WHEN pg_json_unique([{names}], {str(binary).lower()}) THEN {json} END)"
        return f"pg_jsonb_in({json})" if binary else json

    return render


for _binary in (False, True):
    declare(get_constructor("json_array", binary=_binary, absent=False).name, make_array_builder(_binary))
    declare(get_constructor("json_array", binary=_binary, absent=True).name, _make_array(_binary))
    for _absent in (False, True):
        for _unique in (False, True):
            _made = get_constructor("json_object", binary=_binary, absent=_absent, unique=_unique)
            declare(_made.name, _make_object(_binary, _absent, _unique))
for _kind in KINDS:
    for _unique in (False, True):
        declare(get_is_json(_kind, _unique).name, f"pg_is_json({{0}}, '{_kind}', {str(_unique).lower()})")
