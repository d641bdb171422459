"""SQL/JSON's constructors and IS JSON: constructs of the grammar for which PostgreSQL has no functions.

Their functions are gpudb's own; the hyphen in each name prevents calls from SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.json import built_array, json_of, key_text, otherwise
from gpudb.functions.let_binding import raises
from gpudb.functions.library import Function
from gpudb.functions.registry import Operands, declare
from gpudb.types import BOOL, JSON, JSONB, TEXT, SqlType

KINDS = ("any", "object", "array", "scalar")
_ANY = SqlType("any")


def constructor(what: str, *, binary: bool, absent: bool, unique: bool = False) -> Function:
    """JSON_ARRAY or JSON_OBJECT (`what`): `absent` omits NULL values, `unique` rejects duplicate keys."""
    words = [what, "absent" if absent else "null", *["unique"] * unique, *["jsonb"] * binary]
    return Function(0, "-".join(words), (_ANY,), JSONB if binary else JSON, strict=False)


def is_json(kind: str, unique: bool) -> Function:
    """IS JSON [VALUE | SCALAR | ARRAY | OBJECT] [WITH UNIQUE KEYS], by the kind's name; of text."""
    return Function(0, f"is-json-{kind}{'-unique' * unique}", (TEXT,), BOOL)


def _present(operands: Operands, index: int) -> str:
    return json_of(operands.sql[index], operands.scales[index], operands.types[index])


def _array(binary: bool) -> Callable[[Operands], str]:
    """Omits the items that are NULL."""

    def render(operands: Operands) -> str:
        items = ", ".join(_present(operands, index) for index in range(len(operands.sql)))
        made = f"('[' || array_to_string([{items}], ', ') || ']')" if items else "'[]'"
        return f"pg_jsonb_in({made})" if binary else made

    return render


def _object(binary: bool, absent: bool, unique: bool) -> Callable[[Operands], str]:
    """Omits the members whose values are NULL, or checks that all keys are unique."""

    def render(operands: Operands) -> str:
        keys = [key_text(operands, index) for index in range(0, len(operands.sql), 2)]
        missing = raises("22004", "'null value not allowed for object key'", "VARCHAR")
        members = []
        for index, key in zip(range(1, len(operands.sql), 2), keys, strict=True):
            value = _present(operands, index)
            value = value if absent else f"coalesce({value}, 'null')"
            members.append(f"CAST(to_json({otherwise(key, missing)}) AS VARCHAR) || ' : ' || {value}")
        made = f"('{{' || array_to_string([{', '.join(members)}], ', ') || '}}')" if members else "'{}'"
        if unique and keys:
            names = ", ".join(f"CAST({key} AS VARCHAR)" for key in keys)
            made = f"(CASE WHEN pg_json_unique([{names}], {str(binary).lower()}) THEN {made} END)"
        return f"pg_jsonb_in({made})" if binary else made

    return render


for _binary in (False, True):
    declare(constructor("json_array", binary=_binary, absent=False).name, built_array(_binary))
    declare(constructor("json_array", binary=_binary, absent=True).name, _array(_binary))
    for _absent in (False, True):
        for _unique in (False, True):
            _made = constructor("json_object", binary=_binary, absent=_absent, unique=_unique)
            declare(_made.name, _object(_binary, _absent, _unique))
for _kind in KINDS:
    for _unique in (False, True):
        declare(is_json(_kind, _unique).name, f"pg_is_json({{0}}, '{_kind}', {str(_unique).lower()})")
