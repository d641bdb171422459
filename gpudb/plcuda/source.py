"""The C++ source around a body: a device function with the declared types, and on the host a loop over columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.errors import FeatureNotSupported, SqlError
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
_NAME = re.compile(r"[A-Za-z_]\w*")
_HOST = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#define __device__
#define __forceinline__ inline
using std::min; using std::max; using std::isnan; using std::isinf; using std::isfinite; using std::abs;
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
"""
_COMMON = """\
#define RETURN_NULL() do { result_isnull = true; return {}; } while (0)
"""


@dataclass(frozen=True, slots=True)
class CudaFunction:
    """A function: its parameters by name and type, its result and its body. A `strict` one has no flags of NULL."""

    name: str
    parameters: tuple[tuple[str, SqlType], ...]
    result: SqlType
    body: str
    strict: bool


def check_types(function: CudaFunction) -> None:
    """0A000 for types that have none in C++, 42P13 for a parameter whose name is none in C++."""
    for name, item in (*function.parameters, ("", function.result)):
        if item.name not in TYPES or item.domain is not None:
            hint = (
                "Types of PL/CUDA are smallint, integer, bigint, real, double precision, boolean, date and timestamp."
            )
            raise FeatureNotSupported(f"PL/CUDA functions cannot have the type {item}", hint=hint)
        if name and not _NAME.fullmatch(name):
            raise SqlError.of("invalid_function_definition", f'parameter name "{name}" is not a name in C++')


def name_parameters(function: CudaFunction) -> list[str]:
    """Returns the names of the parameters in C++: `arg1` for a first one without."""
    return [name or f"arg{number}" for number, (name, _) in enumerate(function.parameters, 1)]


def write_device_source(function: CudaFunction) -> str:
    """Returns CUDA C++ with the function and a kernel that calls it, so that nothing of it is left out."""
    names = name_parameters(function)
    given = [f"x{number}[0]" + ("" if function.strict else ", false") for number in range(len(names))]
    pointers = [f"const {_type(item)} *x{number}" for number, (_, item) in enumerate(function.parameters)]
    out = f"{_type(function.result)} *out"
    return (
        f"{_COMMON}{_write_function(function)}\n"
        f'extern "C" __global__ void run({", ".join([*pointers, out])}) {{ bool is_null = false; '
        f"out[0] = plcuda_body({', '.join([*given, 'is_null'])}); }}\n"
    )


def write_host_source(function: CudaFunction) -> str:
    """Returns C++ with the function and `run`, which calls it for the rows of columns."""
    arguments = []
    for number, (_, item) in enumerate(function.parameters):
        arguments.append(f"((const {_type(item)} *)data[{number}])[row]")
        if not function.strict:
            arguments.append(f"!valid[{number}][row]")
    return (
        f"{_HOST}{_COMMON}{_write_function(function)}\n"
        'extern "C" void run(long long rows, void **data, unsigned char **valid, void *out, unsigned char *out_valid)'
        " {\n  for (long long row = 0; row < rows; row++) {\n    bool is_null = false;\n"
        f"    (({_type(function.result)} *)out)[row] = plcuda_body({', '.join([*arguments, 'is_null'])});\n"
        "    out_valid[row] = !is_null;\n  }\n}\n"
    )


def _write_function(function: CudaFunction) -> str:
    parameters = []
    for name, (_, item) in zip(name_parameters(function), function.parameters, strict=True):
        parameters.append(f"{_type(item)} {name}")
        if not function.strict:
            parameters.append(f"bool {name}_isnull")
    head = (
        f"__device__ static {_type(function.result)} plcuda_body({', '.join([*parameters, 'bool &result_isnull'])}) {{"
    )
    return f'{head}\n#line 1 "{BODY}"\n{function.body}\n}}'


def _type(item: SqlType) -> str:
    return TYPES[item.name][0]
