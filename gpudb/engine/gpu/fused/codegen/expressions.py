"""Emits a pipeline's expressions as CUDA C++ for one row: each evaluated once, errors only where a row reaches them."""

from __future__ import annotations

import math

from gpudb.engine.gpu.fused.codegen import bodies, date_fields, stored_columns, trees
from gpudb.engine.gpu.fused.codegen.kernel_source import Code, StatementWriter, c_literal, c_type
from gpudb.engine.gpu.fused.ir.pipeline import (
    Arithmetic,
    BodyCall,
    BooleanTest,
    CaseWhen,
    Compare,
    DateField,
    Expr,
    Field,
    FloatSortKey,
    FloatToInteger,
    IsNull,
    LikeMatch,
    Limb,
    Literal,
    Logic,
    Payload,
    Quotient,
    RangeCheck,
    SquareRoot,
    TableEntry,
    ToFloat,
    TreeScore,
    WholeFloat,
)
from gpudb.engine.gpu.fused.ir.traversal import can_fail, is_expensive


class Emitter(StatementWriter):
    """Emits expressions as variables of the scope in which they are first used."""

    def distance(self, expr: Expr, low: int, kind: str) -> Code:
        """Emits an integer's distance from `low` as u32 or u64; smaller values wrap to large distances (modulo 2³² or
        2⁶⁴).
        """
        if kind == "u32" and c_type(expr.bounds) == "int" and -(2**31) <= low < 2**31:
            offset = self.parameter(low % 2**32, "u32")
            packed = stored_columns.packed_distance(self, expr, offset)
            if packed is not None:
                return packed
            value, valid = self.value(expr)
            return f"((u32){value} - {offset})", valid
        value, valid = self.value(expr)
        return f"({kind})((i64){value} - {self.parameter(low, 'i64')})", valid

    def condition(self, expr: Expr) -> str:
        """Emits whether a boolean is true."""
        value, valid = self.value(expr)
        return value if valid is None else f"({value} & {valid})"

    def value(self, expr: Expr) -> Code:
        """Emits an expression; its C++ type is `c_type` of its bounds."""
        for memo in reversed(self._memo):
            if expr in memo:
                return memo[expr]
        made = self._value(expr)
        if isinstance(expr, Literal):
            # Each constant is a separate parameter, so that equal constants do not yield another kernel.
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
                return (self.parameter if expr.is_parameter else c_literal)(constant, kind), None
            case Field(column=column):
                return stored_columns.read_column(self, column, kind)
            case Payload():
                return self._payload(expr, kind)
            case Arithmetic():
                return self._arithmetic(expr, kind)
            case Quotient(arg=arg, divisor=divisor, how=how, shift=shift):
                value, valid = self.value(arg)
                assert arg.bounds is not None
                if shift is not None:
                    return self.variable(kind, f"({kind})({value} >> {self.parameter(shift, 'int')})"), valid
                wide = c_type((arg.bounds[0] - divisor, arg.bounds[1] + divisor))
                a, b = f"({wide}){value}", c_literal(divisor, wide) if wide != "int" else f"{divisor}"
                text = {
                    "truncate": f"{a} / {b}",
                    "floor": f"floor_quotient<{wide}>({a}, {b})",
                    "round": f"round_div<{wide}>({a}, {b})",
                }[how]
                return self.variable(kind, f"({kind})({text})"), valid
            case RangeCheck(arg=arg, code=code):
                value, valid = self.value(arg)
                assert expr.bounds is not None
                wide = c_type(arg.bounds)
                low, high = (self.parameter(limit, wide) for limit in expr.bounds)
                return self._check_limits(value, valid, (low, high), code, kind), valid
            case Compare(op=op, left=left, right=right):
                return self._compare(op, left, right)
            case Logic():
                return self._logic(expr)
            case IsNull(arg=arg, negated=negated):
                _, valid = self.value(arg)
                if valid is None:
                    return ("true" if negated else "false"), None
                return f"({valid})" if negated else f"(!{valid})", None
            case BooleanTest(arg=arg, expected=wanted, negated=negated):
                value, valid = self.value(arg)
                text = f"(bool){value}" if wanted else f"!{value}"
                text = text if valid is None else f"({text}) & {valid}"
                return self.variable("bool", f"!({text})" if negated else text), None
            case TableEntry(arg=arg, table=table, size=size):
                value, valid = self.value(arg)
                null = self.parameter(size, "int")
                position = self.variable("int", value if valid is None else f"{valid} ? (int){value} : {null}")
                made = self.variable(kind, f"({kind})m{table}[{position}]")
                return made, self.variable("bool", f"k{table}[{position}]") if expr.nullable else None
            case TreeScore():
                return self._score(expr, kind), None
            case LikeMatch(arg=Field(column=column), table=table, length=length, fold=fold):
                begin, count = stored_columns.read_text(self, column)
                pattern_length = self.parameter(length, "int")
                text = f"like<{str(fold).lower()}>({begin}, {count}, m{table}, {pattern_length})"
                return self.variable("bool", text), self.value(expr.arg)[1]
            case DateField():
                return date_fields.emit_date_field(self, expr, self.value)
            case CaseWhen():
                return self._choose(expr, kind)
            case BodyCall():
                return bodies.emit_body_call(self, expr, kind, self.value)
            case ToFloat(arg=arg, divisor=divisor):
                value, valid = self.value(arg)
                text = f"(double){value}" + ("" if divisor == 1 else f" / {float(divisor)!r}")
                return self.variable("double", text), valid
            case SquareRoot(arg=arg, code=code):
                value, valid = self.value(arg)
                self.fail(f"({value} < 0)" + ("" if valid is None else f" & {valid}"), code)
                return self.variable("double", f"sqrt({value})"), valid
            case WholeFloat(arg=arg, how=how):
                value, valid = self.value(arg)
                return self.variable("double", f"{how}({value})"), valid
            case FloatToInteger(arg=arg, code=code):
                return self._round_float(expr, arg, code, kind)
            case FloatSortKey(arg=arg, signed=signed):
                value, valid = self.value(arg)
                return self.variable("i64", f"ordered({value}{'' if signed else ' + 0.0'})"), valid
            case Limb(arg=arg, number=position, last=last):
                value, valid = self.value(arg)
                wide = c_type(arg.bounds)
                shifted = f"(({'i128' if wide == 'i128' else 'i64'}){value} >> {32 * position})"
                return f"(i64){shifted}" if last else f"(i64)(u32){shifted}", valid
        raise AssertionError(type(expr).__name__)

    def _round_float(self, expr: Expr, arg: Expr, code: int, kind: str) -> Code:
        """Emits a float's nearest integer; one out of bounds fails, and stands within them all the same."""
        value, valid = self.value(arg)
        assert expr.bounds is not None
        low, high = (_to_float_within(limit, expr.bounds) for limit in expr.bounds)
        rounded = self.variable("double", f"rint({value})")
        wrong = f"!({rounded} >= {low!r} && {rounded} <= {high!r})"
        self.fail(f"({wrong})" + ("" if valid is None else f" & {valid}"), code)
        return self.variable(kind, f"({kind})fmin(fmax({rounded}, {low!r}), {high!r})"), valid

    def _payload(self, expr: Payload, kind: str) -> Code:
        step, position, hit, first = self.matches[expr.lookup]
        column = expr.column
        array = f"a{expr.lookup}_{column}[{position}]"
        if not step.payloads[column]:
            return self.variable("double", array), hit
        raw = first if column == 0 and first is not None else self.variable("u64", array)
        offset = self.parameter(step.payload_offset(column), "u64")
        value = self.variable(kind, f"({kind})(i64)((u64){raw} + {offset})")
        null = step.null_payload(column)
        if null is None:
            return value, hit
        known = f"({raw} != {null})"
        return value, known if hit is None else f"({hit} & {known})"

    def _and_valid(self, *valid: str | None) -> str | None:
        found = sorted({each for each in valid if each is not None})
        return None if not found else found[0] if len(found) == 1 else "(" + " & ".join(found) + ")"

    def _check_limits(self, value: str, valid: str | None, limits: tuple[str, str], code: int, kind: str) -> str:
        wrong = self.variable("bool", f"({value} < {limits[0]}) | ({value} > {limits[1]})")
        self.fail(wrong if valid is None else f"{wrong} & {valid}", code)
        return self.variable(kind, f"{wrong} ? ({kind})0 : ({kind}){value}")

    def _arithmetic(self, expr: Arithmetic, kind: str) -> Code:
        (a, one), (b, other) = self.value(expr.left), self.value(expr.right)
        valid = self._and_valid(one, other)
        if expr.bounds is None:
            made = self.variable("double", f"{a} {expr.op} {b}")
            if_valid = "" if valid is None else f" & {valid}"
            divides = f" & ({b} != 0)" if expr.zero else ""
            if expr.code:
                finite = "" if expr.zero else f" & finite({b})"
                self.fail(f"infinite({made}) & finite({a}){finite}{divides}{if_valid}", expr.code)
            if expr.under:
                other = f"finite({b})" if expr.zero else f"({b} != 0)"
                self.fail(f"({made} == 0) & ({a} != 0) & {other}{divides}{if_valid}", expr.under)
            if expr.zero:
                self.fail(f"({b} == 0) & ({a} == {a}){if_valid}", expr.zero)
            return made, valid
        left, right = expr.left.bounds, expr.right.bounds
        assert left is not None
        assert right is not None
        ops = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
        corners = [ops[expr.op](x, y) for x in left for y in right] + [*left, *right]
        wide = c_type((min(corners), max(corners)))
        text = f"({wide}){a} {expr.op} ({wide}){b}"
        if expr.limits is None:
            return self.variable(kind, text if wide == kind else f"({kind})({text})"), valid
        low, high = (c_literal(limit, wide) for limit in expr.limits)
        return self._check_limits(self.variable(wide, text), valid, (low, high), expr.code, kind), valid

    def _compare(self, op: str, left: Expr, right: Expr) -> Code:
        packed = stored_columns.compare_packed(self, op, left, right)
        if packed is not None:
            return packed
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
        return self.variable("bool", text), self._and_valid(one, other)

    def _logic(self, expr: Logic) -> Code:
        if expr.op == "NOT":
            value, valid = self.value(expr.args[0])
            return self.variable("bool", f"!{value}"), valid
        stops = expr.op == "OR"
        if not any(can_fail(each) or is_expensive(each) for each in expr.args[1:]):
            codes = [self.value(each) for each in expr.args]
            # The result is known if an operand decides it, or if all are valid.
            decided = [
                (value if stops else f"!{value}")
                if valid is None
                else f"(({value if stops else f'!{value}'}) & {valid})"
                for value, valid in codes
            ]
            any_decided = self.variable("bool", " | ".join(decided))
            value = any_decided if stops else f"(!{any_decided})"
            if not expr.nullable:
                return value, None
            known = self._and_valid(*(valid for _, valid in codes))
            return value, None if known is None else self.variable("bool", f"{any_decided} | {known}")
        decided_name, unknown = self.new_name(), self.new_name()
        self.emit(f"bool {decided_name} = false, {unknown} = false;")
        for each in expr.args:
            with self.block(f"if (!{decided_name})"):
                value, valid = self.value(each)
                is_deciding = value if stops else f"!{value}"
                if valid is None:
                    self.emit(f"{decided_name} = {is_deciding};")
                else:
                    self.emit(f"{decided_name} = ({is_deciding}) & {valid}; {unknown} |= !{valid};")
        value = decided_name if stops else f"(!{decided_name})"
        return value, f"({decided_name} | !{unknown})" if expr.nullable else None

    def _score(self, expr: TreeScore, kind: str) -> str:
        """Emits the score of features, which are an array in local memory, as the walk through a tree indexes them."""
        shape, item = expr.shape, trees.item_type(expr.shape)
        features = []
        for each in expr.args:
            value, valid = self.value(each)
            text = f"({item}){'(float)' if shape.rounded else ''}{value}"
            features.append(text if valid is None else f"({valid} ? {text} : ({item})NAN)")
        # A feature that the function lacks is missing
        features += [f"({item})NAN"] * (shape.features - len(features))
        array = self.new_name("x")
        self.emit(f"const {item} {array}[{len(features)}] = {{{', '.join(features)}}};")
        tables = [f"m{expr.table + n}" for n in range(4)]
        return self.variable(kind, trees.render_score(shape, tables, array, label=expr.bounds is not None))

    def _choose(self, expr: CaseWhen, kind: str) -> Code:
        made, known = self.new_name(), self.new_name()
        self.emit(f"{kind} {made} = 0; bool {known} = true;")
        self._branch(expr, 0, made, known, kind)
        return made, known if expr.nullable else None

    def _branch(self, expr: CaseWhen, position: int, made: str, known: str, kind: str) -> None:
        if position == len(expr.branches):
            self._assign(expr.default, made, known, kind)
            return
        condition, then = expr.branches[position]
        with self.block():
            true = self.condition(condition)
            with self.block(f"if ({true})"):
                self._assign(then, made, known, kind)
            with self.block("else"):
                self._branch(expr, position + 1, made, known, kind)

    def _assign(self, expr: Expr, made: str, known: str, kind: str) -> None:
        value, valid = self.value(expr)
        self.emit(f"{made} = ({kind}){value};" + ("" if valid is None else f" {known} = {valid};"))


def _to_float_within(limit: int, bounds: tuple[int, int]) -> float:
    """Returns the float nearest to a limit of integers that is within them."""
    near = float(limit)
    return near if bounds[0] <= int(near) <= bounds[1] else math.nextafter(near, 0.0)
