"""Well-formed queries of single clauses: ties, VALUES, frames with offsets, ordered sets, row comparison, time, text.

As in `constructs`, every statement has one answer.
"""

from __future__ import annotations

import random

from tests.support.generated.queries import Maker, Scope
from tests.support.generated.statement import ZONES

_DEALS = Scope(
    (("x.id", "int4"), ("x.person", "int4"), ("x.amount", "numeric"), ("x.day", "date"), ("x.note", "text"), ("x.done", "bool"))
)  # fmt: skip
_PEOPLE = Scope((("p.id", "int4"), ("p.team", "int4"), ("p.name", "text"), ("p.pay", "numeric"), ("p.born", "date")))

_MOMENTS = {
    "timestamp": ("'2024-02-29 12:34:56.789'", "'2024-12-31 23:59:59.5'", "'0044-03-15 10:00 BC'", "'infinity'", "NULL", "'2024-01-31'"),
    "timestamptz": ("'2024-03-31 02:30:00 Europe/Berlin'", "'2024-11-03 01:30:00 America/New_York'", "'2024-02-29 12:00+05:30'", "'-infinity'", "NULL", "'epoch'"),
    "date": ("'2024-02-29'", "'2023-12-31'", "'infinity'", "NULL", "'0001-01-01 BC'"),
    "time": ("'12:34:56.789'", "'24:00:00'", "'00:00'", "NULL"),
    "timetz": ("'12:34:56.789+02'", "'00:00:00-03:30'", "NULL"),
    "interval": ("'1 year 2 mons 3 days 04:05:06.789'", "'-1 day 2 hours'", "'P1Y2M3DT4H5M6.7S'", "'1.5 months'", "'0'", "NULL", "'-00:00:01'", "'90 minutes'", "'1-2'"),
}  # fmt: skip
_FIELDS = ("year", "month", "day", "hour", "minute", "second", "epoch", "dow", "isodow", "doy", "week", "isoyear", "quarter", "century", "decade", "millennium", "julian", "microseconds", "milliseconds", "timezone", "timezone_hour")  # fmt: skip
_UNITS = (
    "microsecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
    "century",
    "millennium",
)
_TEMPLATES = ("YYYY-MM-DD HH24:MI:SS.US", "FMDay, DD FMMonth YYYY", "IYYY-IW-ID", "HH12:MI AM", "Q CC J DDD", "TZ OF", "FMHH24\"h\"MI", "Mon-YY th DDth", "SSSSS MS")  # fmt: skip
_NUMBERS = ("FM999,990.00", "S9999", "9999MI", "000.0PR", "RN", "9.99EEEE", "L99", "99V99", "FM0000", "B99", "999D9G9")  # fmt: skip
_TEXTS = ("'abc'", "'A b,C'", "''", "NULL", "'é日本x'", "'aaa'", "'2024-02-29'", "'x.y.z'", "'foo bar  baz'")
_REPLACEMENTS = ("'<\\1>'", "'\\&'", "NULL", "''")
_PATTERNS = ("'a'", "'[[:alpha:]]+'", "'(a|b)(c)?'", "'^.'", "'\\d+'", "'b*'", "'(?i)A'", "'x?$'", "'.*?a'", "''", "'\\m\\w'", "'(['")  # fmt: skip

_MILD = tuple(f"{each}::float8" for each in ("1", "2.5", "-3", "0", "7", "NULL", "10", "-1.5", "'NaN'"))


def statement(chance: random.Random) -> str:
    """Returns one statement of any of the kinds."""
    return chance.choices(tuple(_KINDS), tuple(_KINDS.values()))[0](chance)


