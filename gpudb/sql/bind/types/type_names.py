"""Type names as written (`numeric(10,2)`, `timestamp(3)[]`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.postgres.extension_objects import has_extension_object
from gpudb.catalog.row_types import get_row_type
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.sql.bind.base import Binder
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.types import SqlType, numeric, type_exists
from gpudb.types.facts import TYPE_ALIASES
from gpudb.values import sparse_vectors, vectors

# information_schema's domains appear as their base types; only cardinal_number is not listed here
_DOMAINS = {
    "sql_identifier": "name", "character_data": "varchar", "yes_or_no": "varchar", "time_stamp": "timestamptz",
}  # fmt: skip
_MOST_DIMENSIONS = {
    "vector": vectors.MAX_DIMENSIONS,
    "halfvec": vectors.MAX_DIMENSIONS,
    "sparsevec": sparse_vectors.MAX_DIMENSIONS,
}
_SERIAL = {"serial", "bigserial", "smallserial", "serial4", "serial8", "serial2"}
# Types of results and of the system catalog, beyond those of columns
_VALUE_TYPES = frozenset(
    "bool int2 int4 int8 float4 float8 numeric text varchar bpchar bytea date time timestamp timestamptz interval"
    " uuid json jsonb jsonpath name char oid regclass regtype regproc regprocedure regoper regoperator regnamespace"
    " regrole regcollation xid xid8 cid int2vector oidvector unknown pg_node_tree aclitem inet record void cstring"
    " pg_lsn tid refcursor regconfig regdictionary anyarray pg_ndistinct pg_dependencies pg_mcv_list"
    " anyelement anynonarray anyenum anyrange anycompatible anycompatiblearray anycompatiblenonarray"
    " int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange anymultirange"
    " int4range int8range numrange daterange tsrange tstzrange bit varbit timetz money cidr macaddr macaddr8"
    " vector halfvec sparsevec matrix tsvector tsquery point line lseg box path polygon circle".split()
)


_MODIFIED = frozenset(
    "numeric varchar bpchar bit varbit time timetz timestamp timestamptz interval vector halfvec sparsevec".split()
)
_MAX_BITS = 83_886_080
_MAX_CHARACTERS = 10_485_760


def resolve_value_type(node: Any, binder: Binder) -> SqlType:
    """Returns the type of a value in an expression: `resolve_type_name`, or the row type of a relation."""
    try:
        return resolve_type_name(node, binder)
    except UndefinedObject:
        names = strings(node.names)
        relation = binder.catalog.find(names[-1], names[-2:-1] or binder.search_path)
        if relation is None or not relation.columns:
            raise
        result = get_row_type(relation)
        return result.array if len(node.array_bounds) > 0 else result


def resolve_type_name(node: Any, binder: Binder) -> SqlType:
    """Returns the type that a TypeName message names; 42704 if there is none, 0A000 if gpudb lacks it."""
    names = strings(node.names)
    name = names[-1]
    if (result := _find_user_type(names, binder)) is not None:
        if len(node.typmods):
            raise SqlError.of("syntax_error", f'type modifier is not allowed for type "{name}"')
        return replace(result.array, dims=len(node.array_bounds)) if len(node.array_bounds) > 0 else result
    if (
        len(names) > 1
        and names[0] not in {"pg_catalog", "public", "information_schema"}
        and not has_extension_object(binder.catalog, names[-2], name)
    ):
        if names[-2] not in binder.catalog.schemas:
            raise SqlError.of("invalid_schema_name", f'schema "{names[-2]}" does not exist')
        raise UndefinedObject(f'type "{".".join(names)}" does not exist')
    if len(names) > 1 and names[0] == "information_schema":
        name = _DOMAINS.get(name, "int4")
    if len(names) == 1 or names[0] != "pg_catalog":
        name = TYPE_ALIASES.get(name, name)
    if name in _SERIAL:
        raise FeatureNotSupported(f'type "{name}" is not supported')
    if name[:1] == "_" and type_exists(name):
        if len(node.array_bounds) > 0:
            raise UndefinedObject(f'type "{name}[]" does not exist')
        if not len(node.typmods):
            return SqlType(name)
        if name[1:] not in _MODIFIED:
            raise SqlError.of("syntax_error", f'type modifier is not allowed for type "{name}"')
        return _apply_modifiers(name[1:], [_get_integer(each) for each in node.typmods]).array
    if not type_exists(name):
        raise UndefinedObject(f'type "{name}{"[]" * len(node.array_bounds)}" does not exist')
    if name not in _VALUE_TYPES:
        raise FeatureNotSupported(f'type "{name}" is not supported')
    result = _apply_modifiers(name, [_get_integer(each) for each in node.typmods])
    if len(node.array_bounds) > 0:
        result = replace(result.array, dims=len(node.array_bounds))
    return result


def _find_user_type(names: tuple[str, ...], binder: Binder) -> SqlType | None:
    """Returns a user-defined type; PostgreSQL's own type of an unqualified name comes first."""
    if len(names) == 1 and (type_exists(TYPE_ALIASES.get(names[0], names[0])) or not binder.catalog.types):
        return None
    if len(names) > 1 and binder.stored_within is None:
        binder.accesses.add_schema(names[-2])
    path = names[-2:-1] or binder.search_path
    found = binder.catalog.find_type(names[-1], path)
    if found is not None:
        return found.type
    if names[-1][:1] == "_" and (found := binder.catalog.find_type(names[-1][1:], path)) is not None:
        return found.type.array
    return None


