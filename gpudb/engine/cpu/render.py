"""Bound queries as DuckDB SQL. Output columns are named c1, c2, …; relation 7 is r7, WITH query 3 is w3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from itertools import count
from typing import Any

from gpudb.duckdb.column_names import quote_columns
from gpudb.duckdb.expressions.renderer import ExpressionRenderer, sort_direction
from gpudb.duckdb.literals import quote_identifier
from gpudb.duckdb.rendered_sql import pack, unpack
from gpudb.engine.cpu.aggregate_inputs import compute_inputs_first, has_movable_inputs
from gpudb.engine.cpu.null_order import MayBeNull, order_nulls_last
from gpudb.engine.cpu.regrouping import needs_regrouping, regroup
from gpudb.engine.cpu.values_tables import values_table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import equality
from gpudb.functions.equality import has_many_representations
from gpudb.functions.registry import MISSING, fill_template, get_implementation
from gpudb.sql import bound
from gpudb.sql.asof_joins import AsofJoin, find_asof_join
from gpudb.sql.rewrite import rewrite_for_engine
from gpudb.sql.traverse import reads_columns, walk
from gpudb.storage.files.reader_sql import render_files
from gpudb.storage.iceberg.scan import FILE_COLUMN, ROW_COLUMN
from gpudb.type_dispatch import dispatch_on_type
from gpudb.types import SqlType

_MAX_ROWS = 1 << 62  # DuckDB's maximum
_FIRST_RELATION = 1 << 20
"""First number of relations that the renderer creates."""
_CLAUSES = {"LIMIT": "limit", "OFFSET": "result_offset"}
TableSource = Callable[[bound.Scan, bound.Expr | None], str]


class QueryRenderer:
    """Renders one statement.

    `table` returns the SQL relation of a table's snapshot, with its columns as `quote_columns` names them, given the
    WHERE of its query. `system` returns that of a system relation, given its name and those of the columns that the
    statement reads. `files` returns that of files, `frames` the names of a frame's columns. `check` raises if the
    statement is canceled. `values_tables` collects long VALUES lists as tables, by name. `slot` returns the SQL of a
    parameter whose value is written later, else None. `may_be_null` tells of columns of tables whether they may have
    NULLs.
    """

    def __init__(
        self,
        table: TableSource,
        system: Callable[[str, Collection[str]], str],
        parameters: Sequence[object] = (),
        values: Mapping[str, object] | None = None,
        *,
        narrow: bool = False,
        check: Callable[[], None] = lambda: None,
        values_tables: dict[str, object] | None = None,
        files: Callable[[bound.FileScan], str] = lambda scan: f"({render_files(scan.files)})",
        frames: Callable[[str], Sequence[str]] = lambda name: (),
        slot: Callable[[bound.Parameter], str | None] | None = None,
        may_be_null: MayBeNull = lambda scan, index: True,
    ) -> None:
        self._table = table
        self._may_be_null = may_be_null
        self._files = files
        self._frames = frames
        self._system = system
        self._parameters = parameters
        self._values = values or {}
        self._narrow = narrow
        self._check = check
        self._values_tables = values_tables
        self._slot = slot
        self._columns: dict[int, tuple[str, ...]] = {}
        # Of ASOF joins: when a row is near enough, by its relation, and the SQL of columns
        self._guards: dict[int, str] = {}
        self._outputs: dict[tuple[int, int], str] = {}
        self._where: bound.Expr | None = None
        self._relation_numbers = count(_FIRST_RELATION)
        self._whole: bound.Query | None = None
        self._read: Set[tuple[int, int]] | None = None

    def render(self, query: bound.Query) -> str:
        """Renders the whole query; its columns c1, c2, … are of `SqlType.duckdb`."""
        self._whole, self._read = rewrite_for_engine(query), None
        return self.render_query(self._whole)

    def _reads(self, source: bound.SystemScan | bound.FrameScan) -> list[str]:
        """Returns the names of the columns of a relation that the statement reads."""
        if self._read is None and self._whole is not None:
            self._read = {(node.rel, node.index) for node in walk(self._whole) if isinstance(node, bound.Column)}
        read = self._read
        return [c.name for n, c in enumerate(source.columns) if read is None or (source.rel, n) in read]

    def _expression_renderer(self, grouped: tuple[bound.Expr, ...] = (), sets: bool = False) -> ExpressionRenderer:
        return ExpressionRenderer(
            self._render_column,
            self.render_query,
            self._parameters,
            self._values,
            grouped,
            sets,
            self._narrow,
            check_cancel=self._check,
            slot=self._slot,
        )

    def _render_column(self, column: bound.Column) -> str:
        output = self._outputs.get((column.rel, column.index))
        if output is not None:
            return output
        text = f"r{column.rel}.{self._columns[column.rel][column.index]}"
        guard = self._guards.get(column.rel)
        return text if guard is None else f"(CASE WHEN {guard} THEN {text} END)"

    # -------------------------------------------------------------------------------------------- queries

    def render_query(self, query: bound.Query) -> str:
        """Renders a query at any level."""
        return self._render_ctes(query.ctes) + self._render_body(query)

    def _render_ctes(self, ctes: Sequence[bound.Cte]) -> str:
        if not ctes:
            return ""
        parts = []
        for cte in ctes:
            names = ", ".join(f"c{i}" for i in range(1, len(cte.query.columns) + 1)) or "c0"
            how = {True: " MATERIALIZED", False: " NOT MATERIALIZED", None: ""}[cte.materialized]
            parts.append(f"w{cte.number}({names}) AS{how} ({self._render_cte(cte)})")
        recursive = "RECURSIVE " if any(cte.recursive for cte in ctes) else ""
        return f"WITH {recursive}{', '.join(parts)} "

    def _render_cte(self, cte: bound.Cte) -> str:
        """Renders a WITH query.

        A recursive UNION over types with several representations keeps the first of equal rows: DuckDB itself would
        take each representation for another row.
        """
        query = cte.query
        several = any(has_many_representations(column.type) for column in query.columns)
        if not cte.recursive or not isinstance(query, bound.SetOperation) or query.all or not several:
            return self.render_query(query)
        names, keys = ", ".join(f"c{n}" for n in range(1, len(query.columns) + 1)), _keys(query, "s.")
        first, second = (
            f"SELECT DISTINCT ON ({', '.join(keys)}) s.* FROM ({self.render_query(each)}) AS s({names})"
            for each in (query.left, query.right)
        )
        known = (f"{one} IS NOT DISTINCT FROM {other}" for one, other in zip(_keys(query, "r."), keys, strict=True))
        return f"({first}) UNION ALL ({second} ANTI JOIN recurring.w{cte.number} AS r ON {' AND '.join(known)})"

    @dispatch_on_type
    def _render_body(self, query: Any) -> str:
        raise FeatureNotSupported(f"{type(query).__name__} is not supported")

    @_render_body.register
    def _(self, query: bound.Select) -> str:
        query = order_nulls_last(query, self._may_be_null)
        if has_movable_inputs(query):
            query = compute_inputs_first(query, next(self._relation_numbers))
        if needs_regrouping(query):
            query = regroup(query, next(self._relation_numbers))
        outer, self._where = self._where, query.where
        source = self._render_from(query.source) if query.source is not None else ""
        self._where = outer
        several = tuple(key for key in query.group_by if has_many_representations(key.type))
        plain, renderer = (
            self._expression_renderer(),
            self._expression_renderer(several, query.grouping_sets is not None),
        )
        if query.distinct is True and any(has_many_representations(each.type) for each in query.targets):
            # 1.0 and 1.00 are one value; either may be shown.
            head = f"DISTINCT ON ({', '.join(_distinct_key(renderer, each) for each in query.targets)}) "
        elif query.distinct is True:
            head = "DISTINCT "
        elif query.distinct:
            head = f"DISTINCT ON ({', '.join(_distinct_key(renderer, each) for each in query.distinct)}) "
        else:
            head = ""
        # A grouping or sort key must have the same SQL in both places.
        shown = replace(renderer, lazy=not (query.group_by or query.distinct))
        targets = [shown.render_packed(each) for each in query.targets]
        listed = ", ".join(f"{each} AS c{n}" for n, each in enumerate(targets, 1))
        text = f"SELECT {head}{listed or 'NULL AS c0'}"
        text += f" FROM {source}" if source else ""
        text += f" WHERE {plain.render_value(query.where)}" if query.where is not None else ""
        text += self._render_group_by(query, plain, targets)
        if conditions := self._render_having(query, renderer):
            text += f" HAVING {' AND '.join(conditions)}"
        if query.distinct is True and query.order_by and any(_sorts_differently(each.type) for each in query.targets):
            names = ", ".join(f"c{n}" for n in range(1, len(query.targets) + 1))
            keys = [(query.targets.index(key.expr), key.descending, key.nulls_first) for key in query.order_by]
            return f"SELECT * FROM ({text}) AS s({names}){self._render_order_and_limit(query, keys)}"
        text += self._render_order_by(query, shown)
        return text + self._render_limit(query)

    def _render_group_by(self, query: bound.Select, renderer: ExpressionRenderer, targets: Sequence[str]) -> str:
        keys = [renderer.render_key(key) for key in query.group_by]
        if query.grouping_sets is not None:
            sets = ", ".join(f"({', '.join(keys[i] for i in each)})" for each in query.grouping_sets)
            return f" GROUP BY GROUPING SETS ({sets})"
        # A constant key would be taken for a position. DuckDB binds a key that is a position once, not in both places.
        positions = {target: str(number) for number, target in enumerate(targets, 1)}
        keys = [
            positions.get(key, key) if reads_columns(expr) else f"({key})"
            for key, expr in zip(keys, query.group_by, strict=True)
        ]
        if keys:
            return f" GROUP BY {', '.join(keys)}"
        # An aggregate without keys returns one row, even if its SQL contains no aggregate (`pg_typeof(sum(x))`).
        return " GROUP BY ()" if query.grouped else ""

    @staticmethod
    def _render_having(query: bound.Select, renderer: ExpressionRenderer) -> list[str]:
        conditions = [] if query.having is None else [f"({renderer.render_value(query.having)})"]
        if query.grouping_sets is not None and not any(query.grouping_sets):
            # DuckDB takes several empty sets for one where nothing is aggregated
            conditions.append("count(*) >= 0")
        return conditions

    def _render_order_by(self, query: bound.Select, renderer: ExpressionRenderer) -> str:
        if not query.order_by:
            return ""
        if query.distinct is True:
            keys = [
                f"{query.targets.index(key.expr) + 1}{sort_direction(key.descending, key.nulls_first)}"
                for key in query.order_by
            ]
            return f" ORDER BY {', '.join(keys)}"
        keys = []
        for key in query.order_by:
            if any(isinstance(n, bound.SetReturning) for n in walk(key.expr)):
                text = str(query.targets.index(key.expr) + 1)
            elif isinstance(key.expr, bound.Constant | bound.Parameter):
                continue
            else:
                text = equality.render_sort_key(renderer.render_value(key.expr), key.expr.type)
            keys.append(text + sort_direction(key.descending, key.nulls_first))
        return f" ORDER BY {', '.join(keys)}" if keys else ""

    @_render_body.register
    def _(self, query: bound.SetOperation) -> str:
        every = " ALL" if query.all else ""
        several = [index for index, column in enumerate(query.columns, 1) if has_many_representations(column.type)]
        text = f"({self.render_query(query.left)}) {query.op}{every} ({self.render_query(query.right)})"
        if several and query.op != "UNION":
            text = self._render_intersect_or_except(query)
        elif several and not query.all:
            listed = [f"c{n}" for n in range(1, len(query.columns) + 1)]
            sides = (
                f"SELECT *, {n} FROM ({self.render_query(each)})" for n, each in enumerate((query.left, query.right))
            )
            # of equal values the left one is shown
            shown = (
                f"arg_min({name}, pg_side) AS {name}" if n in several else name for n, name in enumerate(listed, 1)
            )
            text = (
                f"SELECT {', '.join(shown)} FROM ({' UNION ALL '.join(sides)}) AS s({', '.join(listed)}, pg_side)"
                f" GROUP BY {', '.join(_keys(query))}"
            )
        if query.order_by or query.limit is not None or query.offset is not None:
            names = ", ".join(f"c{n}" for n in range(1, len(query.columns) + 1)) or "c0"
            text = f"SELECT * FROM ({text}) AS s({names})" + self._render_order_and_limit(query, query.order_by)
        return text

    def _render_intersect_or_except(self, query: bound.SetOperation) -> str:
        """Renders INTERSECT or EXCEPT by value, for types with several representations; left rows are shown."""
        names = [f"c{n}" for n in range(1, len(query.columns) + 1)]
        keys = ", ".join(_keys(query))
        sides = []
        for side, alias in ((query.left, "l"), (query.right, "r")):
            rows = f"SELECT * FROM ({self.render_query(side)}) AS {alias}({', '.join(names)})"
            if query.all:
                # of duplicate rows the first matches the first
                rows = f"SELECT *, row_number() OVER (PARTITION BY {keys}) AS pg_n FROM ({rows})"
            sides.append(f"({rows}) AS {alias}")
        on = [f"{a} IS NOT DISTINCT FROM {b}" for a, b in zip(_keys(query, "l."), _keys(query, "r."), strict=True)]
        on += ["l.pg_n = r.pg_n"] if query.all else []
        how = "SEMI" if query.op == "INTERSECT" else "ANTI"
        head = "" if query.all else f"DISTINCT ON ({keys}) "
        return f"SELECT {head}{', '.join(names)} FROM {sides[0]} {how} JOIN {sides[1]} ON {' AND '.join(on)}"

    @_render_body.register
    def _(self, query: bound.Values) -> str:
        if self._values_tables is not None and (long := values_table(query, self._parameters)) is not None:
            source = f"values {len(self._values_tables) + 1}"
            self._values_tables[source] = long
            return f"SELECT * FROM {quote_identifier(source)}" + self._render_order_and_limit(query, query.order_by)
        renderer = self._expression_renderer()
        rows = ", ".join(f"({', '.join(renderer.render_packed(each) for each in row)})" for row in query.rows)
        names = ", ".join(f"c{n}" for n in range(1, len(query.columns) + 1))
        return f"SELECT * FROM (VALUES {rows}) AS s({names})" + self._render_order_and_limit(query, query.order_by)

    def _render_order_and_limit(self, query: bound.Query, order_by: Sequence[tuple[int, bool, bool]]) -> str:
        """Renders ORDER BY output columns, then LIMIT and OFFSET."""
        keys = []
        for index, descending, nulls_first in order_by:
            column = f"c{index + 1}.v" if query.columns[index].type.is_carried else f"c{index + 1}"
            keys.append(
                equality.render_sort_key(column, query.columns[index].type) + sort_direction(descending, nulls_first)
            )
        return (f" ORDER BY {', '.join(keys)}" if keys else "") + self._render_limit(query)

    def _render_limit(self, query: bound.Query) -> str:
        renderer = self._expression_renderer()
        text = ""
        for word, expr in (("LIMIT", query.limit), ("OFFSET", query.offset)):
            if expr is None or (isinstance(expr, bound.Constant) and expr.value is None):
                continue
            known = expr.value if isinstance(expr, bound.Constant) else None
            if isinstance(expr, bound.Parameter):
                known = self._parameters[expr.number - 1]
                if known is None:
                    continue
            if isinstance(known, int):
                if known < 0:
                    raise SqlError.of(f"invalid_row_count_in_{_CLAUSES[word]}_clause", f"{word} must not be negative")
                text += f" {word} {min(known, _MAX_ROWS)}"
            else:
                none = _MAX_ROWS if word == "LIMIT" else 0
                count = f"coalesce(pg_row_count({renderer.render_value(expr)}, '{word}'), {none})"
                text += f" {word} (SELECT least({count}, {_MAX_ROWS}))"
        # DuckDB drops a LIMIT without OFFSET above a join with a side that it knows to be empty
        return f"{text} OFFSET 0" if text and "OFFSET" not in text else text

    # -------------------------------------------------------------------------------------------- relations

    @dispatch_on_type
    def _render_from(self, source: Any) -> str:
        raise FeatureNotSupported(f"{type(source).__name__} in FROM is not supported")

    def _number_columns(self, rel: int, width: int) -> str:
        self._columns[rel] = tuple(f"c{n}" for n in range(1, width + 1))
        return ", ".join(self._columns[rel])

    @_render_from.register
    def _(self, source: bound.Scan) -> str:
        names = quote_columns([column.name for column in source.table.columns])
        self._columns[source.rel] = (*names, quote_identifier(FILE_COLUMN), quote_identifier(ROW_COLUMN))
        return f"{self._table(source, self._where)} AS r{source.rel}"

    @_render_from.register
    def _(self, source: bound.SystemScan) -> str:
        self._columns[source.rel] = tuple(quote_identifier(column.name) for column in source.columns)
        return f"{self._system(source.name, self._reads(source))} AS r{source.rel}"

    @_render_from.register
    def _(self, source: bound.FrameScan) -> str:
        held = self._frames(source.name)
        named = dict(zip(held, quote_columns(held), strict=True))
        self._columns[source.rel] = tuple(named.get(c.name) or quote_identifier(c.name) for c in source.columns)
        frame = quote_identifier("frame " + source.name)
        # Arrow has labels as texts, which sort otherwise. A frame may lack columns that nothing reads.
        read = self._reads(source)
        labels = [(named[c.name], c.type) for c in source.columns if c.type.labels and c.name in read]
        if labels:
            casts = ", ".join(f"CAST({name} AS {kind.duckdb}) AS {name}" for name, kind in labels)
            frame = f"(SELECT * REPLACE ({casts}) FROM {frame})"
        return f"{frame} AS r{source.rel}"

    @_render_from.register
    def _(self, source: bound.FileScan) -> str:
        self._columns[source.rel] = tuple(quote_identifier(column.name) for column in source.columns)
        return f"{self._files(source)} AS r{source.rel}"

    @_render_from.register
    def _(self, source: bound.Derived) -> str:
        text = self.render_query(source.query)
        names = self._number_columns(source.rel, len(source.query.columns))
        return f"{'LATERAL ' if source.lateral else ''}({text}) AS r{source.rel}{f'({names})' if names else ''}"

    @_render_from.register
    def _(self, source: bound.CteScan) -> str:
        self._columns[source.rel] = _UnboundedColumns()
        return f"w{source.cte} AS r{source.rel}"

    @_render_from.register
    def _(self, source: bound.FunctionScan) -> str:
        renderer = self._expression_renderer()
        width = len(source.columns) - source.ordinality
        result = source.columns[0].type
        if width > 1 and source.function.returns_set:
            result = SqlType("record", fields=tuple((each.name, each.type) for each in source.columns[:width]))
        operands = renderer.render_operands(source.args, result)
        rows = get_implementation(source.function).rows
        if rows is not None and not source.ordinality and MISSING not in operands.constants:
            names = self._number_columns(source.rel, 1)
            return f"({fill_template(rows, operands)}) AS r{source.rel}({names})"
        applied = renderer.apply_function(source.function, operands)
        listed = applied.value
        if not source.function.returns_set:
            listed = f"[{pack(applied, result) if result.is_carried else listed}]"
        items = "unnest(pg_list)" if width == 1 else "unnest(pg_list, max_depth := 2)"
        number = ", unnest(range(1, len(pg_list) + 1))" if source.ordinality else ""
        names = self._number_columns(source.rel, len(source.columns))
        inside = f"SELECT {items}{number} FROM (SELECT {listed} AS pg_list)"
        return f"{'LATERAL ' if source.lateral else ''}({inside}) AS r{source.rel}({names})"

    @_render_from.register
    def _(self, source: bound.Join) -> str:
        asof = find_asof_join(source, lambda: next(self._relation_numbers))
        if asof is not None:
            return self._render_asof_join(asof)
        left, right = self._render_from(source.left), self._render_from(source.right)
        if isinstance(source.right, bound.Join):
            right = f"({right})"
        if source.on is None:
            return f"{left} CROSS JOIN {right}"
        return f"{left} {source.kind} JOIN {right} ON {self._expression_renderer().render_value(source.on)}"

    def _render_asof_join(self, join: AsofJoin) -> str:
        """Renders an ASOF join; DuckDB's own knows no bound on how far the nearest row may be."""
        left, rows = self._render_from(join.left), self.render_query(join.right)
        names = self._number_columns(join.rows, len(join.right.columns))
        renderer = self._expression_renderer()
        on = " AND ".join(map(renderer.render_value, join.conditions))
        near = " AND ".join(map(renderer.render_value, join.within))
        how = "LEFT " if join.kind == "LEFT" else ""
        text = f"{left} ASOF {how}JOIN ({rows}) AS r{join.rows}({names}) ON {on}"
        if near and join.kind == "INNER":
            text = f"{text} JOIN (SELECT 1) AS j{join.rows}(c1) ON {near}"
        elif near:
            self._guards[join.rows] = near
        for number, each in enumerate(join.outputs):
            made = renderer.render_packed(each)
            self._outputs[join.rel, number] = made if isinstance(each, bound.Column) else f"({made})"
        return text


def _keys(query: bound.SetOperation, side: str = "") -> list[str]:
    """Returns a set operation's columns as comparison keys."""
    columns = ((f"{side}c{n}", column.type) for n, column in enumerate(query.columns, 1))
    return [equality.render_equality_key(unpack(name, item).value, item) for name, item in columns]


def _distinct_key(renderer: ExpressionRenderer, key: bound.Expr) -> str:
    """Renders a key of DISTINCT ON, where DuckDB ignores a bare literal."""
    return renderer.render_key(key) if reads_columns(key) else f"row({renderer.render_key(key)})"


def _sorts_differently(item: SqlType) -> bool:
    """Returns whether a type's output values sort differently from its sort keys."""
    return has_many_representations(item)


class _UnboundedColumns(tuple[str, ...]):
    """The columns of a WITH query: c1, c2, …, of any number."""

    def __getitem__(self, index: Any) -> Any:
        return f"c{index + 1}"