def _ties(chance: random.Random) -> str:
    """FETCH FIRST … WITH TIES, DISTINCT ON and LIMIT, whose order determines each row's position."""
    maker = Maker(chance)
    key = maker.value(_DEALS, chance.choice(("int4", "date", "text", "bool")), 1)
    way = chance.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
    count, skipped = (
        chance.choice(("1", "2", "5", "(1 + 1)", "0", "-1", "NULL")),
        chance.choice(("", " OFFSET 0", " OFFSET 100", " OFFSET NULL")),
    )
    where = f" WHERE {maker.condition(_DEALS, 1)}" if chance.random() < 0.5 else ""
    return chance.choice(
        (
            f"SELECT {key} AS k, x.id FROM made.deals AS x{where} ORDER BY 1{way}{skipped} FETCH FIRST {count} ROWS WITH TIES",
            f"SELECT x.id FROM made.deals AS x{where} ORDER BY x.id{way} OFFSET 2 ROWS FETCH NEXT {chance.choice(('', '3 ', '1 '))}ROWS ONLY",
            f"SELECT DISTINCT ON ({key}) {key} AS k, x.id FROM made.deals AS x{where} ORDER BY {key}{way}, x.id DESC",
            f"SELECT x.id, {key} FROM made.deals AS x{where} ORDER BY x.id LIMIT (SELECT count(*) / 5 FROM made.deals){skipped}",
            f"SELECT count(*) FROM (SELECT {key} FROM made.deals AS x{where} ORDER BY {key}{way} LIMIT {count}) AS s",
        )
    )  # fmt: skip


def _values(chance: random.Random) -> str:
    """VALUES as a statement, in FROM, in set operations and as a list in a comparison."""
    maker, none = Maker(chance), Scope(())
    kinds = chance.choices(("int4", "text", "numeric", "date", "bool"), k=chance.randint(1, 3))
    rows = ", ".join(
        f"({', '.join(maker.value(none, kind, 1) for kind in kinds)})" for _ in range(chance.randint(1, 4))
    )
    names = ", ".join(f"v{n}" for n in range(len(kinds)))
    return chance.choice(
        (
            f"VALUES {rows}", f"VALUES {rows} ORDER BY 1{chance.choice(('', ' DESC', ' NULLS FIRST'))}", f"SELECT * FROM (VALUES {rows}) AS t({names})",
            f"(VALUES {rows}) {chance.choice(('UNION', 'EXCEPT', 'INTERSECT', 'UNION ALL'))} (VALUES {rows})", f"SELECT v0, count(*) FROM (VALUES {rows}) AS t({names}) GROUP BY v0",
            f"WITH t({names}) AS (VALUES {rows}) SELECT max(v0), count(DISTINCT v0) FROM t", f"SELECT (VALUES ({maker.value(none, 'int4', 1)})) + 1",
            f"SELECT t FROM (VALUES {rows}) AS t({names})", "SELECT x.id FROM made.deals AS x WHERE (x.person, x.note) IN (VALUES (1, 'x'), (5, NULL), (3, ''))",
        )
    )  # fmt: skip


def _offset_frame(chance: random.Random) -> str:
    """RANGE and GROUPS with offsets, over integers, decimals, dates and timestamps."""
    key, offset = chance.choice(
        (
            ("x.id", ("1", "3", "0", "100")), ("x.amount", ("10", "0.005", "0")), ("x.day", ("'1 month'", "interval '10 days'", "'0'")), ("x.id::bigint", ("2::bigint", "5")),
            ("x.day::timestamp", ("'1 day'", "'1 mon -3 days'")), ("x.id::float8", ("1.5", "0.1")), ("x.id::smallint", ("1", "2")), ("x.day::timestamptz", ("'36 hours'",)),
        )
    )  # fmt: skip
    mode = chance.choice(("RANGE", "RANGE", "GROUPS"))
    amounts = offset if mode == "RANGE" else ("0", "1", "2")
    first = chance.choice(("UNBOUNDED PRECEDING", f"{chance.choice(amounts)} PRECEDING", "CURRENT ROW"))
    last = chance.choice(("CURRENT ROW", f"{chance.choice(amounts)} FOLLOWING", "UNBOUNDED FOLLOWING"))
    call = chance.choice(
        (
            "sum(x.amount)",
            "count(*)",
            "avg(x.id)",
            "max(x.day)",
            "min(x.note)",
            "count(x.amount) FILTER (WHERE x.done)",
            "sum(x.id)",
            "bool_and(x.done)",
        )
    )
    part = chance.choice(("", "PARTITION BY x.done ", "PARTITION BY x.person % 2 "))
    exclude = chance.choice(("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"))
    return f"SELECT x.id, {call} OVER ({part}ORDER BY {key}{chance.choice(('', ' DESC', ' NULLS FIRST'))} {mode} BETWEEN {first} AND {last}{exclude}) FROM made.deals AS x"


