"""Calls of functions that are names for expressions (`functions.composed`), and of those that depend on constants.

What PostgreSQL accepts comes first: a function or aggregate of the database, a field of a row, a conversion to a type.
The expressions call PostgreSQL's own functions, whatever other functions a database has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.composed import composed_functions
from gpudb.functions.library import functions_by_name
from gpudb.sql.bind.base import Arguments, Binder
from gpudb.sql.bind.expressions.calls import bind_type_call
from gpudb.sql.bind.expressions.routines import find_routines
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import Aggregate, Column, Constant, Expr, Let, Window
from gpudb.sql.parse.parser import children, inner, kind, present, strings
from gpudb.sql.parse.templates import fill_template
from gpudb.sql.parse.values import read_constant, strip_casts
from gpudb.sql.traverse import has_volatile, walk
from gpudb.types import INTERVAL
from gpudb.values.interval import Interval


def bind_composed(binder: Binder, scope: Scope, call: Any) -> Expr | None:
    """Binds a FuncCall message that is a name for an expression; None for any other call."""
    names = strings(call.funcname)
    if not binder.friendly or len(names) != 1 or call.func_variadic or call.agg_within_group or call.agg_star:
        return None
    key = names[0], len(call.args)
    special, template = _SPECIAL.get(key), composed_functions().get(key)
    if special is None and template is None:
        return None
    if any(kind(each) == "named_arg_expr" for each in call.args) or find_routines(binder, names):
        return None
    if template is not None and _is_aggregate(_parse_template(template)):
        return _bind_aggregate(binder, scope, call, template)
    if _has_clauses(call):
        return None
    sets = scope.set_calls
    operands = [binder.bind_expression(scope, each) for each in call.args]
    if _has_another_sense(binder, names[0], operands):
        return None
    if template is None:
        assert special is not None
        template = special(binder, call.args, operands)
    result = _bind_value(binder, scope, call, template, operands, has_sets=scope.set_calls != sets)
    _record(binder, call, template)
    return result


def _has_another_sense(binder: Binder, name: str, operands: Sequence[Expr]) -> bool:
    """Whether PostgreSQL knows `name(value)`: as a field of a row, or as a conversion to a type of that name."""
    if len(operands) != 1:
        return False
    type_ = operands[0].type
    if is_row(type_) and any(field == name for field, _ in type_.fields):
        return True
    return bind_type_call(binder, name, operands) is not None


def _has_clauses(call: Any) -> bool:
    return bool(present(call.agg_filter) or call.agg_distinct or len(call.agg_order) or call.HasField("over"))


def _record(binder: Binder, call: Any, template: str) -> None:
    """Records what a call of a query that is stored stands for; 0A000 if it stands for several expressions."""
    if binder.expansions is not None:
        binder.expansions.record(call, _fill(template, call), strings(call.funcname)[0])


# ------------------------------------------------------------------------------------------ values


def _bind_value(
    binder: Binder, scope: Scope, call: Any, template: str, operands: Sequence[Expr], *, has_sets: bool
) -> Expr:
    """Binds an expression over bound operands, of which those that are volatile are computed once."""
    volatile = [place for place, each in enumerate(operands) if has_volatile(each)]
    if volatile and (has_sets or _has_query(_parse_template(template))):
        raise _refuse_volatile(call)
    aggregating = any(isinstance(each, Aggregate | Window) for operand in operands for each in walk(operand))
    if has_sets or (aggregating and _has_query(_parse_template(template))):
        # What a set or an aggregate belongs to depends on the place in the expression
        return binder.bind_expression(scope, _fill(template, call))
    result, uses = _bind_template(binder, scope, template, operands)
    repeated = [place for place in volatile if uses.count(place) > 1]
    if not repeated:
        return result
    if binder.expansions is not None:
        raise _refuse_volatile(call)
    rel, once = -binder.new_rel(), list(operands)
    for index, place in enumerate(repeated):
        once[place] = Column(rel, index, operands[place].type)
    body, _ = _bind_template(binder, scope, template, once)
    return Let(rel, tuple(operands[place] for place in repeated), body, body.type)


def _refuse_volatile(call: Any) -> FeatureNotSupported:
    message = f"a volatile operand of {strings(call.funcname)[0]} is not supported here"
    return FeatureNotSupported(message, hint="Compute it in a subquery in FROM.")


def _bind_template(binder: Binder, scope: Scope, template: str, operands: Sequence[Expr]) -> tuple[Expr, Sequence[int]]:
    """Binds an expression; returns it, and the place of the operand of each use."""
    own = Arguments("", ("",) * len(operands), tuple(operands))
    with binder.changed(arguments=own, expansions=None):
        return binder.bind_expression(scope, _parse_template(template)), own.uses


# ------------------------------------------------------------------------------------------ aggregates


def _bind_aggregate(binder: Binder, scope: Scope, call: Any, template: str) -> Expr | None:
    """Binds an aggregate with the clauses of its call; None if it cannot have them, or has another sense."""
    if len(call.args) == 1 and not call.HasField("over") and not scope.in_aggregate:
        scope.in_aggregate = True
        try:
            if _has_another_sense(binder, strings(call.funcname)[0], [binder.bind_expression(scope, call.args[0])]):
                return None
        finally:
            scope.in_aggregate = False
    made = _fill(template, call)
    if (call.agg_distinct or len(call.agg_order)) and inner(made).agg_within_group:
        return None
    result = binder.bind_expression(scope, made)
    _record(binder, call, template)
    return result


# ------------------------------------------------------------------------------------------ trees


@lru_cache(1024)
def _parse_template(template: str) -> Any:
    """Returns the Node of an expression whose operands are `$n`, with functions of pg_catalog. It is not changed."""
    node = inner(fill_template(f"SELECT {template}", {}).target_list[0]).val
    _qualify(node)
    return node


def _qualify(message: Any) -> None:
    if message.DESCRIPTOR.name == "FuncCall" and len(message.funcname) == 1:
        name = message.funcname[0].string.sval
        message.funcname[0].string.sval = "pg_catalog"
        message.funcname.add().string.sval = name
    for each in children(message):
        _qualify(each)


def _is_aggregate(node: Any) -> bool:
    if kind(node) != "func_call":
        return False
    return any(each.kind == "a" for each in functions_by_name().get(strings(inner(node).funcname)[-1], ()))


def _has_query(message: Any) -> bool:
    return message.DESCRIPTOR.name == "SubLink" or any(map(_has_query, children(message)))


def _fill(template: str, call: Any) -> Any:
    """Returns the Node of an expression with the operands of a call and, if it is an aggregate, its clauses."""
    source = _parse_template(template)
    node = type(source)()
    node.CopyFrom(source)
    _put_operands(node, call.args)
    if not _has_clauses(call):
        return node
    target = inner(node)
    if present(call.agg_filter) and present(target.agg_filter):
        both = fill_template('SELECT "$1" AND "$2"', {"$1": target.agg_filter, "$2": call.agg_filter})
        target.agg_filter.CopyFrom(inner(both.target_list[0]).val)
    elif present(call.agg_filter):
        target.agg_filter.CopyFrom(call.agg_filter)
    if call.HasField("over"):
        target.over.CopyFrom(call.over)
    target.agg_distinct = call.agg_distinct
    target.agg_order.extend(call.agg_order)
    return node


def _put_operands(message: Any, operands: Any) -> None:
    if message.DESCRIPTOR.name == "Node" and kind(message) == "param_ref":
        message.CopyFrom(operands[inner(message).number - 1])
        return
    for each in children(message):
        _put_operands(each, operands)


# ------------------------------------------------------------------------------------------ by constants and types

_UNITS = {
    "year": "(extract(year FROM $3) - extract(year FROM $2))::int8",
    "quarter": "((extract(year FROM $3) - extract(year FROM $2)) * 4"
    " + extract(quarter FROM $3) - extract(quarter FROM $2))::int8",
    "month": "((extract(year FROM $3) - extract(year FROM $2)) * 12"
    " + extract(month FROM $3) - extract(month FROM $2))::int8",
    "week": "(($3::date - $2::date) / 7)::int8",
    "day": "($3::date - $2::date)::int8",
    **{
        unit: f"(floor(extract(epoch FROM $3) / {seconds}) - floor(extract(epoch FROM $2) / {seconds}))::int8"
        for unit, seconds in (("hour", 3600), ("minute", 60), ("second", 1))
    },
    "millisecond": "(floor(extract(epoch FROM $3) * 1000) - floor(extract(epoch FROM $2) * 1000))::int8",
    "microsecond": "((extract(epoch FROM $3) - extract(epoch FROM $2)) * 1000000)::int8",
}
"""The number of boundaries of a unit between two moments; of weeks, the whole ones."""
_FORMATS = {
    "Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "H": "HH24", "I": "HH12", "M": "MI", "S": "SS", "p": "AM",
    "j": "DDD", "b": "Mon", "B": "FMMonth", "a": "Dy", "A": "FMDay", "f": "US", "g": "MS", "F": "YYYY-MM-DD",
    "T": "HH24:MI:SS", "e": "FMDD", "-d": "FMDD", "-m": "FMMM", "-H": "FMHH24", "-I": "FMHH12", "-M": "FMMI",
    "-S": "FMSS", "u": "ID", "V": "IW", "G": "IYYY",
}  # fmt: skip
"""The patterns of to_char by those of strftime."""


def _read_text(binder: Binder, node: Any, what: str) -> str:
    constant = strip_casts(node)
    value = read_constant(inner(constant)) if kind(constant) == "a_const" else None
    if not isinstance(value, str):
        raise FeatureNotSupported(f"{what} that is not constant is not supported")
    return value


def _date_diff(binder: Binder, nodes: Any, operands: Sequence[Expr]) -> str:
    unit = _read_text(binder, nodes[0], "the unit of date_diff").lower()
    found = _UNITS.get(unit.removesuffix("s") if unit != "s" else unit)
    if found is None:
        raise SqlError.of("invalid_parameter_value", f'unit "{unit}" of date_diff is not recognized')
    return found


def _strftime(binder: Binder, nodes: Any, operands: Sequence[Expr]) -> str:
    text = _read_text(binder, nodes[1], "the format of strftime")
    parts, place, literal = list[str](), 0, ""

    def finish() -> None:
        nonlocal literal
        if literal:
            parts.append('"' + literal.replace("\\", "\\\\").replace('"', '\\"') + '"')
        literal = ""

    while place < len(text):
        if text[place] != "%":
            literal, place = literal + text[place], place + 1
            continue
        code = text[place + 1 : place + (3 if text[place + 1 : place + 2] == "-" else 2)]
        place += 1 + len(code)
        if code == "%":
            literal += "%"
        elif code in _FORMATS:
            finish()
            parts.append(_FORMATS[code])
        else:
            raise FeatureNotSupported(f'"%{code}" in the format of strftime is not supported')
    finish()
    quoted = "".join(parts).replace("'", "''")
    return f"to_char($1, '{quoted}')"


def _time_bucket(binder: Binder, nodes: Any, operands: Sequence[Expr]) -> str:
    """Bins begin on Monday 2000-01-03, those of months at 2000-01, in UTC."""
    width = binder.coerce(operands[0], INTERVAL)
    if not isinstance(width, Constant) or not isinstance(width.value, Interval):
        raise FeatureNotSupported("the width of time_bucket that is not constant is not supported")
    months = width.value.months
    if months and (width.value.days or width.value.microseconds):
        message = "month intervals cannot have days or times in time_bucket"
        raise SqlError.of("feature_not_supported", message)
    if months < 0 or (not months and width.value.days * 86_400_000_000 + width.value.microseconds <= 0):
        raise SqlError.of("invalid_parameter_value", "the width of time_bucket must be positive")
    item = operands[1].type.name
    zoned = item == "timestamptz"
    if months:
        moment = "timezone('UTC', $2)" if zoned else "$2"
        number = f"(extract(year FROM {moment}) * 12 + extract(month FROM {moment}) - 24001)"
        made = f"timestamp '2000-01-01' + (floor({number} / {months}.0) * {months})::int4 * interval '1 month'"
        made = f"timezone('UTC', {made})" if zoned else f"({made})"
    else:
        origin = "timestamptz '2000-01-03 00:00:00+00'" if zoned else "timestamp '2000-01-03'"
        made = f"date_bin($1::interval, $2, {origin})"
    return f"{made}::date" if item == "date" else made


def _len(binder: Binder, nodes: Any, operands: Sequence[Expr]) -> str:
    return "cardinality($1)" if operands[0].type.element is not None else "length($1)"


_SPECIAL: Mapping[tuple[str, int], Callable[[Binder, Any, Sequence[Expr]], str]] = {
    ("date_diff", 3): _date_diff,
    ("datediff", 3): _date_diff,
    ("strftime", 2): _strftime,
    ("time_bucket", 2): _time_bucket,
    ("len", 1): _len,
}
