"""Expressions of a pipeline as CUDA C++ of one row: each computed once, errors only where a row reaches them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpudb.engine.gpu.fused import calendar
from gpudb.engine.gpu.fused.packed import DAY, Form
from gpudb.engine.gpu.fused.pipeline import (
    Arithmetic,
    Bounds,
    Calendar,
    Checked,
    Choose,
    Compare,
    Expr,
    Field,
    Float,
    IsBoolean,
    IsNull,
    Limb,
    Literal,
    Logic,
    Lookup,
    Mapped,
    Ordered,
    Payload,
    Quotient,
    Root,
)
from gpudb.engine.gpu.fused.walk import can_fail

YEARS = 12
"""Of so many years the one of a date is found by comparing it with where each begins."""
Code = tuple[str, str | None]
"""A value, and what says whether it is there (None: always)."""
Constant = tuple[str, int | float]
"""What a kernel takes as a parameter, since it is not what the kernel is made for: its type and value."""


def c_type(bounds: Bounds) -> str:
    """The type that holds an integer within bounds, or a float."""
    if bounds is None:
        return "double"
    size = max(-bounds[0] - 1, bounds[1])
    return "int" if size < 2**31 else "i64" if size < 2**63 else "i128"


def number(value: int | float, kind: str) -> str:
    """A constant of a type."""
    if isinstance(value, float):
        if value != value or value in {float("inf"), float("-inf")}:
            bits = {"inf": "0x7ff0000000000000", "-inf": "0xfff0000000000000", "nan": "0x7ff8000000000000"}[str(value)]
            return f"__longlong_as_double({bits}LL)"
        return f"{value!r}" if "e" in repr(value) or "." in repr(value) else f"{value!r}.0"
    if kind == "double":
        return f"{float(value)!r}"
    if kind == "int" and value > -(2**31):
        return str(value)
    if abs(value) < 2**63:
        return f"{value}LL"
    high, low = abs(value) >> 64, abs(value) & (2**64 - 1)
    return f"({'-' if value < 0 else ''}(i128)((unsigned __int128){high}ULL << 64 | {low}ULL))"


class Emitter:
    """Writes statements; expressions become variables of the scope that they are first used in."""

    def __init__(self, forms: tuple[Form, ...]) -> None:
        self.lines: list[str] = []
        self.prologue: list[str] = []
        self.constants: list[Constant] = []
        self._forms = forms
        self._depth = 1
        self._memo: list[dict[Expr, Code]] = [{}]
        self._names = 0
        # By lookup: its step, the place of the row's partner, what says that there is one, the first payload as read.
        self.partners: dict[int, tuple[Lookup, str, str | None, str | None]] = {}

    def line(self, text: str) -> None:
        """One line of the kernel."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """Braces, in which variables are their own."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        self._memo.append({})
        yield
        self._memo.pop()
        self._depth -= 1
        self.line("}")

    def name(self, prefix: str = "t") -> str:
        """A new variable's name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def given(self, value: int | float, kind: str) -> str:
        """A constant that the kernel is not made for: the name of a parameter; 128 bits go as two halves."""
        if kind == "i128":
            assert isinstance(value, int)
            high, low = self.given(value >> 64, "i64"), self.given(value & (2**64 - 1), "u64")
            return f"((i128)((unsigned __int128)(u64){high} << 64 | {low}))"
        self.constants.append((kind, value))
        return f"c{len(self.constants) - 1}"

    def _kept(self, kind: str, text: str) -> str:
        made = self.name()
        self.line(f"const {kind} {made} = {text};")
        return made

    def fail(self, condition: str, code: int) -> None:
        """An error of the row, where a condition is true."""
        self.line(f"if ({condition}) error = max(error, {code});")

    # -------------------------------------------------------------------------------------------- expressions

    def true(self, expr: Expr) -> str:
        """Whether a boolean is true."""
        value, valid = self.value(expr)
        return value if valid is None else f"({value} & {valid})"

    def value(self, expr: Expr) -> Code:
        """An expression's value, of `c_type` of its bounds."""
        for memo in reversed(self._memo):
            if expr in memo:
                return memo[expr]
        made = self._value(expr)
        if isinstance(expr, Literal):
            # Each is a parameter of its own, so that which of them are equal makes no other kernel.
            return made
        self._memo[-1][expr] = made
        return made

    def _value(self, expr: Expr) -> Code:
        kind = c_type(expr.bounds)
        match expr:
            case Literal(value=None):
                return "0", "false"
            case Literal(value=constant):
                assert constant is not None
                return (self.given if expr.given else number)(constant, kind), None
            case Field(column=column):
                return self._field(column, kind)
            case Payload():
                return self._payload(expr, kind)
            case Arithmetic():
                return self._arithmetic(expr, kind)
            case Quotient(arg=arg, divisor=divisor, how=how):
                value, valid = self.value(arg)
                assert arg.bounds is not None
                wide = c_type((arg.bounds[0] - divisor, arg.bounds[1] + divisor))
                a, b = f"({wide}){value}", number(divisor, wide) if wide != "int" else f"{divisor}"
                text = {
                    "truncate": f"{a} / {b}",
                    "floor": f"floor_quotient<{wide}>({a}, {b})",
                    "round": f"round_div<{wide}>({a}, {b})",
                }[how]
                return self._kept(kind, f"({kind})({text})"), valid
            case Checked(arg=arg, code=code):
                value, valid = self.value(arg)
                assert expr.bounds is not None
                wide = c_type(arg.bounds)
                low, high = (self.given(limit, wide) for limit in expr.bounds)
                return self._limited(value, valid, (low, high), code, kind), valid
            case Compare(op=op, left=left, right=right):
                return self._compare(op, left, right)
            case Logic():
                return self._logic(expr)
            case IsNull(arg=arg, negated=negated):
                _, valid = self.value(arg)
                if valid is None:
                    return ("true" if negated else "false"), None
                return f"({valid})" if negated else f"(!{valid})", None
            case IsBoolean(arg=arg, wanted=wanted, negated=negated):
                value, valid = self.value(arg)
                text = f"(bool){value}" if wanted else f"!{value}"
                text = text if valid is None else f"({text}) & {valid}"
                return self._kept("bool", f"!({text})" if negated else text), None
            case Mapped(arg=arg, table=table, size=size):
                value, valid = self.value(arg)
                null = self.given(size, "int")
                place = self._kept("int", value if valid is None else f"{valid} ? (int){value} : {null}")
                made = self._kept(kind, f"({kind})m{table}[{place}]")
                return made, self._kept("bool", f"k{table}[{place}]") if expr.nullable else None
            case Calendar():
                return self._calendar(expr)
            case Choose():
                return self._choose(expr, kind)
            case Float(arg=arg, divisor=divisor):
                value, valid = self.value(arg)
                text = f"(double){value}" + ("" if divisor == 1 else f" / {float(divisor)!r}")
                return self._kept("double", text), valid
            case Root(arg=arg, code=code):
                value, valid = self.value(arg)
                self.fail(f"({value} < 0)" + ("" if valid is None else f" & {valid}"), code)
                return self._kept("double", f"sqrt({value})"), valid
            case Ordered(arg=arg):
                value, valid = self.value(arg)
                return self._kept("i64", f"ordered({value})"), valid
            case Limb(arg=arg, number=place, last=last):
                value, valid = self.value(arg)
                wide = c_type(arg.bounds)
                shifted = f"(({'i128' if wide == 'i128' else 'i64'}){value} >> {32 * place})"
                return f"(i64){shifted}" if last else f"(i64)(u32){shifted}", valid
        raise AssertionError(type(expr).__name__)

    def _field(self, column: int, kind: str) -> Code:
        form, raw = self._forms[column], f"f{column}[v]"
        valid = f"(n{column} >> v & 1u)" if form.nullable else None
        if form.real:
            text = f"(double)__uint_as_float({raw})" if form.width == 4 else f"__longlong_as_double({raw})"
        elif form.width == 8:
            text = f"({kind}){raw}"
        elif kind == "int":
            text = f"(int)((u32)base{column} + {form.unit}u * {raw})"
        else:
            text = f"base{column} + {form.unit}LL * (i64){raw}"
        return self._kept(kind, text), valid

    def _payload(self, expr: Payload, kind: str) -> Code:
        step, place, hit, first = self.partners[expr.lookup]
        column = expr.column
        array = f"a{expr.lookup}_{column}[{place}]"
        if not step.payloads[column]:
            return self._kept("double", array), hit
        raw = first if column == 0 and first is not None else self._kept("u64", array)
        bias, base = step.biases[column], step.bases[column]
        made = self._kept(kind, f"({kind})((i64){raw} + {self.given(base - bias, 'i64')})")
        direct = column == 0 and step.unique and not step.hashed and not step.presence
        valid = hit
        if bias > direct:
            known = f"({raw} != {bias - 1})"
            valid = known if hit is None else f"({hit} & {known})"
        return made, valid

    def _both(self, *valid: str | None) -> str | None:
        found = sorted({each for each in valid if each is not None})
        return None if not found else found[0] if len(found) == 1 else "(" + " & ".join(found) + ")"

    def _limited(self, value: str, valid: str | None, limits: tuple[str, str], code: int, kind: str) -> str:
        wrong = self._kept("bool", f"({value} < {limits[0]}) | ({value} > {limits[1]})")
        self.fail(wrong if valid is None else f"{wrong} & {valid}", code)
        return self._kept(kind, f"{wrong} ? ({kind})0 : ({kind}){value}")

    def _arithmetic(self, expr: Arithmetic, kind: str) -> Code:
        (a, one), (b, other) = self.value(expr.left), self.value(expr.right)
        valid = self._both(one, other)
        if expr.bounds is None:
            made = self._kept("double", f"{a} {expr.op} {b}")
            there = "" if valid is None else f" & {valid}"
            divides = f" & ({b} != 0)" if expr.zero else ""
            if expr.code:
                finite = "" if expr.zero else f" & finite({b})"
                self.fail(f"infinite({made}) & finite({a}){finite}{divides}{there}", expr.code)
            if expr.under:
                other = f"finite({b})" if expr.zero else f"({b} != 0)"
                self.fail(f"({made} == 0) & ({a} != 0) & {other}{divides}{there}", expr.under)
            if expr.zero:
                self.fail(f"({b} == 0) & ({a} == {a}){there}", expr.zero)
            return made, valid
        left, right = expr.left.bounds, expr.right.bounds
        assert left is not None
        assert right is not None
        ops = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
        corners = [ops[expr.op](x, y) for x in left for y in right] + [*left, *right]
        wide = c_type((min(corners), max(corners)))
        text = f"({wide}){a} {expr.op} ({wide}){b}"
        if expr.limits is None:
            return self._kept(kind, text if wide == kind else f"({kind})({text})"), valid
        low, high = (number(limit, wide) for limit in expr.limits)
        return self._limited(self._kept(wide, text), valid, (low, high), expr.code, kind), valid

    def _compare(self, op: str, left: Expr, right: Expr) -> Code:
        (a, one), (b, other) = self.value(left), self.value(right)
        if left.bounds is None:
            text = {
                "==": f"real_same({a}, {b})",
                "!=": f"!real_same({a}, {b})",
                "<": f"real_less({a}, {b})",
                "<=": f"!real_less({b}, {a})",
                ">": f"real_less({b}, {a})",
                ">=": f"!real_less({a}, {b})",
            }[op]
        else:
            text = f"{a} {op} {b}"
        return self._kept("bool", text), self._both(one, other)

    def _logic(self, expr: Logic) -> Code:
        if expr.op == "NOT":
            value, valid = self.value(expr.args[0])
            return self._kept("bool", f"!{value}"), valid
        stops = expr.op == "OR"
        if not any(can_fail(each) for each in expr.args[1:]):
            codes = [self.value(each) for each in expr.args]
            # Known to be what decides, or known at all.
            decided = [
                (value if stops else f"!{value}")
                if valid is None
                else f"(({value if stops else f'!{value}'}) & {valid})"
                for value, valid in codes
            ]
            any_decided = self._kept("bool", " | ".join(decided))
            value = any_decided if stops else f"(!{any_decided})"
            if not expr.nullable:
                return value, None
            known = self._both(*(valid for _, valid in codes))
            return value, None if known is None else self._kept("bool", f"{any_decided} | {known}")
        decided_name, unknown = self.name(), self.name()
        self.line(f"bool {decided_name} = false, {unknown} = false;")
        for each in expr.args:
            with self.block(f"if (!{decided_name})"):
                value, valid = self.value(each)
                is_deciding = value if stops else f"!{value}"
                if valid is None:
                    self.line(f"{decided_name} = {is_deciding};")
                else:
                    self.line(f"{decided_name} = ({is_deciding}) & {valid}; {unknown} |= !{valid};")
        value = decided_name if stops else f"(!{decided_name})"
        return value, f"({decided_name} | !{unknown})" if expr.nullable else None

    def _calendar(self, expr: Calendar) -> Code:
        arg = expr.arg
        form = self._forms[arg.column] if isinstance(arg, Field) else None
        packed = expr.micros and form is not None and form.width <= 4 and form.unit >= 1_000_000
        assert expr.bounds is not None
        if expr.field == "year" and expr.bounds[0] > 0 and expr.bounds[1] - expr.bounds[0] < YEARS:
            return self._year(expr, packed)
        value, valid = self.value(arg)
        if packed:
            assert isinstance(arg, Field)
            assert form is not None
            # Packed from a midnight on, in steps that a day is a multiple of: all in 32 bits.
            a_day = DAY // form.unit
            raw = f"f{arg.column}[v]"
            days = f"(int)(base{arg.column} / {DAY}LL) + (int)({raw} / {a_day}u)"
            if expr.field == "hour":
                return self._kept("int", f"(int)({raw} % {a_day}u / {max(a_day // 24, 1)}u)"), valid
            if expr.field == "minute":
                hour = max(a_day // 24, 1)
                return self._kept("int", f"(int)({raw} % {hour}u / {max(hour // 60, 1)}u)"), valid
        elif expr.micros:
            if expr.field in {"hour", "minute"}:
                part = 3_600_000_000 if expr.field == "hour" else 60_000_000
                whole = DAY if expr.field == "hour" else 3_600_000_000
                rest = f"((i64){value} - floor_div({value}, {whole}LL) * {whole}LL)"
                return self._kept("int", f"(int)({rest} / {part}LL)"), valid
            days = f"(int)floor_div({value}, {DAY}LL)"
        else:
            days = f"(int){value}"
        return self._kept("int", f"field_{expr.field}({days})"), valid

    def _year(self, expr: Calendar, packed: bool) -> Code:
        """A year of few: the first, and one more for each other that has begun."""
        assert expr.bounds is not None
        first, last = expr.bounds
        begins = [calendar.first_day(year) for year in range(first + 1, last + 1)]
        arg = expr.arg
        if packed:
            assert isinstance(arg, Field)
            raw, column, unit = f"f{arg.column}[v]", arg.column, self._forms[arg.column].unit
            tests = []
            for begin in begins:
                name = self.name("year")
                distance = f"({begin * DAY}LL - base{column}) / {unit}LL"
                # No value is the greatest that its bytes hold: what begins later than all is that.
                self.prologue.append(
                    f"const u32 {name} = {begin * DAY}LL <= base{column} ? 0u : (u32)min({distance}, 0xffffffffLL);"
                )
                tests.append(f"({raw} >= {name})")
            valid = f"(n{column} >> v & 1u)" if self._forms[column].nullable else None
        else:
            value, valid = self.value(arg)
            unit = DAY if expr.micros else 1
            tests = [f"({value} >= {number(begin * unit, c_type(arg.bounds))})" for begin in begins]
        return self._kept("int", " + ".join([str(first), *tests])), valid

    def _choose(self, expr: Choose, kind: str) -> Code:
        made, known = self.name(), self.name()
        self.line(f"{kind} {made} = 0; bool {known} = true;")
        self._branch(expr, 0, made, known, kind)
        return made, known if expr.nullable else None

    def _branch(self, expr: Choose, place: int, made: str, known: str, kind: str) -> None:
        if place == len(expr.branches):
            self._assign(expr.default, made, known, kind)
            return
        condition, then = expr.branches[place]
        with self.block():
            true = self.true(condition)
            with self.block(f"if ({true})"):
                self._assign(then, made, known, kind)
            with self.block("else"):
                self._branch(expr, place + 1, made, known, kind)

    def _assign(self, expr: Expr, made: str, known: str, kind: str) -> None:
        value, valid = self.value(expr)
        self.line(f"{made} = ({kind}){value};" + ("" if valid is None else f" {known} = {valid};"))