def _ordered_set(chance: random.Random) -> str:
    """Ordered-set and hypothetical-set aggregates, by groups and with FILTER."""
    maker = Maker(chance)
    kind = chance.choice(("int4", "numeric", "date", "text"))
    value = maker.value(_DEALS, kind, 1)
    order = f"ORDER BY {value}{chance.choice(('', ' DESC', ' NULLS FIRST'))}"
    share = chance.choice(("0", "0.5", "0.25", "1", "NULL", "1.5", "ARRAY[0, 0.5, 1]"))
    given = maker.value(Scope(()), kind, 0)
    number = maker.value(_DEALS, chance.choice(("int4", "numeric")), 1)
    call = chance.choice(
        (
            f"percentile_disc({share}) WITHIN GROUP ({order})", f"percentile_cont({share}) WITHIN GROUP (ORDER BY {number})", f"rank({given}) WITHIN GROUP ({order})",
            f"dense_rank({given}) WITHIN GROUP ({order})", f"percent_rank({given}) WITHIN GROUP ({order})", f"cume_dist({given}) WITHIN GROUP ({order})",
            "mode() WITHIN GROUP (ORDER BY x.done IS NULL)", f"percentile_cont({share}) WITHIN GROUP (ORDER BY x.day - DATE '2024-01-01')",
        )
    )  # fmt: skip
    more = f" FILTER (WHERE {maker.condition(_DEALS, 1)})" if chance.random() < 0.3 else ""
    return (
        f"SELECT x.done, {call}{more} FROM made.deals AS x GROUP BY {chance.choice(('x.done', 'ROLLUP (x.done)'))}"
        if chance.random() < 0.6
        else f"SELECT {call}{more} FROM made.deals AS x WHERE {maker.condition(_DEALS, 1)}"
    )


def _rows(chance: random.Random) -> str:
    """Rows, arrays and lists compared with one, any and all."""
    maker = Maker(chance)
    a, b = maker.value(_PEOPLE, "int4", 1), maker.value(_PEOPLE, "text", 1)
    c, d = maker.value(_DEALS, "int4", 1), maker.value(_DEALS, "text", 1)
    compare = chance.choice(("=", "<>", "<", "<=", ">", ">="))
    word = chance.choice(("ANY", "ALL", "SOME"))
    where = maker.condition(Scope((*_DEALS.columns, *_PEOPLE.columns)), 1)
    return chance.choice(
        (
            f"SELECT p.id, ROW({a}, {b}) {compare} ROW(1, 'ann'), ({a}, {b}) IS NULL, ({a}, {b}) IS NOT NULL FROM made.people AS p", f"SELECT p.id FROM made.people AS p WHERE ({a}, {b}) {chance.choice(('IN', 'NOT IN'))} (SELECT {c}, {d} FROM made.deals AS x WHERE {where})",
            f"SELECT p.id FROM made.people AS p WHERE {a} {compare} {word} (SELECT {c} FROM made.deals AS x WHERE {where})", f"SELECT p.id, {a} {compare} {word} (ARRAY[1, NULL, 3]), {b} {compare} {word} ('{{ann,x}}') FROM made.people AS p",
            f"SELECT p.id FROM made.people AS p WHERE ({a}, {b}) = (SELECT {c}, {d} FROM made.deals AS x WHERE x.id = 3)", f"SELECT p.id, ROW({a}, {b}) IS DISTINCT FROM ROW(p.team, p.name) FROM made.people AS p",
            f"SELECT ARRAY(SELECT x.id FROM made.deals AS x WHERE {maker.condition(_DEALS, 1)} ORDER BY x.id), EXISTS (SELECT FROM made.deals AS x WHERE {maker.condition(_DEALS, 1)})", f"SELECT p.id, {b} {chance.choice(('LIKE', 'NOT LIKE', 'ILIKE', '~', '!~*'))} {chance.choice(('ANY', 'ALL'))} (ARRAY['a%', '%b', '.']) FROM made.people AS p",
            f"SELECT count(DISTINCT ({a}, {b})), count(DISTINCT ROW({b})) FROM made.people AS p", f"SELECT ({a}, {b}) AS r FROM made.people AS p ORDER BY r, p.id", f"SELECT x.id, p.id FROM made.deals AS x JOIN made.people AS p ON ({c}, x.done) {compare} ({a}, true)",
        )
    )  # fmt: skip


