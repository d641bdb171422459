"""Completions of SQL for the prompt: names that fit the cursor's place, those of the statement's relations first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from gpudb.cli.backslash import COMMANDS
from gpudb.cli.completion.context import Expected, Place, Reference, find_place
from gpudb.cli.completion.files import FilePlace, find_file_place, list_files
from gpudb.cli.completion.names import Names, Relation, get_keywords, quote_if_needed

MOST = 200
"""Completions that are offered at once."""
_OWN_KEYWORDS = ("qualify", "distribute")
_FIRST_WORDS = (
    "select insert update delete create alter drop with explain begin commit rollback copy truncate set show grant "
    "revoke analyze vacuum table values merge declare fetch close prepare execute deallocate comment reset start"
).split()
_FREQUENT = (
    "where from join left on using group order by having limit as and or not null is in between like distinct case "
    "when then else end values set union over partition qualify"
).split()
_Candidate = tuple[int, str, str]
"""Rank of its kind, text, kind or type."""


class SqlCompleter(Completer):
    """Offers names that contain the typed letters in their order, the nearest match first. `names` may be replaced.

    Where a file's name is expected, those of the folder that is typed are offered instead.
    """

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yields the completions at the cursor, best first; unasked only where something is typed."""
        file = find_file_place(document.text_before_cursor)
        if file is not None:
            if not complete_event.completion_requested and not file.text:
                return
            yield from _complete_file(file)
            return
        place = find_place(document.text_before_cursor, document.text_after_cursor)
        if not complete_event.completion_requested and not place.prefix and not place.qualifier:
            return
        upper = place.prefix[:1].isupper() or not place.prefix
        found = []
        for rank, text, kind in set(self._list_candidates(place)):
            shown = text.upper() if kind == "keyword" and upper else text
            match = _match(place.prefix, text)
            if match is not None:
                found.append((*match[:1], rank, *match[1:], shown, kind))
        for *_, text, kind in sorted(found)[:MOST]:
            yield Completion(text, -len(place.prefix), display_meta=kind)

    def _list_candidates(self, place: Place) -> Iterator[_Candidate]:
        names, expected = self.names, place.expected
        if expected is Expected.NOTHING:
            return
        if expected is Expected.COMMAND:
            yield from ((0, text, "command") for text in COMMANDS)
            return
        if place.qualifier:
            yield from self._list_qualified(place)
            return
        if expected is Expected.RELATION:
            yield from self._list_relations()
            yield from ((2, quote_if_needed(each), "schema") for each in names.schemas)
            yield from ((0, quote_if_needed(each), "cte") for each in place.expressions)
            return
        elif expected is Expected.TYPE:
            yield from ((0, each, "type") for each in names.types)
        elif expected is Expected.SETTING:
            yield from ((0, each, "setting") for each in names.settings)
        elif expected is Expected.SCHEMA:
            yield from ((0, quote_if_needed(each), "schema") for each in names.schemas)
        elif expected is Expected.ROLE:
            yield from ((0, quote_if_needed(each), "role") for each in names.roles)
        elif expected is Expected.COMMON_COLUMN:
            yield from ((0, quote_if_needed(name), kind) for name, kind in self._find_common(place))
            return
        elif expected is Expected.TARGET_COLUMN:
            yield from self._list_columns(place.references[:1])
            return
        elif expected in {Expected.COLUMN, Expected.JOIN_CONDITION}:
            if expected is Expected.JOIN_CONDITION:
                yield from ((-1, text, "join") for text in self._list_join_conditions(place.references))
            yield from self._list_columns(place.references)
            yield from ((2, quote_if_needed(each.alias), "table") for each in place.references if each.alias)
            yield from ((3, each + "(", "function") for each in names.functions)
        frequent = _FREQUENT if place.references or expected is not Expected.KEYWORD else _FIRST_WORDS
        words: Iterable[str] = (*get_keywords(), *_OWN_KEYWORDS)
        yield from ((3 if each in frequent else 4, each, "keyword") for each in words)

    def _list_qualified(self, place: Place) -> Iterator[_Candidate]:
        """Candidates after a point: columns of a relation of the statement, or relations of a schema."""
        last = place.qualifier[-1]
        if place.expected is not Expected.RELATION:
            yield from self._list_columns([each for each in place.references if each.alias == last])
        for each in self.names.relations:
            if each.schema == last:
                yield 1, quote_if_needed(each.name), _describe(each)

    def _list_relations(self) -> Iterator[_Candidate]:
        hidden = {"pg_catalog", "information_schema"}
        for each in self.names.relations:
            if each.schema in self.names.path:
                yield 3 if each.schema in hidden else 0, quote_if_needed(each.name), _describe(each)

    def _get_columns(self, reference: Reference) -> dict[str, str]:
        if reference.columns is not None:
            return dict.fromkeys(reference.columns, "column")
        relation = self.names.find(reference.schema, reference.name)
        return dict(relation.columns) if relation is not None else {}

    def _list_columns(self, references: Iterable[Reference]) -> Iterator[_Candidate]:
        for each in references:
            yield from ((0, quote_if_needed(name), kind) for name, kind in self._get_columns(each).items())

    def _find_common(self, place: Place) -> list[tuple[str, str]]:
        """The columns of the last relation that another one has too."""
        *others, last = [self._get_columns(each) for each in place.references] or [{}]
        return [(name, kind) for name, kind in last.items() if any(name in each for each in others)]

    def _list_join_conditions(self, references: Iterable[Reference]) -> Iterator[str]:
        """Conditions between the last relation and the others: by foreign keys, then by equal names."""
        *others, last = [*references] or [Reference("", "", "")]
        for other in others:
            for key in self.names.foreign_keys:
                ends = {key.source[1]: key.source[2], key.target[1]: key.target[2]}
                if last.name in ends and other.name in ends and last.name != other.name:
                    yield _equal(other, ends[other.name], last, ends[last.name])
            for name in self._get_columns(last):
                if name in self._get_columns(other):
                    yield _equal(other, name, last, name)


def _complete_file(place: FilePlace) -> Iterator[Completion]:
    """Yields the files and folders whose names begin as the last part of a path does."""
    for each in list_files(place.text):
        yield Completion(
            each.name.replace("'", "''") if place.is_quoted else each.name,
            -len(place.last),
            display=each.name,
            display_meta="folder" if each.is_folder else "file",
        )


def _equal(left: Reference, left_name: str, right: Reference, right_name: str) -> str:
    sides = [(left.alias, left_name), (right.alias, right_name)]
    return " = ".join(f"{quote_if_needed(alias)}.{quote_if_needed(name)}" for alias, name in sides)


def _describe(relation: Relation) -> str:
    return {"v": "view", "m": "materialized view"}.get(relation.kind, "table")


def _match(prefix: str, text: str) -> tuple[int, int, int] | None:
    """How well a text matches: whether it does not begin with the prefix, the span and the start of its letters."""
    wanted, given = prefix.strip('"').lower(), text.strip('"').lower()
    if given.startswith(wanted):
        return 0, 0, 0
    found = min(
        re.finditer(f"(?=({'.*?'.join(map(re.escape, wanted))}))", given), key=lambda each: len(each[1]), default=None
    )
    return None if found is None else (1, len(found[1]), found.start())
