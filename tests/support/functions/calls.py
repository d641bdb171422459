"""Statements that call one documented overload in every way: on constants, on columns, over rows, frames and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpudb.functions.library import Function, Operator
from gpudb.functions.manual import Entry
from tests.support.functions.arguments import POLYMORPHIC, VALUES, draw, literal

MOST = 24
_ORDERED = frozenset({"array_agg", "string_agg", "any_value", "first_value", "last_value"})
_FRAMES = (
    "ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "PARTITION BY n % 2 ORDER BY n",
    "ORDER BY n / 2 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
    "ORDER BY n / 2 GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an overload with one list of types; `rows` are its arguments."""

    name: str
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    target: Function | Operator

    def expression(self, arguments: Sequence[str]) -> str:
        """The call with SQL texts as arguments."""
        if isinstance(self.target, Operator):
            return " ".join([*arguments[:-1], f"OPERATOR(pg_catalog.{self.name})", arguments[-1]])
        return f"{_quoted(self.name)}({', '.join(arguments)})"

    def constants(self) -> Iterator[str]:
        """The call on constants, once for each row."""
        for row in self.rows:
            yield self.expression([literal(value, held) for value, held in zip(row, self.types, strict=True)])

    def table(self, rows: Sequence[Sequence[str | None]]) -> str:
        """Rows of arguments as a relation v(n, a0, a1, …)."""
        lines = (
            f"({number}{''.join(', ' + literal(v, t) for v, t in zip(row, self.types, strict=True))})"
            for number, row in enumerate(rows)
        )
        names = "".join(f", {name}" for name in self.columns)
        return f"(VALUES {', '.join(lines)}) AS v(n{names})"

    @property
    def columns(self) -> list[str]:
        """The names of the columns that hold the arguments."""
        return [f"a{number}" for number in range(len(self.types))]


def _quoted(name: str) -> str:
    return f'pg_catalog."{name}"'


def calls(entry: Entry, most: int = MOST) -> Iterator[Call]:
    """The overload with its argument types: several lists for a polymorphic, a defaulted or a variadic one.

    Each list of types has `most` rows of arguments at most.
    """
    target = entry.target
    assert target is not None
    for types in argument_types(target):
        yield Call(entry.name, types, tuple(draw(entry.name, types, most)), target)


def argument_types(target: Function | Operator) -> Iterator[tuple[str, ...]]:
    """Yields the lists of argument types that an overload is called with: several for a polymorphic or variadic one."""
    if isinstance(target, Operator):
        shapes = [tuple(each.name for each in (target.left, target.right) if each is not None)]
    else:
        names = tuple(each.name for each in target.args)
        shapes = [names[: len(names) - left] for left in range(target.defaults + 1)]
        if target.variadic is not None:
            shapes = [names[:-1] + (target.variadic.name,) * count for count in (1, 2, 4)]
    for shape in shapes:
        if not any(name.startswith("any") for name in shape):
            yield shape
            continue
        for chosen in POLYMORPHIC:
            yield tuple(_concrete(name, chosen) for name in shape)


def _concrete(name: str, chosen: dict[str, str]) -> str:
    if name == "any" or not name.startswith("any"):
        return chosen["anyelement"] if name == "any" else name
    return chosen["anyarray"] if name.endswith("array") and "non" not in name else chosen["anyelement"]


# ---------------------------------------------------------------------------------------------- rows together


def _rows(types: Sequence[str], name: str) -> list[tuple[str | None, ...]]:
    """Rows to aggregate: values of every type side by side, with NULLs and duplicates; no sum exceeds its type."""
    columns = []
    for position, held in enumerate(types):
        given = [value for value in VALUES[held] if value not in _LARGE]
        # a second column has the same values in another order
        given = given[position:] + given[:position]
        if name == "string_agg" and position == 1:
            given = [given[-1]]
        # keys that must be unique occur once each
        once = "unique" in name and position == 0
        columns.append(given if once else [*given, None, *given[:2]])
    height = len(columns[0]) if "unique" in name else max(map(len, columns), default=6)
    return [tuple(column[number % len(column)] for column in columns) for number in range(height)]


# Either of two equal values may be returned, so none with several spellings is used.
_LARGE = frozenset(
    "-0 0.00 1e300 -3e-310 1e-40 3e37 9223372036854775807 -9223372036854775808 infinity -infinity NaN Infinity -Infinity".split()
)


