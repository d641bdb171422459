"""Table functions in PL/CUDA: a body that many threads run over whole arrays and matrices, and that writes columns.

Lines of the body that begin with `#plcuda_` say how it is launched; each has a C++ expression over the parameters:

    #plcuda_rows E         the rows of the result (else as many as threads)
    #plcuda_threads E      the threads that run the body (else as many as rows); one of both must be there
    #plcuda_block N        the threads of a block on a GPU (else 256)
    #plcuda_workspace E    bytes of memory that all threads share, zero at the start (else none)

On the host one thread after the other runs, and there are no blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.plcuda.source import (
    BODY,
    HOST_PROLOGUE,
    TYPES,
    c_type,
    check_names,
    list_errors,
    write_error_numbers,
    write_macros,
)
from gpudb.types import SqlType

MATRIX = "matrix"
_HINT = re.compile(r"^[ \t]*#plcuda_(\w+)[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_HINTS = frozenset({"rows", "threads", "block", "workspace"})
_BLOCK = 256
_MAX_BLOCK = 1024
_ATOMICS = """\
template <class T> static inline T atomicAdd(T *at, T x) { T old = *at; *at += x; return old; }
template <class T> static inline T atomicMax(T *at, T x) { T old = *at; if (x > old) *at = x; return old; }
template <class T> static inline T atomicMin(T *at, T x) { T old = *at; if (x < old) *at = x; return old; }
template <class T> static inline T atomicExch(T *at, T x) { T old = *at; *at = x; return old; }
template <class T> static inline T atomicCAS(T *at, T is, T x) { T old = *at; if (old == is) *at = x; return old; }
"""
_RAISE = """\
#undef RAISE_ERROR
#define RAISE_ERROR(state, message) do { constexpr int plcuda_found = PLCUDA_NUMBER(state message); \\
  result_error = plcuda_found; return; } while (0)
