"""The C++ source around a body: a device function with the declared types, and on the host a loop over columns."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from gpudb.errors import FeatureNotSupported, SqlError, sqlstates
from gpudb.types import SqlType

TYPES: Mapping[str, tuple[str, str]] = {
    "bool": ("bool", "u1"),
    "int2": ("short", "i2"),
    "int4": ("int", "i4"),
    "int8": ("long long", "i8"),
    "float4": ("float", "f4"),
    "float8": ("double", "f8"),
    "date": ("int", "i4"),
    "timestamp": ("long long", "i8"),
    "timestamptz": ("long long", "i8"),
}
"""The type in C++, and NumPy's name for the items of a column, by SQL type."""
BODY = "body"
"""The file of a body in messages of compilers."""
MAX_ERRORS = 100
"""The errors that a body may raise."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_RAISE = re.compile(r'\bRAISE_ERROR\s*\(\s*"([0-9A-Z]{5})"\s*,\s*("(?:[^"\\\n]|\\.)*")\s*\)')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}
_NULL = re.compile(r"\b(RETURN_NULL|result_isnull)\b")
HOST_PROLOGUE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#define __device__
#define __forceinline__ inline
using std::min; using std::max; using std::isnan; using std::isinf; using std::isfinite; using std::abs;
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
"""
"""What C++ for the host needs to compile a body."""
_COMMON = """\
__device__ static constexpr bool plcuda_same(const char *a, const char *b) {
  while (*a && *a == *b) { ++a; ++b; }
  return *a == *b;
}
#define RETURN_NULL() do { result_isnull = true; return {}; } while (0)
#define RAISE_ERROR(state, message) do { constexpr int plcuda_found = PLCUDA_NUMBER(state message); \\
  result_error = plcuda_found; return {}; } while (0)
"""


@dataclass(frozen=True, eq=True)
class CudaFunction:
    """A function: its parameters by name and type, its result and its body.

    A `strict` one has no flags of NULL.
    """

    name: str
    parameters: tuple[tuple[str, SqlType], ...]
    result: SqlType
    body: str
    strict: bool

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.parameters, self.result, self.body, self.strict))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return intern_function, (self.name, self.parameters, self.result, self.body, self.strict)

    @cached_property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """The errors that the body raises, as SQLSTATE and message: number n is the item n - 1."""
        return list_errors(self.body)

    @cached_property
    def may_be_null(self) -> bool:
        """Whether the body may return NULL."""
        return _NULL.search(self.body) is not None

    @cached_property
    def number(self) -> int:
        """The number by which SQL names the function, the same in every process."""
        text = repr((self.name, self.parameters, self.result, self.body, self.strict))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


class Numbered(Protocol):
    """Code that SQL names by a number."""

    @property
    def number(self) -> int: ...


_Code = TypeVar("_Code", bound=Numbered)
_interned: WeakValueDictionary[int, Any] = WeakValueDictionary()


def intern_function(
    name: str, parameters: tuple[tuple[str, SqlType], ...], result: SqlType, body: str, strict: bool
) -> CudaFunction:
    """Returns the one function with these properties; `find_interned` finds it for as long as it is held."""
    return intern(CudaFunction(name, parameters, result, body, strict))


def intern(code: _Code) -> _Code:
    """Returns the one object that is equal to some code."""
    made: _Code = _interned.setdefault(code.number, code)
    return made


def find_interned(number: int) -> Any:
    """Returns code by its number, while a plan holds it."""
    return _interned[number]


def is_composite(item: SqlType) -> bool:
    """Whether a type is a composite of types that have one in C++, whose name is one in C++ as well."""
    if item.user is None or not item.fields or item.item is not None:
        return False
    named = [item.user.name, *(name for name, _ in item.fields)]
    return (
        item.domain is None
        and all(_NAME.fullmatch(each) for each in named)
        and all(field.name in TYPES and field.domain is None for _, field in item.fields)
    )


