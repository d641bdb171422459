"""Well-formed statements that the generated suites lack: DML with RETURNING, recursion, sets, frames, documents.

Every statement has one answer: frames and LIMITs are over a total order, aggregates that list values are ordered.
"""

from __future__ import annotations

import random

from tests.support.generated.queries import Maker, Scope

_PEOPLE = (("id", "int4"), ("team", "int4"), ("name", "text"), ("pay", "numeric"), ("born", "date"))
_DEALS = (
    ("id", "int4"),
    ("person", "int4"),
    ("amount", "numeric"),
    ("day", "date"),
    ("note", "text"),
    ("done", "bool"),
)
_TABLES = {"people": _PEOPLE, "deals": _DEALS}

_RANGES = {
    "int4range": ("'[1,5)'", "'(,3]'", "'empty'", "'[3,3]'", "'[-2,)'", "'(,)'", "NULL", "int4range(2, 7, '(]')"),
    "numrange": ("'[1.5,2.50)'", "'(0,10]'", "'empty'", "'[2.50,)'", "'(,1.5]'", "NULL", "numrange(1.0, 2)"),
    "daterange": ("'[2024-01-01,2024-03-01)'", "'(2024-02-29,infinity)'", "'empty'", "'[2024-02-29,2024-02-29]'", "NULL"),
    "tstzrange": ("'[2024-01-01 00:00+00,2024-01-02 00:00+00)'", "'(,2024-01-01 12:00+00]'", "'empty'", "NULL"),
}  # fmt: skip
_ELEMENTS = {
    "int4range": ("1", "3", "5", "-2", "NULL::int"), "numrange": ("1.5", "2.50", "10::numeric", "NULL::numeric"),
    "daterange": ("DATE '2024-02-29'", "DATE '2024-03-01'", "'-infinity'::date"),
    "tstzrange": ("timestamptz '2024-01-01 12:00+00'", "'infinity'::timestamptz"),
}  # fmt: skip
_RANGE_OPERATORS = "= <> < <= > >= @> <@ && << >> &< &> -|- + * -".split()

_ARRAYS = {
    "int4": ("ARRAY[1,2,3]", "'{}'::int[]", "'{NULL,2}'::int[]", "ARRAY[3,1,1]", "NULL::int[]", "ARRAY[[1,2],[3,4]]", "ARRAY[[5,6]]"),
    "text": ("ARRAY['a','b']", "'{}'::text[]", "'{NULL,\"é x\"}'::text[]", "ARRAY['b']", "NULL::text[]", "ARRAY[['a','b'],['c',NULL]]"),
}  # fmt: skip
_ITEMS = {"int4": ("1", "2", "NULL", "0"), "text": ("'a'", "'b'", "NULL", "''")}
_DOCUMENTS = (
    """'{"a": 1, "b": [1, 2, {"c": null}], "d": "x"}'""", """'[1, "two", null, [3.50, true]]'""", "'{}'", "'[]'", "'\"s\"'",
    "'1.0'", "'null'", "NULL", """'{"a": {"b": {"c": [10, 20]}}, "é": "ü"}'""", """'[{"a": 1}, {"a": 2}, {"b": 3}]'""", "'true'",
)  # fmt: skip
_KEYS = ("'a'", "'b'", "'é'", "0", "1", "-1", "'c'", "NULL::text", "9")
_PATHS = (
    "$",
    "$.a",
    "$.b[*]",
    "$[*]",
    "$.**",
    "$[*].a",
    "$.a ? (@ > 0)",
    "$[0 to 1]",
    "$.b.size()",
    "strict $.a.b",
    '$.d like_regex "x"',
)


_MULTIRANGES = (
    "'{[1,3),[5,8)}'",
    "'{}'",
    "'{(,2],[4,4]}'",
    "'{[2,6)}'",
    "NULL",
    "'{(,)}'",
    "int4multirange(int4range(3, 5), int4range(7, NULL))",
)


def statement(chance: random.Random) -> str:
    """Returns one statement of any of the kinds."""
    return chance.choices(tuple(_KINDS), tuple(_KINDS.values()))[0](chance)


def _own(table: str, alias: str) -> Scope:
    return Scope(tuple((f"{alias}.{name}", kind) for name, kind in _TABLES[table]))


def _returning(maker: Maker, scope: Scope) -> str:
    roll = maker.chance.random()
    if roll < 0.3:
        return ""
    items = ", ".join(maker.value(scope, kind, 1) for kind in maker.chance.choices(("int4", "text", "numeric"), k=2))
    return " RETURNING *" if roll < 0.5 else f" RETURNING {items}"