def aggregates(call: Call) -> Iterator[str]:
    """An aggregate over all rows, no rows, NULLs, groups, with FILTER and DISTINCT, and as a window function."""
    rows = _rows(call.types, call.name)
    source = call.table(rows)
    arguments = ", ".join(call.columns) or "*"
    name = _quoted(call.name)
    sort = " ORDER BY n" if call.name in _ORDERED or "json" in call.name else ""
    yield f"SELECT {name}({arguments}{sort}) FROM {source}"
    yield f"SELECT {name}({arguments}{sort}) FROM {source} WHERE n < 0"
    yield f"SELECT n % 3, {name}({arguments}{sort}) FROM {source} GROUP BY 1 ORDER BY 1"
    yield f"SELECT {name}({arguments}{sort}) FILTER (WHERE n < 3) FROM {source}"
    yield f"SELECT {name}({arguments}{sort}) FROM {call.table([(None,) * len(call.types)] * 2)}"
    for values in rows[:2]:
        yield f"SELECT {name}({arguments}{sort}) FROM {call.table([values])}"
    if call.types and "json" not in call.types and call.name not in _ORDERED:
        yield f"SELECT {name}(DISTINCT {arguments}) FROM {source}"
    for frame in _FRAMES:
        yield f"SELECT n, {name}({arguments}) OVER ({frame}) FROM {source} ORDER BY n"


def ordered_sets(call: Call) -> Iterator[str]:
    """mode() and the percentiles: the last argument is the sort key, in either direction."""
    from tests.support.functions.arguments import values

    *direct, last = call.types
    rows = [(None,) * len(direct) + row for row in _rows((last,), call.name)]
    source = call.table(rows)
    name = _quoted(call.name)
    fractions = [literal(each, direct[0]) for each in values(call.name, call.types, 0)] if direct else [""]
    for fraction in fractions:
        for direction in ("", " DESC"):
            inside = f"{name}({fraction}) WITHIN GROUP (ORDER BY a{len(direct)}{direction})"
            yield f"SELECT {inside} FROM {source}"
        yield f"SELECT n % 2, {name}({fraction}) WITHIN GROUP (ORDER BY a{len(direct)}) FROM {source} GROUP BY 1 ORDER BY 1"
        yield f"SELECT {name}({fraction}) WITHIN GROUP (ORDER BY a{len(direct)}) FROM {source} WHERE n < 0"
        yield f"SELECT {name}({fraction}) WITHIN GROUP (ORDER BY a{len(direct)}) FILTER (WHERE n < 3) FROM {source}"


def hypothetical_sets(call: Call) -> Iterator[str]:
    """rank() and the others, of a hypothetical row."""
    name = _quoted(call.name)
    for types in (("int4",), ("text",), ("numeric",), ("int4", "text")):
        made = Call(call.name, types, (), call.target)
        source = made.table(_rows(types, call.name))
        for row in _rows(types, call.name)[:4]:
            direct = ", ".join(literal(value, held) for value, held in zip(row, types, strict=True))
            for direction in ("", " DESC", " NULLS FIRST"):
                keys = ", ".join(f"{column}{direction}" for column in made.columns)
                yield f"SELECT {name}({direct}) WITHIN GROUP (ORDER BY {keys}) FROM {source}"
            yield f"SELECT {name}({direct}) WITHIN GROUP (ORDER BY {', '.join(made.columns)}) FROM {source} WHERE n < 0"
            yield f"SELECT n % 2, {name}({direct}) WITHIN GROUP (ORDER BY {', '.join(made.columns)}) FROM {source} GROUP BY 1"


def windows(call: Call) -> Iterator[str]:
    """A window function over orders with and without ties, in partitions and frames."""
    from tests.support.functions.arguments import values

    name = _quoted(call.name)
    rows = _rows(("int4",), call.name)
    if not call.types or call.name == "ntile":
        ones = [""] if not call.types else [literal(each, "int4") for each in values(call.name, call.types, 0)]
        source = Call(call.name, ("int4",), (), call.target).table(rows)
    else:
        source = Call(call.name, call.types[:1], (), call.target).table(_rows(call.types[:1], call.name))
        ones = ["a0"]
        if len(call.types) > 1:
            ones = [f"a0, {literal(each, call.types[1])}" for each in values(call.name, call.types, 1)]
        if len(call.types) > 2:
            ones = [f"{each}, {literal(VALUES[call.types[2]][1], call.types[2])}" for each in ones]
    for arguments in ones:
        for frame in (*_FRAMES, "ORDER BY n / 2", "ORDER BY n DESC", "PARTITION BY n / 3 ORDER BY n / 2"):
            if "ROWS" not in frame and call.name not in {"rank", "dense_rank", "percent_rank", "cume_dist"}:
                frame = frame.replace("ORDER BY n / 2 RANGE", "ORDER BY n RANGE").replace(
                    "ORDER BY n / 2", "ORDER BY n"
                )
            yield f"SELECT n, {name}({arguments}) OVER ({frame}) FROM {source} ORDER BY n"
