"""Languages of routines: what the catalog and the binder know of each, and those that a database has.

Every database has `sql` and `plpgsql`. CREATE EXTENSION adds the others; how bodies are checked and called is the
session's matter (`session.execution.routines.languages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudb.catalog.models import LANGUAGE as MODEL_LANGUAGE
from gpudb.values.acl import Acl, AclItem


@dataclass(frozen=True, slots=True)
class LanguageTraits:
    """What a language is, wherever it is installed.

    A body that `is_query` may become part of the query that calls it; one that `has_statements` of PL/pgSQL is read to
    inline a single expression, and to plan triggers; one that `is_pure` runs no statements, and engines
    run one that `is_device_code`. A language that `has_blocks` has DO. Only superusers use one that
    is not `trusted`; with `is_public` every role may use it from the start. `name` is its name in messages.
    """

    name: str
    is_query: bool = False
    has_statements: bool = False
    is_pure: bool = False
    is_device_code: bool = False
    has_blocks: bool = True
    has_triggers: bool = True
    trusted: bool = True
    is_public: bool = True
    version: str = ""
    comment: str = ""
    functions: tuple[int, int, int] = (0, 0, 0)
    """The OIDs of its call handler, inline handler and validator in pg_language."""


TRAITS: Mapping[str, LanguageTraits] = {
    "sql": LanguageTraits("SQL", is_query=True, has_blocks=False, has_triggers=False, functions=(0, 0, 2248)),
    "plpgsql": LanguageTraits("PL/pgSQL", has_statements=True, functions=(12757, 12758, 12759)),
    "plpython3u": LanguageTraits(
        "PL/Python",
        trusted=False,
        version="1.0",
        comment="PL/Python3U untrusted procedural language",
        functions=(11700, 11701, 11702),
    ),
    MODEL_LANGUAGE: LanguageTraits("model", is_pure=True, has_blocks=False, has_triggers=False),
    "plcuda": LanguageTraits(
        "PL/CUDA",
        is_pure=True,
        is_device_code=True,
        has_blocks=False,
        has_triggers=False,
        is_public=False,
        version="1.0",
        comment="PL/CUDA: scalar functions in CUDA C++",
        functions=(11703, 0, 11704),
    ),
}
"""By the name in LANGUAGE; no statement can name that of models' functions, which no database has."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language of a database, with its owner and access control list."""

    oid: int
    name: str
    owner: str
    acl: Acl | None = None
    comment: str | None = None

    @property
    def key(self) -> str:
        """The key in `Catalog.languages`: the name."""
        return self.name

    @property
    def traits(self) -> LanguageTraits:
        """What is known of the language."""
        return TRAITS[self.name]


_INITIAL: Mapping[str, Language] = {"sql": Language(14, "sql", "gpudb"), "plpgsql": Language(12760, "plpgsql", "gpudb")}


def list_languages(created: Mapping[str, Language]) -> Mapping[str, Language]:
    """Returns the languages of a database by name, from those that its catalog keeps."""
    return {**_INITIAL, **created}


def make_language(oid: int, name: str, owner: str) -> Language:
    """Returns a language as CREATE EXTENSION makes it."""
    acl = None if TRAITS[name].is_public else (AclItem(owner, "U", owner),)
    return Language(oid, name, owner, acl)
