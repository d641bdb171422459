"""PostgreSQL 16's own data as generated tables: the rows and views of its system catalogs, error codes, time zones.

`python -m gpudb.pgdata.make` generates the `.tsv` files from a running PostgreSQL 16; none is edited by hand. They
determine which operator, function and cast a statement means (`gpudb.functions.resolve`) and which SQLSTATE an error
carries (`gpudb.errors`), and they fill `pg_catalog`. This room imports no other room of gpudb.

What gpudb adds to PostgreSQL's rows is in `added`, by hand: types, functions, operators and casts, under OIDs that
PostgreSQL leaves free (11000 to 11999). Its files have the columns that matter; `added/defaults.json` has the rest.

A file named after a relation holds its rows in a new database. The others are `columns` (of every relation), `views`
(their definitions), `settings`, `keywords`, `errcodes`, `stop_words`, `timezone_abbrev`, `moving_abbrev`, and
`*_definitions` and `*_signatures`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Table:
    """A generated table: the names of its columns, and lines of cells in COPY's text form. Arrays are JSON lists."""

    columns: tuple[str, ...]
    lines: list[list[str]]

    def column(self, name: str) -> list[str | None]:
        """Returns a column's values; None is NULL."""
        index = self.columns.index(name)
        cells = [line[index] for line in self.lines]
        return [cell if "\\" not in cell else None if cell == r"\N" else _decode(cell) for cell in cells]

    def select(self, *names: str) -> Iterator[tuple[str, ...]]:
        """Yields some columns of every row; NULL is ''."""
        return zip(*([cell or "" for cell in self.column(name)] for name in names), strict=True)

    def arrays(self, name: str) -> list[list[str]]:
        """Returns the values of a column of arrays; NULL is an empty list."""
        values: list[list[str]] = json.loads(f"[{','.join(cell or '[]' for cell in self.column(name))}]")
        return values

    def rows(self) -> Iterator[dict[str, str | None]]:
        """Yields every row as a mapping from column to value; None is NULL."""
        for values in zip(*map(self.column, self.columns), strict=True):
            yield dict(zip(self.columns, values, strict=True))


def load_table(name: str) -> Table:
    """Returns a table by its file's stem: PostgreSQL's rows, and after them those that gpudb adds."""
    table = parse_table(files(__name__).joinpath(f"{name}.tsv").read_text(encoding="utf-8"))
    added = files(__name__).joinpath("added", f"{name}.tsv")
    if not added.is_file():
        return table
    return Table(table.columns, table.lines + _complete(name, table.columns, added.read_text(encoding="utf-8")))


def load_added(name: str) -> Table:
    """Returns the rows alone that gpudb adds to a table of PostgreSQL's, with all of its columns."""
    with files(__name__).joinpath(f"{name}.tsv").open(encoding="utf-8") as file:
        columns = tuple(file.readline().rstrip("\n").split("\t"))
    text = files(__name__).joinpath("added", f"{name}.tsv").read_text(encoding="utf-8")
    return Table(columns, _complete(name, columns, text))


def _complete(name: str, columns: tuple[str, ...], text: str) -> list[list[str]]:
    """Returns added rows with defaults in the columns that their file lacks."""
    table = parse_table(text)
    defaults = json.loads(files(__name__).joinpath("added", "defaults.json").read_text(encoding="utf-8"))[name]
    rows = (dict(zip(table.columns, line, strict=True)) for line in table.lines)
    return [[row.get(column, "") or defaults[column] for column in columns] for row in rows]


def table_exists(name: str) -> bool:
    """Whether there is a file of this stem: system relations without rows in a new database have none."""
    return files(__name__).joinpath(f"{name}.tsv").is_file()


def parse_table(text: str) -> Table:
    """Returns a table in the form of the generated ones: names of columns in the first line, tabs between cells."""
    columns, *lines = [line.split("\t") for line in text.split("\n")[:-1]]
    return Table(tuple(columns), lines)


def _decode(cell: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), cell)


_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r"}