def _assignments(maker: Maker, table: str, scope: Scope) -> str:
    columns = maker.chance.sample([each for each in _TABLES[table] if each[0] != "id"], maker.chance.randint(1, 2))
    if maker.chance.random() < 0.15:
        names, values = ", ".join(name for name, _ in columns), ", ".join(maker.value(scope, k, 1) for _, k in columns)
        return f"({names}) = ROW({values})"
    return ", ".join(
        f"{name} = {'DEFAULT' if maker.chance.random() < 0.06 else maker.value(scope, kind, 1)}"
        for name, kind in columns
    )


def _update(chance: random.Random) -> str:
    maker, table = Maker(chance), chance.choice(tuple(_TABLES))
    scope = _own(table, "x")
    source = ""
    if chance.random() < 0.4:
        # If several rows join, any may win: each joins at most one.
        source, scope = " FROM made.teams AS y", Scope((*scope.columns, ("y.id", "int4"), ("y.name", "text")))
        on = f"y.id = x.{'team' if table == 'people' else 'person'} AND "
    else:
        on = ""
    return f"UPDATE made.{table} AS x SET {_assignments(maker, table, scope)}{source} WHERE {on}{maker.condition(scope)}{_returning(maker, scope)}"


def _delete(chance: random.Random) -> str:
    maker, table = Maker(chance), chance.choice(tuple(_TABLES))
    scope = _own(table, "x")
    using = " USING made.teams AS y" if (joined := chance.random() < 0.3) else ""
    on = f"y.id = x.{'team' if table == 'people' else 'person'} AND " if joined else ""
    return f"DELETE FROM made.{table} AS x{using} WHERE {on}{maker.condition(scope)}{_returning(maker, scope)}"


