"""The type of a rewrite rule, and the names that rules over stored queries resolve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gpudb.catalog.model import Catalog
from gpudb.sql.expansions import Expansions

Tree = Literal["statement", "stored query", "renamed query", "bound query", "checked query", "engine query"]
"""The tree that a rule rewrites, named by when it is rewritten.

- `statement`: the parse tree of each statement, before it is bound.
- `stored query`: the parse tree of a view's or routine's query, before the catalog stores it.
- `renamed query`: the parse tree of a stored query, when relations or schemas that it names are renamed.
- `bound query`: each bound query, before it is planned or cached.
- `checked query`: a bound query whose constant expressions are about to be evaluated; no engine runs the result.
- `engine query`: a bound query, before an engine plans or renders it.
"""

RelationNames = Mapping[tuple[str, str], tuple[str, str]]
"""New names of relations, functions or types by their old ones, each a schema and a name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function from tree to tree that keeps the meaning of a statement."""

    applies_to: Tree
    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of the rule, of its module and of its fixture."""
        return self.function.__name__


@dataclass(frozen=True, slots=True)
class NameSource:
    """Resolves the names of a query that the catalog is about to store.

    `expansions` are what its constructs stand for.
    """

    catalog: Catalog
    search_path: tuple[str, ...]
    expansions: Expansions = field(default_factory=Expansions)


@dataclass(frozen=True, slots=True)
class Renames:
    """New names of relations, of whole schemas, of functions and of types, by their old ones.

    A function or type is also under its name without a schema, if no other one has that name. `routines` are the new
    names of functions by OID: of calls that name them by that.
    """

    relations: RelationNames
    schemas: Mapping[str, str] = field(default_factory=dict)
    functions: RelationNames = field(default_factory=dict)
    types: RelationNames = field(default_factory=dict)
    routines: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    def may_concern(self, text: str) -> bool:
        """Whether an SQL text contains an old name; False is certain."""
        named = (name for each in (self.relations, self.functions, self.types) for _, name in each)
        if any(f'"{oid}".' in text for oid in self.routines):
            return True
        return any(name.replace('"', '""') in text for name in (*named, *self.schemas))
