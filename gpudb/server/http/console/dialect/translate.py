"""The way of a statement from DuckDB's dialect to a text that gpudb binds."""

from __future__ import annotations

from typing import Any, NamedTuple

import postgast

from gpudb.catalog.parse_trees import deparse_tree
from gpudb.errors import FeatureNotSupported, GpudbError, SyntaxError_, UndefinedColumn
from gpudb.lru import LruCache
from gpudb.server.http.console.dialect.aliases import find_use, resolve_use
from gpudb.server.http.console.dialect.spelling import read_describe, respell
from gpudb.server.http.console.dialect.templates import Shape, fill, find_shape, split_marks
from gpudb.server.http.console.dialect.trees import drop_grouped_stars, replace_dialect
from gpudb.sql.parse.tokens import split_tokens

_CREATES = frozenset({"create_table_as_stmt", "create_schema_stmt", "view_stmt", "create_stmt"})


class _Template(NamedTuple):
    """The translation of all texts of a shape, with marks in its holes, whole and in parts."""

    text: str
    describes: bool
    parts: tuple[str | int, ...]


class Translation(NamedTuple):
    """A query in PostgreSQL's dialect; `describes` if its columns are asked for."""

    sql: str
    describes: bool
    shape: Shape | None = None


_templates: LruCache[str, _Template] = LruCache(1000)


def translate(sql: str) -> Translation:
    """Returns the translation of one query. 42601 for a text that cannot be read, 0A000 for other statements."""
    shape = find_shape(sql, split_tokens(sql))
    if shape is None:
        return Translation(*_translate(sql))
    template = _templates.get(shape.key)
    if template is None:
        try:
            text, describes = _translate(shape.marked)
        except GpudbError:
            return Translation(*_translate(sql))  # whose error names the constants
        template = _Template(text, describes, split_marks(text))
        _templates.put(shape.key, template)
    return Translation(fill(template.parts, shape.constants), template.describes, shape)


def _translate(sql: str) -> tuple[str, bool]:
    """Returns the translation of a text, and whether its columns are asked for."""
    described = read_describe(sql)
    tree = _parse(respell(sql if described is None else described))
    if len(tree.stmts) != 1:
        raise SyntaxError_("a chart asks one query at a time")
    kind = tree.stmts[0].stmt.WhichOneof("node")
    if kind in _CREATES:
        hint = "Turn pre-aggregation off: charts are computed from the rows of the tables."
        raise FeatureNotSupported("charts create nothing in the database", hint=hint)
    if kind != "select_stmt":
        raise FeatureNotSupported("charts ask queries alone")
    if described is not None:
        drop_grouped_stars(tree)
    replace_dialect(tree)
    return deparse_tree(tree), described is not None


def resolve(translation: Translation, error: GpudbError) -> Translation:
    """Returns a translation in which the name that an error tells is known; raises the error for others.

    Later texts of its shape have it at once.
    """
    if not isinstance(error, UndefinedColumn) or not error.position:
        raise error
    text, shape = translation.sql, translation.shape
    tree = _parse(text)
    use = find_use(tree, len(text[: error.position - 1].encode()))
    if use is None:
        raise error
    resolve_use(tree, use)
    found = deparse_tree(tree)
    if found == text:
        raise error
    template = None if shape is None else _templates.get(shape.key)
    if shape is not None and template is not None and fill(template.parts, shape.constants) == text:
        tree = _parse(template.text)
        resolve_use(tree, use)
        marked = deparse_tree(tree)
        _templates.put(shape.key, _Template(marked, template.describes, split_marks(marked)))
    return translation._replace(sql=found)


def _parse(text: str) -> Any:
    try:
        return postgast.parse(text)
    except postgast.PgQueryError as error:
        message = str(error).splitlines()[0]
        raise SyntaxError_(message, position=getattr(error, "cursorpos", None) or None) from None