def _get_integer(node: Any) -> int:
    if kind(node) == "a_const" and inner(node).WhichOneof("val") == "ival":
        return int(inner(node).ival.ival)
    raise SqlError.of("syntax_error", "type modifiers must be simple constants or identifiers")


def _check_length(shown: str, length: int, most: int) -> int:
    """Returns a declared length; 22023 if it is below one or above `most`."""
    if 1 <= length <= most:
        return length
    wrong = "must be at least 1" if length < 1 else f"cannot exceed {most}"
    raise SqlError.of("invalid_parameter_value", f"length for type {shown} {wrong}")


def _check_dimensions(name: str, count: int) -> int:
    """Returns the declared dimensions of a vector; 22023 if it cannot have so many."""
    most = _MOST_DIMENSIONS[name]
    if 1 <= count <= most:
        return count
    wrong = "must be at least 1" if count < 1 else f"cannot exceed {most}"
    raise SqlError.of("invalid_parameter_value", f"dimensions for type {name} {wrong}")


def _apply_modifiers(name: str, modifiers: list[int]) -> SqlType:
    if not modifiers:
        return SqlType(name)
    if name == "numeric":
        if len(modifiers) > 2:
            raise SqlError.of("invalid_parameter_value", "invalid NUMERIC type modifier")
        return numeric(modifiers[0], modifiers[1] if len(modifiers) == 2 else 0)
    if name in {"varchar", "bpchar", "bit", "varbit", *_MOST_DIMENSIONS} and len(modifiers) > 1:
        raise SqlError.of("invalid_parameter_value", "invalid type modifier")
    if name in {"varchar", "bpchar"}:
        return SqlType(name, _check_length("char" if name == "bpchar" else name, modifiers[0], _MAX_CHARACTERS) + 4)
    if name in {"bit", "varbit"}:
        return SqlType(name, _check_length(name, modifiers[0], _MAX_BITS))
    if name in _MOST_DIMENSIONS:
        return SqlType(name, _check_dimensions(name, modifiers[0]))
    if name in {"time", "timetz", "timestamp", "timestamptz"}:
        return SqlType(name, min(modifiers[0], 6))
    if name == "interval":
        # Fields and precision restrict the value; full ones (32767) restrict nothing
        if modifiers == [0x7FFF]:
            return SqlType(name)
        return SqlType(name, (modifiers[0] << 16) | (min(modifiers[1], 6) if len(modifiers) > 1 else 0xFFFF))
    raise SqlError.of("syntax_error", f'type modifier is not allowed for type "{name}"')