def _moments(chance: random.Random) -> str:
    """Dates, timestamps and intervals: fields, truncation, templates, zones, arithmetic and series."""
    kind = chance.choice(tuple(_MOMENTS))
    one, other = (f"{chance.choice(_MOMENTS[kind])}::{kind}" for _ in range(2))
    span = f"{chance.choice(_MOMENTS['interval'])}::interval"
    field, unit, zone, template = (
        chance.choice(_FIELDS),
        chance.choice(_UNITS),
        chance.choice(ZONES),
        chance.choice(_TEMPLATES),
    )
    return chance.choice(
        (
            f"SELECT extract({field} FROM {one}), date_part('{chance.choice(_FIELDS)}', {other})", f"SELECT date_trunc('{unit}', {one})", f"SELECT to_char({one}, '{template}')",
            f"SELECT {one} {chance.choice(('+', '-'))} {span}, {one} {chance.choice('< = >'.split())} {other}", f"SELECT {one} - {other}", f"SELECT {one} AT TIME ZONE '{zone}', {other} AT TIME ZONE interval '-3 hours'",
            f"SELECT age({one}, {other})", f"SELECT {one}::{chance.choice(tuple(_MOMENTS))}, {other}::text", f"SELECT {span} * {chance.choice(('2', '0.5', '-1.5', '1e10', 'NULL'))}, {span} / {chance.choice(('3', '0', '-0.7'))}, - {span}",
            f"SELECT justify_days({span}), justify_hours({span}), justify_interval({span})", f"SELECT ({one}, {span}) OVERLAPS ({other}, {span})", f"SELECT date_bin('{chance.choice(('15 minutes', '1 day', '7 hours'))}', {one}, '2001-01-01'), date_trunc('{unit}', {one}, '{zone}')",
            f"SELECT to_timestamp('{chance.choice(('2024-02-29 13:05', '29 Feb 2024', '2024060', '12:00 PM'))}', '{chance.choice(('YYYY-MM-DD HH24:MI', 'DD Mon YYYY', 'YYYYDDD', 'HH12:MI AM'))}'), to_date('2024-366', 'YYYY-DDD')",
            f"SELECT g FROM generate_series('2024-01-30'::timestamp, '2024-06-01', '{chance.choice(('1 month', '17 days', '-1 day', '0'))}') AS g", f"SELECT make_date({chance.choice(('2024, 2, 29', '2023, 2, 29', '-1, 1, 1', '0, 1, 1'))}), make_timestamp(2024, 2, 29, 12, 30, {chance.choice(('59.9', '60', '61'))})",
            f"SELECT sum(v), avg(v), min(v), max(v) FROM (VALUES ({span}), ({chance.choice(_MOMENTS['interval'])}), ('3 hours')) AS t(v)", f"SELECT v, count(*) FROM (VALUES ({one}), ({other}), ({one})) AS t(v) GROUP BY v ORDER BY v", f"SELECT {one} BETWEEN SYMMETRIC {other} AND {one}, greatest({one}, {other})",
            f"SELECT make_interval(years => {chance.choice('01')}, days => {chance.choice(('-3', '400'))}, secs => {chance.choice(('1.5', '-0.1'))}), isfinite({one})", f"SELECT {one}::{chance.choice(('interval day', 'interval(2)', 'timestamp(0)', 'time(1)', 'timestamptz(3)', 'interval hour to minute'))}",
        )
    )  # fmt: skip


