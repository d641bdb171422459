"""The C++ source of an aggregate: cells with states, which take rows, merge, and give a result.

A cell that no row has reached is empty; then its state is the initial one. Kernels and the host share this text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plcuda.source import (
    HOST_PROLOGUE,
    TYPES,
    CudaFunction,
    c_type,
    intern,
    is_composite,
    write_function,
    write_macros,
    write_structs,
)
from gpudb.types import SqlType
from gpudb.types.facts import INTEGER_LIMITS

EMPTY, NULL, KNOWN = 0, 1, 2
"""What a cell has: no row yet, a NULL state, a state."""
_TRUE = frozenset({"t", "true", "y", "yes", "on", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "off", "0"})
_FLOATS = {"nan": "NAN", "infinity": "INFINITY", "inf": "INFINITY", "-infinity": "-INFINITY", "-inf": "-INFINITY"}


@dataclass(frozen=True)
class CudaAggregate:
    """An aggregate of PL/CUDA functions. `initial` has the initial state's fields as C++ literals; None for NULL.

    `transition` takes the state and the arguments, `combine` two states; `final` a state, which is the result without
    it.
    """

    name: str
    transition: CudaFunction
    state: SqlType
    initial: tuple[str, ...] | None
    combine: CudaFunction | None
    final: CudaFunction | None

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.transition, self.state, self.initial, self.combine, self.final))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        given = self.name, self.transition, self.state, self.initial, self.combine, self.final
        return intern_aggregate, given

    @cached_property
    def number(self) -> int:
        """The number by which SQL names the aggregate, the same in every process."""
        parts = (self.name, self.state, self.initial, *(each.number if each else 0 for each in self.functions))
        return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big")

    @property
    def functions(self) -> tuple[CudaFunction | None, ...]:
        """The transition, combine and final functions."""
        return self.transition, self.combine, self.final

    @cached_property
    def is_never_null(self) -> bool:
        """Whether no state is NULL: neither the initial one nor what a function returns."""
        made = [each for each in (self.transition, self.combine) if each is not None]
        return self.initial is not None and not any(each.may_be_null for each in made)

    @property
    def arguments(self) -> tuple[SqlType, ...]:
        """The types of the arguments of a row."""
        return tuple(item for _, item in self.transition.parameters[1:])

    @property
    def fields(self) -> tuple[SqlType, ...]:
        """The types of the fields of a state: itself, if it is no composite."""
        return tuple(item for _, item in self.state.fields) or (self.state,)

    @property
    def result(self) -> SqlType:
        """The type of the result."""
        return self.state if self.final is None else self.final.result


def intern_aggregate(
    name: str,
    transition: CudaFunction,
    state: SqlType,
    initial: tuple[str, ...] | None,
    combine: CudaFunction | None,
    final: CudaFunction | None,
) -> CudaAggregate:
    """Returns the one aggregate with these properties; `find_interned` finds it for as long as it is held."""
    return intern(CudaAggregate(name, transition, state, initial, combine, final))


def read_initial(text: str, state: SqlType) -> tuple[str, ...]:
    """Returns the fields of INITCOND as C++ literals; 22P02, 22003, 0A000 for dates, times and NULL fields."""
    if not is_composite(state):
        return (_read_literal(text, state),)
    parts = text.strip().removeprefix("(").removesuffix(")").split(",")
    if len(parts) != len(state.fields):
        raise SqlError.of("invalid_text_representation", f'malformed record literal: "{text}"')
    return tuple(
        _read_literal(part.strip().strip('"'), item) for part, (_, item) in zip(parts, state.fields, strict=True)
    )


def _read_literal(text: str, item: SqlType) -> str:
    wrong = SqlError.of("invalid_text_representation", f'invalid input syntax for type {item}: "{text}"')
    word = text.strip().lower()
    if item.name == "bool":
        if word not in _TRUE | _FALSE:
            raise wrong
        return "true" if word in _TRUE else "false"
    try:
        if item.name in INTEGER_LIMITS:
            number = int(word)
            low, high = INTEGER_LIMITS[item.name]
            if not low <= number <= high:
                message = f'value "{text}" is out of range for type {item}'
                raise SqlError.of("numeric_value_out_of_range", message)
            return f"({number + 1}LL - 1)" if number < 0 else f"{number}LL"
        if item.name in {"float4", "float8"}:
            return _FLOATS.get(word) or f"{float(word)!r}"
    except ValueError:
        raise wrong from None
    raise FeatureNotSupported(f"INITCOND of type {item} is not supported for PL/CUDA functions")


@lru_cache(256)
def write_aggregate(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    """Returns what an aggregate declares, and its definitions, which `write_macros` precedes.

    `label_cell` is a cell: `value`, and `has`. `label_state(cell)` sets an empty cell to the initial state;
    `label_begin(cell)` makes an empty cell that holds it already, and `label_step(cell, error, value, is_known, …)`
    adds a row's arguments to one. `label_add`, of the same arguments, adds them to any cell, `label_merge(cell, other,
    error)` adds another cell.
    """
    state = c_type(aggregate.state)
    declared = write_structs([each for each in aggregate.functions if each is not None])
    declared += f"struct {label}_cell {{ {state} value; unsigned char has; }};\n"
    defined = ""
    for each, suffix in zip(aggregate.functions, ("transition", "combine", "final"), strict=True):
        if each is not None:
            head, text = write_function(each, f"{label}_{suffix}")
            declared, defined = declared + head + "\n", defined + text
    written = (_write_state, _write_begin, _write_step, _write_add, _write_merge)
    for head, text in (write(aggregate, label) for write in written):
        declared, defined = declared + head + ";\n", defined + f"{head} {{\n{text}}}\n"
    return declared, defined


def _write_state(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    head = f"__device__ static void {label}_state({label}_cell &cell)"
    if aggregate.initial is None:
        return head, f"  if (cell.has == {EMPTY}) cell.has = {NULL};\n"
    return head, f"  if (cell.has == {EMPTY}) {{ cell.value = {_write_initial(aggregate)}; cell.has = {KNOWN}; }}\n"


def _write_initial(aggregate: CudaAggregate) -> str:
    """Returns the initial state, if it is not NULL."""
    pairs = zip(aggregate.initial or (), aggregate.fields, strict=True)
    fields = [f"({c_type(item)}){text}" for text, item in pairs]
    return f"{{{', '.join(fields)}}}" if is_composite(aggregate.state) else fields[0]


def _write_begin(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    made = "" if aggregate.initial is None else f" cell.value = {_write_initial(aggregate)};"
    return f"__device__ static void {label}_begin({label}_cell &cell)", f"  cell = {{}};{made}\n"


def _write_add(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    """Writes what finds out first whether the cell is empty, but for a strict function only if it is called."""
    strict, types = aggregate.transition.strict, aggregate.arguments
    given = [f"{c_type(item)} x{n}, bool k{n}" for n, item in enumerate(types)]
    head = f"__device__ static void {label}_add({', '.join([f'{label}_cell &cell', 'int &error', *given])})"
    passed = ", ".join(["cell", "error", *(f"x{n}, k{n}" for n in range(len(types)))])
    known = " && ".join(f"k{n}" for n in range(len(types))) if strict and aggregate.initial is not None else ""
    begin = f"  if ({known or 'true'}) {label}_state(cell);\n" if aggregate.initial is not None else ""
    return head, f"{begin}  {label}_step({passed});\n"


def _write_step(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    strict, types = aggregate.transition.strict, aggregate.arguments
    given = [f"{c_type(item)} x{n}, bool k{n}" for n, item in enumerate(types)]
    head = f"__device__ static void {label}_step({', '.join([f'{label}_cell &cell', 'int &error', *given])})"
    text = ""
    if strict:
        known = " && ".join(f"k{n}" for n in range(len(types)))
        text += f"  if (!({known})) return;\n" if known else ""
        if aggregate.initial is None and types:
            first = f"cell.value = x0; cell.has = {KNOWN}; return;"
            text += f"  if (cell.has == {EMPTY}) {{ {first} }}\n"
    if aggregate.initial is None:
        text += f"  {label}_state(cell);\n"
    if strict and not aggregate.is_never_null:
        text += f"  if (cell.has == {NULL}) return;\n"
    arguments = ["cell.value" if strict else f"cell.value, cell.has == {NULL}"]
    arguments += [f"x{n}" if strict else f"x{n}, !k{n}" for n in range(len(types))]
    return head, text + _call(f"{label}_transition", arguments, aggregate.transition)


def _write_merge(aggregate: CudaAggregate, label: str) -> tuple[str, str]:
    head = f"__device__ static void {label}_merge({label}_cell &cell, const {label}_cell &other, int &error)"
    combine = aggregate.combine
    text = f"  if (other.has == {EMPTY}) return;\n  if (cell.has == {EMPTY}) {{ cell = other; return; }}\n"
    if combine is None:
        return head, text
    if combine.strict:
        if not aggregate.is_never_null:
            text += f"  if (other.has == {NULL}) return;\n  if (cell.has == {NULL}) {{ cell = other; return; }}\n"
        return head, text + _call(f"{label}_combine", ["cell.value", "other.value"], combine)
    flagged = [f"cell.value, cell.has == {NULL}", f"other.value, other.has == {NULL}"]
    return head, text + _call(f"{label}_combine", flagged, combine)


def _call(name: str, arguments: Sequence[str], function: CudaFunction) -> str:
    has = f"is_null ? {NULL} : {KNOWN}" if function.may_be_null else f"{KNOWN}"
    return (
        f"  bool is_null = false;\n  cell.value = {name}({', '.join([*arguments, 'is_null', 'error'])});\n"
        f"  cell.has = {has};\n"
    )


@lru_cache(256)
def write_host_aggregate(aggregate: CudaAggregate) -> str:
    """Returns C++ of an aggregate for the host, with functions over columns (see `aggregate_calls`).

    Each returns 1000 × (0 transition, 1 combine, 2 final) + the number of the error that one of its rows has raised.
    """
    declared, defined = write_aggregate(aggregate, "fold")
    types, fields = aggregate.arguments, aggregate.fields
    loaded = [f"((const {c_type(item)} *)data[{n}])[row], valid[{n}][row]" for n, item in enumerate(types)]
    names = [f".{name}" for name, _ in aggregate.state.fields] or [""]
    loads = "".join(
        f"  cell.value{name} = ((const {c_type(item)} *)fields[{n}])[at];\n"
        for n, (name, item) in enumerate(zip(names, fields, strict=True))
    )
    stores = "".join(
        f"  (({c_type(item)} *)fields[{n}])[at] = cell.value{name};\n"
        for n, (name, item) in enumerate(zip(names, fields, strict=True))
    )
    result = c_type(aggregate.result)
    if aggregate.final is None:
        final = f"  is_null = cell.has == {NULL}; return cell.value;\n"
    elif aggregate.final.strict:
        final = f"  if (cell.has == {NULL}) {{ is_null = true; return {{}}; }}\n"
        final += "  return fold_final(cell.value, is_null, error);\n"
    else:
        final = f"  return fold_final(cell.value, cell.has == {NULL}, is_null, error);\n"
    add = ", ".join(["cell", "error", *loaded])
    merged = "if (error) return 1000 + error;" if aggregate.combine is not None else ""
    return f"""{HOST_PROLOGUE}{write_macros()}{declared}{defined}
typedef unsigned char u8;
static fold_cell load(void **fields, const u8 *has, long long at) {{
  fold_cell cell = {{}}; cell.has = has[at];
{loads}  return cell;
}}
static void store(void **fields, u8 *has, long long at, const fold_cell &cell) {{
{stores}  has[at] = cell.has;
}}
static {result} finish(fold_cell cell, bool &is_null, int &error) {{
  fold_state(cell);
{final}}}
extern "C" int fold_lists(long long lists, const long long *ends, const u8 *there, void **data, u8 **valid, void *out,
    u8 *out_valid) {{
  long long row = 0;
  for (long long list = 0; list < lists; list++) {{
    fold_cell cell = {{}};
    int error = 0;
    for (; row < ends[list]; row++) if (!there || there[row]) {{ fold_add({add}); if (error) return error; }}
    bool is_null = false;
    (({result} *)out)[list] = finish(cell, is_null, error);
    out_valid[list] = !is_null;
    if (error) return 2000 + error;
  }}
  return 0;
}}
extern "C" int fold_rows(long long rows, const long long *places, void **data, u8 **valid, void **fields, u8 *has) {{
  for (long long row = 0; row < rows; row++) {{
    fold_cell cell = load(fields, has, places[row]);
    int error = 0;
    fold_add({add});
    if (error) return error;
    store(fields, has, places[row], cell);
  }}
  return 0;
}}
extern "C" int merge_states(long long rows, const long long *places, void **given, const u8 *given_has, void **fields,
    u8 *has) {{
  for (long long row = 0; row < rows; row++) {{
    fold_cell cell = load(fields, has, places[row]);
    int error = 0;
    fold_merge(cell, load(given, given_has, row), error);
    {merged}
    store(fields, has, places[row], cell);
  }}
  return 0;
}}
extern "C" int finish_states(long long rows, void **fields, const u8 *has, void *out, u8 *out_valid) {{
  for (long long row = 0; row < rows; row++) {{
    int error = 0;
    bool is_null = false;
    (({result} *)out)[row] = finish(load(fields, has, row), is_null, error);
    out_valid[row] = !is_null;
    if (error) return 2000 + error;
  }}
  return 0;
}}
"""


def check_aggregate(aggregate: CudaAggregate) -> None:
    """0A000 for an aggregate whose result is a composite."""
    if aggregate.result.name not in TYPES:
        hint = "Add a FINALFUNC that returns a value."
        raise FeatureNotSupported(f"aggregates of PL/CUDA functions cannot return {aggregate.result}", hint=hint)