def _insert(chance: random.Random) -> str:
    maker, table = Maker(chance), chance.choice(tuple(_TABLES))
    kinds = tuple(kind for _, kind in _TABLES[table])
    conflict = chance.choice(("", "", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO NOTHING", "update", "update"))
    if conflict == "update":
        own = _own(table, table)
        given = Scope((*own.columns, *((f"excluded.{name}", kind) for name, kind in _TABLES[table])))
        where = f" WHERE {maker.condition(given)}" if chance.random() < 0.4 else ""
        conflict = f" ON CONFLICT (id) DO UPDATE SET {_assignments(maker, table, given)}{where}"
    if chance.random() < 0.5:
        ids = chance.sample(range(1, 60), 2)
        rows = ", ".join(f"({n}, {', '.join(maker.value(Scope(()), kind, 1) for kind in kinds[1:])})" for n in ids)
        source = f"VALUES {rows}"
    else:
        items = ", ".join(maker.value(_own("deals", "s"), kind, 1) for kind in kinds[1:])
        source = f"SELECT s.id + {chance.choice((0, 10, 100))}, {items} FROM made.deals AS s WHERE {maker.condition(_own('deals', 's'))}"
    return f"INSERT INTO made.{table} {source}{conflict}{_returning(maker, _own(table, table))}"


def _merge(chance: random.Random) -> str:
    maker, scope, source = Maker(chance), _own("people", "x"), _own("deals", "s")
    both = Scope((*scope.columns, *source.columns))
    whens = []
    for _ in range(chance.randint(1, 3)):
        matched = chance.random() < 0.6
        seen = both if matched else source
        also = f" AND {maker.condition(seen, 1)}" if chance.random() < 0.5 else ""
        values = ", ".join(maker.value(source, kind, 1) for _, kind in _PEOPLE[1:])
        act = (
            chance.choice(("DELETE", "DO NOTHING", f"UPDATE SET {_assignments(maker, 'people', both)}"))
            if matched
            else chance.choice(
                ("DO NOTHING", f"INSERT VALUES (s.id + 100, {values})", "INSERT (id, name) VALUES (s.id + 100, s.note)")
            )
        )
        whens.append(f"WHEN {'' if matched else 'NOT '}MATCHED{also} THEN {act}")
    return f"MERGE INTO made.people AS x USING made.deals AS s ON x.id = s.id{chance.choice(('', ' AND s.done', ' AND x.team = 1'))} {' '.join(whens)}"


def _with_change(chance: random.Random) -> str:
    change = chance.choice((_update, _delete, _insert))(chance)
    if " RETURNING" not in change:
        change += " RETURNING *"
    return f"WITH changed AS ({change}) SELECT count(*), (SELECT count(*) FROM made.people) FROM changed"


def _recursive(chance: random.Random) -> str:
    maker, scope = Maker(chance), _own("people", "p")
    union = chance.choice(("UNION", "UNION ALL"))
    tail = (
        chance.choice(
            ("", " SEARCH DEPTH FIRST BY id SET o", " SEARCH BREADTH FIRST BY id SET o", " CYCLE id SET c USING p")
        )
        if union == "UNION ALL"
        else ""
    )
    step = chance.choice(
        (
            "SELECT p.id, r.depth + 1 FROM r JOIN made.people p ON p.team = r.id WHERE r.depth < 4",
            "SELECT r.id + 1, r.depth + 1 FROM r WHERE r.depth < 6",
            "SELECT t.boss, r.depth + 1 FROM r, made.teams t WHERE t.id = r.id % 4 + 1 AND r.depth < 5",
        )
    )
    return (
        f"WITH RECURSIVE r(id, depth) AS (SELECT p.id, 0 FROM made.people p WHERE {maker.condition(scope, 1)} {union} {step}){tail}"
        f" SELECT {chance.choice(('r.id, r.depth', 'count(*), max(depth)', 'depth, count(DISTINCT id)'))} FROM r"
        + chance.choice(("", " WHERE depth > 0"))
    ).replace("depth, count(DISTINCT id) FROM r", "depth, count(DISTINCT id) FROM r GROUP BY depth --")


def _framed(chance: random.Random) -> str:
    """Window functions over frames of every kind, in a total order."""
    maker, table = Maker(chance), chance.choice(tuple(_TABLES))
    scope = _own(table, "x")
    number = "pay" if table == "people" else "amount"
    bounds = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
    first = chance.randrange(4)
    last = chance.randrange(max(first, 1), 5)
    exclude = chance.choice(("", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"))
    frame = f"{chance.choice(('ROWS', 'GROUPS', 'RANGE'))} BETWEEN {bounds[first]} AND {bounds[last]}{exclude}"
    call = chance.choice(
        (
            f"sum(x.{number})", f"avg(x.{number})", "count(*)", f"max(x.{number})", "first_value(x.id)", "last_value(x.id)",
            "nth_value(x.id, 2)", "lag(x.id, 2, -1)", "lead(x.id)", "ntile(3)", "row_number()", "percent_rank()", "cume_dist()",
            "array_agg(x.id)", f"count(x.{number}) FILTER (WHERE {maker.condition(scope, 1)})", "string_agg(x.id::text, '-')",
        )
    )  # fmt: skip
    by = (
        f"PARTITION BY {maker.value(scope, chance.choice(('int4', 'text', 'date')), 1)} "
        if chance.random() < 0.5
        else ""
    )
    over = f"({by}ORDER BY x.id{chance.choice(('', ' DESC'))} {frame})"
    if chance.random() < 0.3:
        return f"SELECT x.id, {call} OVER w, rank() OVER w FROM made.{table} AS x WINDOW w AS {over}"
    return f"SELECT x.id, {call} OVER {over} FROM made.{table} AS x WHERE {maker.condition(scope, 1)}"


def _grouped(chance: random.Random) -> str:
    maker, scope = Maker(chance), _own("deals", "x")
    keys = ["x.person", "x.done", "x.note", "extract(year FROM x.day)"]
    some = chance.sample(keys, chance.randint(1, 3))
    listed = ", ".join(some)
    by = chance.choice(
        (
            f"GROUPING SETS (({listed}), ({some[0]}), ())", f"ROLLUP ({listed}), CUBE ({some[-1]})", f"{some[0]}, ROLLUP ({listed})",
            f"DISTINCT ROLLUP ({listed}), ROLLUP ({listed})", f"GROUPING SETS (ROLLUP ({listed}), CUBE ({some[0]}))", f"CUBE ({listed})",
        )
    )  # fmt: skip
    value = maker.value(scope, "numeric", 1)
    aggregate = chance.choice(
        (
            f"sum({value})", f"avg({value})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY x.id)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY x.id)",
            "array_agg(x.id ORDER BY x.id)", "jsonb_agg(x.note ORDER BY x.id)", "jsonb_object_agg(x.id, x.note)", "string_agg(DISTINCT x.note, ',' ORDER BY x.note)",
            "stddev(x.id)", "regr_count(x.id, x.person)", "count(DISTINCT (x.person, x.done))", "every(x.done)", "bit_or(x.id)", "mode() WITHIN GROUP (ORDER BY x.id)",
        )
    )  # fmt: skip
    having = " HAVING count(*) > 1" if chance.random() < 0.3 else ""
    return f"SELECT {listed}, GROUPING({listed}), {aggregate} FROM made.deals AS x GROUP BY {by}{having}"


def _lateral(chance: random.Random) -> str:
    maker, scope = Maker(chance), _own("people", "x")
    inner = Scope((*scope.columns, *_own("deals", "y").columns))
    item = chance.choice(
        (
            "generate_series(1, x.id % 3) WITH ORDINALITY AS y(g, n)", "unnest(ARRAY[x.id, x.team], ARRAY[x.name]) AS y(a, b)",
            "ROWS FROM (generate_series(1, 2), unnest(ARRAY[x.name, 'z'])) AS y(a, b)", "jsonb_each(jsonb_build_object('k', x.name, 'n', x.team)) AS y",
            "string_to_table(x.name, 'n') AS y(part)", "jsonb_to_recordset(jsonb_build_array(jsonb_build_object('a', x.id))) AS y(a int, b text)",
            "json_array_elements(json_build_array(x.id, x.name)) AS y(v)", "regexp_matches(x.name, '[a-n]', 'g') AS y(m)",
        )
    )  # fmt: skip
    if chance.random() < 0.5:
        return (
            f"SELECT x.id, y.* FROM made.people AS x{chance.choice((', ', ' CROSS JOIN '))}LATERAL {item}"
            if chance.random() < 0.5
            else f"SELECT x.id, y.* FROM made.people AS x LEFT JOIN LATERAL {item} ON {maker.condition(scope, 1)}"
        )
    order = f"ORDER BY y.id LIMIT {chance.randint(1, 3)}"
    return f"SELECT x.id, z.* FROM made.people AS x LEFT JOIN LATERAL (SELECT y.id, y.amount FROM made.deals AS y WHERE {maker.condition(inner)} {order}) AS z ON true"


def _ranges(chance: random.Random) -> str:
    name = chance.choice(tuple(_RANGES))
    one, other = (f"{chance.choice(_RANGES[name])}::{name}" for _ in range(2))
    element = chance.choice(_ELEMENTS[name])
    rows = ", ".join(f"({each}::{name})" for each in chance.sample(_RANGES[name], 3))
    return chance.choice(
        (
            f"SELECT {one} {chance.choice(_RANGE_OPERATORS)} {other} AS v", f"SELECT {one} @> {element}, {element} <@ {other} AS v",
            f"SELECT lower(r), upper(r), isempty(r), lower_inc(r), upper_inf(r), range_merge(r, {one}) FROM (VALUES {rows}) AS t(r)",
            f"SELECT r FROM (VALUES {rows}) AS t(r) ORDER BY r {chance.choice(('', 'DESC'))}", f"SELECT r, count(*) FROM (VALUES {rows}, ({one})) AS t(r) GROUP BY r",
            f"SELECT range_intersect_agg(r), max(r), min(r), count(DISTINCT r) FROM (VALUES {rows}) AS t(r)",
            f"SELECT a.r, b.r FROM (VALUES {rows}) AS a(r) JOIN (VALUES {rows}) AS b(r) ON a.r {chance.choice(('&&', '@>', '=', '-|-', '<<'))} b.r",
        )
    )  # fmt: skip


def _arrays(chance: random.Random) -> str:
    kind = chance.choice(tuple(_ARRAYS))
    one, other, item = chance.choice(_ARRAYS[kind]), chance.choice(_ARRAYS[kind]), chance.choice(_ITEMS[kind])
    return chance.choice(
        (
            f"SELECT {one} {chance.choice(('||', '=', '<', '@>', '<@', '&&', '<>', '>='))} {other} AS v", f"SELECT {one} || {item}::{kind}, {item}::{kind} || {other}",
            f"SELECT array_remove({one}, {item}), array_replace({one}, {item}, {chance.choice(_ITEMS[kind])}), array_position({one}, {item}), array_positions({one}, {item})",
            f"SELECT array_length({one}, 1), array_length({one}, 2), array_ndims({one}), array_dims({one}), cardinality({one}), array_upper({one}, 1)",
            f"SELECT ({one})[1], ({one})[1][1], ({one})[1:1], ({one})[:][2:], ({one})[NULL]", f"SELECT unnest({one}), unnest({other})",
            f"SELECT {item}::{kind} {chance.choice(('=', '<>', '<', '>='))} {chance.choice(('ANY', 'ALL'))} ({one}) AS v", f"SELECT array_to_string({one}, ',', '*'), array_to_json({one})",
            f"SELECT * FROM unnest({one}, {other}) WITH ORDINALITY AS t(a, b, n)", f"SELECT a, count(*) FROM (VALUES ({one}), ({other}), ({one})) AS t(a) GROUP BY a",
            f"SELECT array_agg(a) FROM (VALUES ({one}), ({one})) AS t(a)", f"SELECT trim_array({one}, 1), array_cat({one}, {other}), array_prepend({item}, {one})",
        )
    )  # fmt: skip


def _documents(chance: random.Random) -> str:
    name = chance.choice(("json", "jsonb", "jsonb", "jsonb"))
    one, other = (f"{chance.choice(_DOCUMENTS)}::{name}" for _ in range(2))
    key, also, path = chance.choice(_KEYS), chance.choice(_KEYS), chance.choice(_PATHS)
    both = (
        f"SELECT {one} -> {key} -> {also}, {one} ->> {key}", f"SELECT {one} #> '{{a,b}}', {one} #>> '{{b,-1,c}}'", f"SELECT {name}_typeof({one}), {name}_strip_nulls({one})",
        f"SELECT k, v FROM {name}_each({one}) AS e(k, v)", f"SELECT * FROM {name}_array_elements_text({one}) WITH ORDINALITY",
        f"SELECT {one} IS JSON OBJECT, {one} IS JSON ARRAY, {one} IS JSON SCALAR", f"SELECT {name}_extract_path_text({one}, 'a', 'b')",
        f"SELECT * FROM {name}_to_record({one}) AS r(a int, d text, b {name})", f"SELECT {name}_array_length({one}), {name}_object_keys({other})",
    )  # fmt: skip
    binary = (
        f"SELECT {one} {chance.choice(('@>', '<@', '=', '<', '>=', '||', '<>'))} {other} AS v", f"SELECT {one} - {key}, {one} #- '{{b,0}}'", f"SELECT {one} ? 'a', {one} ?| '{{a,x}}', {one} ?& '{{a,b}}'",
        f"SELECT ({one})[{key}], ({one})[{key}][{also}]", f"SELECT jsonb_set({one}, '{{b,1}}', {other}), jsonb_insert({one}, '{{0}}', '9')", f"SELECT jsonb_pretty({one})",
        f"SELECT jsonb_path_query({one}, '{path}')", f"SELECT jsonb_path_exists({one}, '{path}'), jsonb_path_query_array({one}, '{path}'), {one} @? '{path}'",
        f"SELECT j, count(*) FROM (VALUES ({one}), ({other}), ('1'), ('1.0')) AS t(j) GROUP BY j", f"SELECT j FROM (VALUES ({one}), ({other}), ('[1]'), ('\"b\"')) AS t(j) ORDER BY j",
        f"SELECT DISTINCT j FROM (VALUES ({one}), ({other})) AS t(j)", f"SELECT jsonb_agg(j ORDER BY j), count(DISTINCT j) FROM (VALUES ({one}), ({other})) AS t(j)",
    )  # fmt: skip
    return chance.choice(both if name == "json" else (*both, *binary))


def _multiranges(chance: random.Random) -> str:
    one, other = (f"{chance.choice(_MULTIRANGES)}::int4multirange" for _ in range(2))
    held = f"{chance.choice(_RANGES['int4range'])}::int4range"
    rows = ", ".join(f"({each}::int4multirange)" for each in chance.sample(_MULTIRANGES, 3))
    return chance.choice(
        (
            f"SELECT {one} {chance.choice(_RANGE_OPERATORS)} {other} AS v", f"SELECT {one} {chance.choice(('@>', '<@', '&&', '-|-', '<<', '&>'))} {held} AS v",
            f"SELECT {held} {chance.choice(('@>', '<@', '&&', '-|-', '>>', '&<'))} {one} AS v", f"SELECT {one} @> 4, 5 <@ {other}, multirange({held})",
            f"SELECT lower(m), upper(m), isempty(m), lower_inc(m), upper_inf(m), range_merge(m) FROM (VALUES {rows}) AS t(m)",
            f"SELECT range_agg(m), range_intersect_agg(m) FROM (VALUES {rows}) AS t(m)", f"SELECT m, unnest(m) FROM (VALUES {rows}) AS t(m)",
            f"SELECT m, count(*) FROM (VALUES {rows}, ({one})) AS t(m) GROUP BY m ORDER BY m", f"SELECT range_agg(r) FROM (VALUES ({held}), ('[7,9)')) AS t(r)",
        )
    )  # fmt: skip


_KINDS = {
    _update: 3, _delete: 2, _insert: 3, _merge: 3, _with_change: 2, _recursive: 2, _framed: 4, _grouped: 3, _lateral: 3, _ranges: 3, _arrays: 4,
    _documents: 4, _multiranges: 2,
}  # fmt: skip