def _patterns(chance: random.Random) -> str:
    """Texts: regular expressions, splitting, formats and their functions."""
    one, other, pattern = chance.choice(_TEXTS), chance.choice(_TEXTS), chance.choice(_PATTERNS)
    flags, n = (
        chance.choice(("''", "'g'", "'i'", "'gi'", "'n'", "'x'", "'q'")),
        chance.choice(("0", "1", "2", "-1", "100", "NULL")),
    )
    number = chance.choice(("1234.567", "-0.5", "0", "NULL::numeric", "1e10", "12", "-99.995"))
    return chance.choice(
        (
            f"SELECT regexp_replace({one}, {pattern}, {chance.choice(_REPLACEMENTS)}, {flags})", f"SELECT regexp_matches({one}, {pattern}, {flags})", f"SELECT regexp_split_to_array({one}, {pattern}), regexp_count({other}, {pattern})", f"SELECT regexp_split_to_table({one}, {pattern}, {flags})",
            f"SELECT regexp_substr({one}, {pattern}, 1, {chance.choice('123')}), regexp_instr({other}, {pattern}), regexp_like({one}, {pattern}, {flags})", f"SELECT {one} {chance.choice(('~', '~*', '!~', '!~*'))} {pattern}, {one} SIMILAR TO {chance.choice(_TEXTS)}", f"SELECT substring({one} FROM {pattern}), substring({other} FROM {n} FOR 2)",
            f"SELECT split_part({one}, {other}, {n}), string_to_array({one}, {other}, 'a')", f"SELECT string_to_table({one}, {other})", f"SELECT format('%s %-5s| %L %I %2$s', {one}, {other}, {chance.choice(_TEXTS)}, 'x')", f"SELECT to_char({number}, '{chance.choice(_NUMBERS)}')",
            f"SELECT lpad({one}, {n}, {other}), rpad({one}, {n}), left({one}, {n}), right({one}, {n}), repeat({one}, {n})", f"SELECT translate({one}, {other}, 'xyz'), overlay({one} PLACING {other} FROM {n}), position({other} IN {one}), strpos({one}, {other})", f"SELECT initcap({one}), reverse({one}), md5({one}), ascii({one}), quote_literal({one}), quote_ident({other}), quote_nullable({one})",
            f"SELECT btrim({one}, {other}), ltrim({one}), rtrim({other}, {one}), trim(both 'a' from {one}), length({one}), octet_length({one}), bit_length({one})", f"SELECT to_number('{chance.choice(('1,234.5', '-12', '12-', '<7>', 'x'))}', '{chance.choice(_NUMBERS)}')", f"SELECT encode({one}::bytea, '{chance.choice(('hex', 'base64', 'escape', 'nothing'))}'), decode({other}, '{chance.choice(('hex', 'base64', 'escape'))}')",
            f"SELECT concat({one}, {number}, NULL, {other}), concat_ws({one}, {other}, NULL, 'q'), {one} || {number}", f"SELECT {one} LIKE {other} ESCAPE '{chance.choice(('!', '', 'a'))}', {one} ILIKE 'A%', {one} ^@ {other}", f"SELECT normalize({one}, NFD), {one} IS NORMALIZED, unistr('\\0061'), chr({n}), to_hex(255), starts_with({one}, {other})",
            f"SELECT string_agg(v, {other} ORDER BY v), min(v), max(v), count(DISTINCT v) FROM (VALUES ({one}), ({other}), ('b')) AS t(v)",
        )
    )  # fmt: skip