"""


@dataclass(frozen=True)
class CudaTable:
    """A table function: its parameters and the columns of its result, by name and type, and its body.

    A `strict` one has no flags of NULL.
    """

    name: str
    parameters: tuple[tuple[str, SqlType], ...]
    columns: tuple[tuple[str, SqlType], ...]
    body: str
    strict: bool

    @cached_property
    def hints(self) -> Mapping[str, str]:
        """The expressions of the hints, by name."""
        return dict(_HINT.findall(self.body))

    @cached_property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """The errors that the body raises, as SQLSTATE and message: number n is the item n - 1."""
        return list_errors(self.body)

    @property
    def block(self) -> int:
        """The threads of a block."""
        return int(self.hints.get("block", _BLOCK))

    def __hash__(self) -> int:
        return hash((self.name, self.parameters, self.columns, self.body, self.strict))


def check_table(table: CudaTable) -> None:
    """0A000 for types that a table function cannot have, 42P13 for names, 42601 for hints and errors."""
    for name, item in table.parameters:
        kind = item.element if item.element is not None else item
        if (kind.name not in TYPES and item.name != MATRIX) or kind.domain is not None or item.dims > 1:
            hint = "They are those of scalar functions, arrays of these, and matrix."
            raise FeatureNotSupported(f"table functions in PL/CUDA cannot have parameters of {item}", hint=hint)
        check_names([name])
    for name, item in table.columns:
        if item.name not in TYPES or item.domain is not None:
            raise FeatureNotSupported(f"table functions in PL/CUDA cannot return {item}")
        check_names([name])
    for name, text in _HINT.findall(table.body):
        if name not in _HINTS:
            raise SqlError.of("syntax_error", f'unrecognized hint "#plcuda_{name}"')
        if name == "block" and not (text.isdigit() and 0 < int(text) <= _MAX_BLOCK and int(text) % 32 == 0):
            raise SqlError.of("syntax_error", f"#plcuda_block takes a multiple of 32 up to {_MAX_BLOCK}")
    if not {"rows", "threads"} & table.hints.keys():
        raise SqlError.of("syntax_error", "a table function needs #plcuda_rows or #plcuda_threads")
    list_errors(table.body, check=True)


def name_table_parameters(table: CudaTable) -> list[str]:
    """Returns the names of the parameters in C++: `arg1` for a first one without."""
    return [name or f"arg{number}" for number, (name, _) in enumerate(table.parameters, 1)]


def _declare_parameters(table: CudaTable) -> list[tuple[str, str]]:
    """Returns the types and names of what the arguments are in C++, in order."""
    found: list[tuple[str, str]] = []
    for name, (_, item) in zip(name_table_parameters(table), table.parameters, strict=True):
        if item.name == MATRIX:
            found += [("const double *", name), ("long long", f"{name}_rows"), ("long long", f"{name}_columns")]
        elif item.element is not None:
            found += [(f"const {c_type(item.element)} *", name), ("long long", f"{name}_count")]
        else:
            found.append((c_type(item), name))
        if not table.strict:
            found.append(("bool", f"{name}_isnull"))
    return found


def _write_body(table: CudaTable) -> str:
    outputs = [each for name, item in table.columns for each in (f"{c_type(item)} *{name}", f"bool *{name}_isnull")]
    parameters = [
        "long long thread",
        "long long threads",
        *(f"{kind} {name}" for kind, name in _declare_parameters(table)),
    ]
    parameters += [*outputs, "long long rows", "unsigned long long *row_count", "char *workspace", "int &result_error"]
    body = _HINT.sub("", table.body)
    return (
        f"{write_error_numbers(table.body, 'plcuda_body')}"
        f"__device__ static void plcuda_body({', '.join(parameters)}) {{\n"
        f'#line 1 "{BODY}"\n{body}\n}}\n'
    )


def _write_shape(table: CudaTable, head: str) -> str:
    """Returns a function that sets shape[0 to 2]: rows, threads, bytes of the workspace."""
    parameters = ", ".join(f"{kind} {name}" for kind, name in _declare_parameters(table))
    rows = table.hints.get("rows") or table.hints["threads"]
    threads = table.hints.get("threads") or table.hints["rows"]
    return (
        f"{head} void plcuda_shape({parameters}{', ' if parameters else ''}long long *shape) {{\n"
        f'#line 1 "hints"\n  shape[0] = ({rows}); shape[1] = ({threads}); '
        f"shape[2] = ({table.hints.get('workspace', '0')});\n}}\n"
    )


def write_host_table(table: CudaTable) -> str:
    """Returns C++ with `shape(arguments, shape)`, and `run(arguments, shape, columns, nulls, row_count, workspace)`.

    `arguments` are addresses of what the parameters are in C++. `run` returns the number of an error, else 0.
    """
    declared = _declare_parameters(table)
    given = [f"*({kind} *)arguments[{number}]" for number, (kind, _) in enumerate(declared)]
    outputs = [
        each for n, (_, item) in enumerate(table.columns) for each in (f"({c_type(item)} *)columns[{n}]", f"nulls[{n}]")
    ]
    call = ", ".join(["thread", "shape[1]", *given, *outputs, "shape[0]", "row_count", "workspace", "error"])
    return (
        f"{HOST_PROLOGUE}{_ATOMICS}{write_macros()}{_RAISE}{_write_body(table)}{_write_shape(table, 'static')}"
        'extern "C" void shape(void **arguments, long long *shape) {\n'
        f"  plcuda_shape({', '.join([*given, 'shape'])});\n}}\n"
        'extern "C" int run(void **arguments, long long *shape, void **columns, bool **nulls,\n'
        "    unsigned long long *row_count, char *workspace) {\n"
        "  for (long long thread = 0; thread < shape[1]; thread++) {\n    int error = 0;\n"
        f"    plcuda_body({call});\n    if (error) return error;\n  }}\n  return 0;\n}}\n"
    )


def write_device_table(table: CudaTable) -> str:
    """Returns CUDA C++ with the kernels `shape` and `run`, whose arguments are those of the body in order.

    `run` ends with an address of the greatest number of an error. A body that waits for its block by `__syncthreads`
    runs in all threads of the last block too.
    """
    declared = _declare_parameters(table)
    names = [name for _, name in declared]
    parameters = [f"{kind} {name}" for kind, name in declared]
    outputs = [each for name, item in table.columns for each in (f"{c_type(item)} *{name}", f"bool *{name}_isnull")]
    out_names = [each for name, _ in table.columns for each in (name, f"{name}_isnull")]
    last = ["long long rows", "unsigned long long *row_count", "char *workspace", "int *failed"]
    call = ", ".join(["thread", "threads", *names, *out_names, "rows", "row_count", "workspace", "error"])
    guard = "" if "__syncthreads" in table.body else "if (thread >= threads) return;\n  "
    return (
        f"{write_macros()}{_RAISE}{_write_body(table)}{_write_shape(table, '__device__ static')}"
        f'extern "C" __global__ void shape({", ".join([*parameters, "long long *shape"])}) '
        f"{{ plcuda_shape({', '.join([*names, 'shape'])}); }}\n"
        f'extern "C" __global__ void __launch_bounds__({table.block}) run('
        f"{', '.join(['long long threads', *parameters, *outputs, *last])}) {{\n"
        f"  const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n  {guard}int error = 0;\n"
        f"  plcuda_body({call});\n  if (error) atomicMax(failed, error);\n}}\n"
    )