def check_function(function: CudaFunction) -> None:
    """0A000 for types that have none in C++, 42P13 for a parameter whose name is none in C++, 42601 for an error."""
    for name, item in (*function.parameters, ("", function.result)):
        if (item.name not in TYPES and not is_composite(item)) or item.domain is not None:
            hint = (
                "Types of PL/CUDA are smallint, integer, bigint, real, double precision, boolean, date, timestamp, and"
                " composites of these."
            )
            raise FeatureNotSupported(f"PL/CUDA functions cannot have the type {item}", hint=hint)
        check_names([name])
    list_errors(function.body, check=True)


def check_names(names: Iterable[str]) -> None:
    """42P13 for the name of a parameter or column that is none in C++; '' is no name."""
    for name in names:
        if name and not _NAME.fullmatch(name):
            raise SqlError.of("invalid_function_definition", f'parameter name "{name}" is not a name in C++')


def list_errors(body: str, *, check: bool = False) -> tuple[tuple[str, str], ...]:
    """Returns the errors that a body raises, as SQLSTATE and message. With `check` 42601 for one that is none."""
    if check:
        _check_errors(body)
    return tuple((state, _unescape(text)) for state, text in dict.fromkeys(_RAISE.findall(body)))


def _check_errors(body: str) -> None:
    for found in re.finditer(r"\bRAISE_ERROR\b", body):
        raised = _RAISE.match(body, found.start())
        message = None
        if raised is None:
            message = "RAISE_ERROR takes an SQLSTATE and a message, each a text in double quotes"
        elif raised[1] not in _conditions():
            message = f'unrecognized SQLSTATE "{raised[1]}"'
        if message is not None:
            error = SqlError.of("syntax_error", message)
            error.position = found.start() + 1
            raise error
    if len(list_errors(body)) > MAX_ERRORS:
        raise FeatureNotSupported(f"a body that raises more than {MAX_ERRORS} errors is not supported")


@cache
def _conditions() -> Mapping[str, str]:
    return {state: condition for condition, state in sqlstates().items()}


class Raising(Protocol):
    """Code whose body raises errors."""

    @property
    def name(self) -> str: ...
    @property
    def errors(self) -> tuple[tuple[str, str], ...]: ...


def make_error(function: Raising, number: int) -> SqlError:
    """Returns the error that a body raises by a number."""
    state, message = function.errors[number - 1]
    return SqlError.of(_conditions()[state], message, where=describe_function(function))


def describe_function(function: Raising) -> str:
    """Returns the line of CONTEXT for errors of a function."""
    return f'PL/CUDA function "{function.name}"'


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def name_parameters(function: CudaFunction) -> list[str]:
    """Returns the names of the parameters in C++: `arg1` for a first one without."""
    return [name or f"arg{number}" for number, (name, _) in enumerate(function.parameters, 1)]


@lru_cache(1024)
def write_function(function: CudaFunction, label: str) -> tuple[str, str]:
    """Returns the declaration of a function of the name `label`, and its definition, which `write_macros` precedes.

    Beside the parameters, each followed by a flag of NULL unless the function is strict, it takes references to a flag
    of a NULL result and to the number of an error, of which it changes one at most.
    """
    parameters = []
    for name, (_, item) in zip(name_parameters(function), function.parameters, strict=True):
        parameters.append(f"{c_type(item)} {name}")
        if not function.strict:
            parameters.append(f"bool {name}_isnull")
    parameters += ["bool &result_isnull", "int &result_error"]
    head = f"__device__ static {c_type(function.result)} {label}({', '.join(parameters)})"
    definition = f'{write_error_numbers(function.body, label)}{head} {{\n#line 1 "{BODY}"\n{function.body}\n}}\n'
    return f"{head};", definition


def write_error_numbers(body: str, label: str) -> str:
    """Returns what gives RAISE_ERROR in a body the numbers of its errors; `label` names the function."""
    tests = [
        f'plcuda_same(text, "{state}" {text}) ? {number} : '
        for number, (state, text) in enumerate(dict.fromkeys(_RAISE.findall(body)), 1)
    ]
    number = f"__device__ static constexpr int {label}_error(const char *text) {{ return {''.join(tests)}0; }}"
    return f"{number}\n#undef PLCUDA_NUMBER\n#define PLCUDA_NUMBER {label}_error\n"


