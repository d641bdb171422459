"""The way of a statement from DuckDB's dialect to a text that gpudb binds."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import postgast

from gpudb.errors import FeatureNotSupported, GpudbError, SyntaxError_, UndefinedColumn
from gpudb.lru import LruCache
from gpudb.server.http.console.dialect.aliases import Use, find_use, resolve_use
from gpudb.server.http.console.dialect.spelling import read_describe, respell
from gpudb.server.http.console.dialect.trees import drop_grouped_stars, replace_dialect

_MAX_USES = 200
_CREATES = frozenset({"create_table_as_stmt", "create_schema_stmt", "view_stmt", "create_stmt"})


class Translation(NamedTuple):
    """A query in PostgreSQL's dialect; `describes` if its columns are asked for. `shape` is its text
    without constants, before names have taken their expressions' places.
    """

    sql: str
    describes: bool
    shape: str


_uses: LruCache[str, tuple[Use, ...]] = LruCache(1000)
"""The uses that statements of a shape were found to have."""
_lock = threading.Lock()


def translate(sql: str) -> Translation:
    """Returns the translation of one query. 42601 for a text that cannot be read, 0A000 for other statements."""
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
    text = postgast.deparse(tree)
    shape = postgast.normalize(text)
    if uses := _uses.get(shape):
        for use in uses:
            resolve_use(tree, use)
        text = postgast.deparse(tree)
    return Translation(text, described is not None, shape)


def resolve(translation: Translation, error: GpudbError) -> Translation:
    """Returns a translation in which the name that an error tells has its expression; raises the error for others."""
    if not isinstance(error, UndefinedColumn) or not error.position:
        raise error
    text = translation.sql
    tree = _parse(text)
    use = find_use(tree, len(text[: error.position - 1].encode()))
    with _lock:
        known = _uses.get(translation.shape) or ()
        if use is None or len(known) >= _MAX_USES:
            raise error
        if use not in known:
            _uses.put(translation.shape, (*known, use))
    resolve_use(tree, use)
    found = postgast.deparse(tree)
    if found == text:
        raise error
    return translation._replace(sql=found)


def _parse(text: str) -> Any:
    try:
        return postgast.parse(text)
    except postgast.PgQueryError as error:
        message = str(error).splitlines()[0]
        raise SyntaxError_(message, position=getattr(error, "cursorpos", None) or None) from None
