"""UNPIVOT: columns become rows of a name and a value, as in DuckDB. Rows whose value is NULL are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.text_literal import quote_literal
from gpudb.sql.bind.query.table_expressions.source import Source, list_names, read_named
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.friendly.pivot import ON
from gpudb.sql.parse.friendly.unpivot import INTO, NULLS
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.sql.parse.templates import add_target, fill_template, make_column


def unpivot(source: Source) -> Any:
    """Returns the query of an UNPIVOT."""
    ((name_node, *value_nodes),) = source.arguments(INTO)
    (items,) = source.arguments(ON)
    if len(value_nodes) != 1:
        raise source.locate(FeatureNotSupported("UNPIVOT into several columns of values is not supported"))
    name, value = (strings(inner(each).fields)[-1] for each in (name_node, value_nodes[0]))
    columns = [found for each in items for found in _list_columns(source, each)]
    read = {each for node, _ in columns for each in list_names(node)}
    kept = [each.name for each in source.columns if each.name not in read]
    made = _write_rows(source, kept, columns)
    condition = "" if source.arguments(NULLS) else " WHERE made.v IS NOT NULL"
    query = fill_template(f'SELECT FROM "$made" AS made{condition}', {"$made": made})
    for number, shown in enumerate(kept, 1):
        add_target(query, make_column("made", f"k{number}"), shown)
    add_target(query, make_column("made", "n"), name)
    add_target(query, make_column("made", "v"), value)
    return query


def _write_rows(source: Source, kept: Sequence[str], columns: Sequence[tuple[Any, str]]) -> Any:
    """Returns the query of the rows with NULLs: the kept columns as k1 …, the name as n, the value as v.

    Its own names are not in scope where the user's expressions are.
    """
    computed = fill_template('SELECT FROM "$source" AS unpivoted', {"$source": source.node})
    for number, each in enumerate(kept, 1):
        add_target(computed, make_column("unpivoted", each), f"k{number}")
    names, values, parts = list[str](), list[str](), {"$computed": computed}
    for number, (node, shown) in enumerate(columns, 1):
        add_target(computed, node, f"v{number}")
        parts[f"$v{number}"] = make_column("computed", f"v{number}", location=expression_location(node))
        names.append(f"WHEN {number} THEN {quote_literal(shown)}")
        values.append(f'WHEN {number} THEN "$v{number}"')
    targets = [f"computed.k{number}" for number in range(1, len(kept) + 1)]
    targets += [f"CASE places.place {' '.join(names)} END AS n", f"CASE places.place {' '.join(values)} END AS v"]
    numbers = ", ".join(f"({number})" for number in range(1, len(columns) + 1))
    rows = f'FROM "$computed" AS computed CROSS JOIN (VALUES {numbers}) AS places (place)'
    return fill_template(f"SELECT {', '.join(targets)} {rows}", parts)


def _list_columns(source: Source, node: Any) -> Sequence[tuple[Any, str]]:
    """Returns the expressions of an item and their names: that of a column, of COLUMNS, or one that is given."""
    expression, name = read_named(node)
    if kind(expression) == "row_expr":
        error = FeatureNotSupported("UNPIVOT of several columns at once is not supported")
        raise source.binder.locate(error, expression_location(expression))
    if kind(expression) == "func_call" and strings(inner(expression).funcname) == (COLUMNS,):
        select = fill_template(
            'SELECT "$columns" FROM "$source" AS unpivoted', {"$columns": expression, "$source": source.node}
        )
        found = [each.name for each in source.binder.bind_query(select, source.scope).columns]
        return [(make_column("unpivoted", each), each) for each in found]
    if name is None and kind(expression) == "column_ref" and kind(inner(expression).fields[-1]) == "string":
        name = strings(inner(expression).fields)[-1]
    if name is None:
        unnamed = SqlError.of("syntax_error", "an expression that UNPIVOT turns into rows needs a name (AS)")
        raise source.binder.locate(unnamed, expression_location(expression))
    return [(expression, name)]