def write_macros() -> str:
    """Returns what definitions of functions need before them."""
    return _COMMON


def write_device_source(function: CudaFunction) -> str:
    """Returns CUDA C++ with the function and a kernel `run` that calls it for rows of columns.

    Its parameters are the number of rows, which of them are to be called (null: all), values and validity (null: all)
    of each argument, then values and validity of the result, the greatest error, and `flags[place]`, which is set if a
    row is NULL.
    """
    parameters, given, known = ["long long rows", "const bool *reached"], [], []
    for number, (_, item) in enumerate(function.parameters):
        parameters += [f"const {c_type(item)} *x{number}", f"const bool *v{number}"]
        is_known = f"(!v{number} || v{number}[row])"
        given.append(f"x{number}[row]")
        if function.strict:
            known.append(f" && {is_known}")
        else:
            given.append(f"!{is_known}")
    result = c_type(function.result)
    parameters += [f"{result} *out", "bool *valid", "int *failed", "unsigned *flags", "int place"]
    return (
        f"{_COMMON}{write_structs([function])}{write_function(function, 'plcuda_body')[1]}\n"
        f'extern "C" __global__ void run({", ".join(parameters)}) {{\n'
        "  for (long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x; row < rows;"
        " row += (long long)gridDim.x * blockDim.x) {\n"
        f"    bool is_null = true; int error = 0; {result} made = {{}};\n"
        f"    if ((!reached || reached[row]){''.join(known)}) {{\n"
        f"      is_null = false; made = plcuda_body({', '.join([*given, 'is_null', 'error'])});\n    }}\n"
        "    out[row] = made; valid[row] = !is_null;\n"
        "    if (is_null) flags[place] = 1;\n    if (error) atomicMax(failed, error);\n  }\n}\n"
    )


def write_host_source(function: CudaFunction) -> str:
    """Returns C++ with the function and `run`, which calls it for the rows of columns until one raises an error.

    A strict function is not called for rows with a NULL. `run` returns the number of the error, else 0.
    """
    arguments = []
    for number, (_, item) in enumerate(function.parameters):
        arguments.append(f"((const {c_type(item)} *)data[{number}])[row]")
        if not function.strict:
            arguments.append(f"!valid[{number}][row]")
    known = " & ".join(f"valid[{number}][row]" for number in range(len(function.parameters)))
    skipped = f"    if (!({known})) continue;\n" if function.strict and known else ""
    return (
        f"{HOST_PROLOGUE}{_COMMON}{write_structs([function])}{write_function(function, 'plcuda_body')[1]}\n"
        'extern "C" int run(long long rows, void **data, unsigned char **valid, void *out, unsigned char *out_valid)'
        f" {{\n  for (long long row = 0; row < rows; row++) {{\n{skipped}    bool is_null = false; int error = 0;\n"
        f"    (({c_type(function.result)} *)out)[row] = "
        f"plcuda_body({', '.join([*arguments, 'is_null', 'error'])});\n"
        "    if (error) return error;\n    out_valid[row] = !is_null;\n  }\n  return 0;\n}\n"
    )


def c_type(item: SqlType) -> str:
    """Returns the type in C++ of a SQL type in TYPES, or of a composite."""
    if item.user is not None and is_composite(item):
        return item.user.name
    return TYPES[item.name][0]


def write_structs(functions: Iterable[CudaFunction]) -> str:
    """Returns the structs of the composites that functions take or return, each defined once."""
    text = ""
    items = {item: None for each in functions for item in (*(item for _, item in each.parameters), each.result)}
    for item in filter(is_composite, items):
        name = c_type(item)
        guard = f"PLCUDA_STRUCT_{name}"
        fields = " ".join(f"{c_type(field)} {each};" for each, field in item.fields)
        text += f"#ifndef {guard}\n#define {guard}\nstruct {name} {{ {fields} }};\n#endif\n"
    return text