def _numbers(chance: random.Random) -> str:
    """Numbers: operators, rounding, aggregates of statistics, bits."""
    pools = {
        "integer": ("1", "-7", "0", "2147483647", "NULL", "42"), "bigint": ("9223372036854775807", "-1", "3", "NULL"), "smallint": ("32767", "-2", "0"),
        "numeric": ("1.5", "-2.345", "0.00", "1e-10", "123456789.987654321", "NULL", "2"), "float8": ("1.5", "'NaN'", "'Infinity'", "-0.0", "1e308", "NULL", "2.5"), "real": ("1.1", "3e38", "'-Infinity'", "-2.5"),
    }  # fmt: skip
    kind, also = chance.choice(tuple(pools)), chance.choice(tuple(pools))
    one, other = f"{chance.choice(pools[kind])}::{kind}", f"{chance.choice(pools[also])}::{also}"
    rows = ", ".join(f"({chance.choice(pools[kind])}::{kind}, {chance.choice(pools[also])}::{also})" for _ in range(3))
    # of similar numbers: cancellation would reveal the order of additions
    pairs = ", ".join(f"({chance.choice(_MILD)}, {chance.choice(_MILD)})" for _ in range(4))
    call = chance.choice(("abs", "ceil", "floor", "sign", "sqrt", "cbrt", "exp", "ln", "log", "round", "trunc", "degrees", "sin", "atan", "factorial", "scale", "min_scale", "trim_scale"))  # fmt: skip
    over = chance.choice(
        (
            "sum",
            "avg",
            "min",
            "max",
            "count",
            "stddev",
            "stddev_pop",
            "variance",
            "var_pop",
            "bit_and",
            "bit_or",
            "bit_xor",
        )
    )
    two = chance.choice(
        (
            "corr",
            "covar_pop",
            "covar_samp",
            "regr_slope",
            "regr_intercept",
            "regr_r2",
            "regr_count",
            "regr_avgx",
            "regr_sxx",
            "regr_sxy",
        )
    )
    return chance.choice(
        (
            f"SELECT {one} {chance.choice('+ - * / % ^ < = >= <>'.split())} {other} AS v", f"SELECT {call}({one}) AS v", f"SELECT {chance.choice(('round', 'trunc'))}({one}::numeric, {chance.choice(('2', '-1', '0', '5'))}), div({one}::numeric, {other}::numeric), mod({one}::numeric, {other}::numeric)",
            f"SELECT {over}(a), {over}(DISTINCT b) FROM (VALUES {rows}) AS t(a, b)", f"SELECT {two}(a, b) FROM (VALUES {pairs}) AS t(a, b)", f"SELECT gcd({one}, {other}), lcm({one}, {other})", f"SELECT width_bucket({one}::numeric, 0, 10, 5), power({one}, {other})",
            f"SELECT {chance.choice(('&', '|', '#', '<<', '>>')).join(('7', ' 3'))}, ~ {one}, {one} & 3", f"SELECT {one}::{also}, {other}::{kind}", f"SELECT {one}::numeric({chance.choice(('3,1', '5', '2,2', '10,-2', '4,6'))})", f"SELECT a, rank() OVER (ORDER BY a, b), sum(b) OVER (ORDER BY a) FROM (VALUES {rows}) AS t(a, b)",
            f"SELECT {over}(a) OVER (PARTITION BY b) FROM (VALUES {rows}) AS t(a, b)", f"SELECT a, count(*), {over}(b) FROM (VALUES {rows}) AS t(a, b) GROUP BY a", f"SELECT g FROM generate_series({one}, 3, {chance.choice(('1', '2', '0', '-1'))}) AS g LIMIT 3" if kind in ("smallint",) else f"SELECT num_nulls({one}, {other}), {one} IS DISTINCT FROM {other}",
        )
    )  # fmt: skip


_KINDS = {
    _ties: 2, _values: 2, _offset_frame: 2, _ordered_set: 2, _rows: 3, _moments: 4, _patterns: 4, _numbers: 4,
}  # fmt: skip
