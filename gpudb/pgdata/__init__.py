"""PostgreSQL 16's own facts: error codes, types, casts, operators and functions, as generated tables.

`system/` holds the rows and views of pg_catalog and information_schema. The `.tsv` files are made by
`python -m gpudb.pgdata.make` from a running PostgreSQL 16; none is edited by hand.
They decide which operator, function and cast a statement means (`gpudb.functions.resolve`), which SQLSTATE an
error carries (`gpudb.errors`), and they fill `pg_catalog`. Nothing here imports anything of gpudb.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of one generated table, each a mapping of column to its text; absent values are ''.

    `name` is the file's stem: `errcodes`, `type`, `proc`, `aggregate`, `operator` or `cast`.
    """
    lines = files(__name__).joinpath(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    header = lines[0].split("\t")
    return tuple(dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:])


def system(name: str) -> tuple[list[str], list[list[str | None]]] | None:
    """The columns and rows of a file of `system/`, COPY's escapes undone; None if there is no such file.

    A file named after a relation holds its rows in a new database, arrays as JSON lists. Beside them: `columns` (of
    every relation), `views` (their definitions), `settings`, `keywords`, and `*_definitions` and `*_signatures`.
    """
    path = files(__name__).joinpath("system", f"{name}.tsv")
    if not path.is_file():
        return None
    header, *lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    rows: list[list[str | None]] = [[None if cell == r"\N" else cell for cell in line.split("\t")] for line in lines]
    for row in rows:
        for index, cell in enumerate(row):
            if cell is not None and "\\" in cell:
                row[index] = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), cell)
    return header.split("\t"), rows


_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r"}
