"""Languages of routines: the one protocol by which the session checks and calls bodies, whatever they are written in.

A language is a module that is imported at its first use. What the catalog and the binder know of languages is in
`gpudb.catalog.languages`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from gpudb.catalog.routines import Routine
from gpudb.plpgsql.records import Record
from gpudb.session.context import Context
from gpudb.sql.bound import Expr
from gpudb.types import SqlType

BLOCK = "inline_code_block"
"""The name of the routine whose body is the block of DO."""
TRIGGER = SqlType("trigger")
"""What trigger functions are declared to return."""


class TriggerCalls(Protocol):
    """A trigger function that runs for rows of one relation."""

    def run(self, new: Record, old: Record) -> Record | None:
        """Returns what the function returns: a row, `new` or `old` themselves among others, or None for NULL."""


class Language(Protocol):
    """What routines are written in."""

    def check(self, context: Context, routine: Routine) -> None:
        """Checks a body when it is defined. A position in the body is the error's position."""

    def call(
        self, context: Context, routine: Routine, types: Sequence[SqlType], args: Sequence[Expr], *, is_atomic: bool
    ) -> pa.Table | None:
        """Calls a routine for one set of literals: its rows, as columns k1, k2, … of `types`; None for none.

        `is_atomic` is whether the transaction may not end within the call. The parameters have the types of the call.
        """

    def call_value(self, context: Context, routine: Routine, values: Sequence[object]) -> object:
        """Calls a function that returns one value, with values as `gpudb.values` represents them."""

    def takes_columns(self, routine: Routine) -> bool:
        """Whether the language calls a function, which returns one value, for whole columns: `call_columns`."""

    def call_columns(self, context: Context, routine: Routine, arguments: Sequence[pa.Array], count: int) -> pa.Array:
        """Calls a function for `count` rows of arguments, columns of `SqlType.arrow`; the column of its results."""

    def call_table(self, context: Context, routine: Routine, arguments: Sequence[pa.Array]) -> pa.Table:
        """Calls a set-returning function with arguments as columns of one row; its rows, as columns k1, k2, …

        Only a language whose traits say that it is device code has this.
        """

    def begin_trigger(
        self, context: Context, routine: Routine, row: SqlType, variables: Mapping[str, object]
    ) -> TriggerCalls:
        """Returns calls of a trigger function for rows of the type `row`; `variables` are those that PL/pgSQL has.

        Only a language whose traits say that it has triggers has this.
        """

    def run_block(self, context: Context, routine: Routine, *, is_atomic: bool) -> None:
        """Runs the block of DO. Only a language whose traits say that it has blocks has this."""


_LANGUAGES: Mapping[str, tuple[str, str]] = {
    "sql": ("sql_bodies", "SqlLanguage"),
    "plpgsql": ("bodies", "PlpgsqlLanguage"),
    "plpython3u": ("python_bodies", "PythonLanguage"),
    "model": ("model_calls", "ModelLanguage"),
    "plcuda": ("cuda_bodies", "CudaLanguage"),
}
"""The module beside this one, and the class, by the name in LANGUAGE."""


@cache
def get_language(name: str) -> Language:
    """Returns a language by its name, which is one of `catalog.languages.TRAITS`."""
    module, kind = _LANGUAGES[name]
    made: Any = getattr(import_module(f"{__package__}.{module}"), kind)()
    return made  # type: ignore[no-any-return]


def find_language(routine: Routine) -> Language:
    """Returns the language of a routine."""
    return get_language(routine.language)
