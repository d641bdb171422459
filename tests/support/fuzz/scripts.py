"""Transactions of DDL and DML: tables, views, types, functions, sequences, cursors and savepoints, and their rows."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.support.fuzz.script_parts import (
    BUILT_IN,
    COLUMNS,
    CONSTRAINTS,
    FUNCTIONS,
    KINDS,
    LITERALS,
    OWN_TYPES,
    SEQUENCES,
)
from tests.support.generated.queries import Maker, Scope


class Script:
    """Draws one transaction's statements and keeps track of the tables that earlier ones create."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tables: dict[str, dict[str, str]] = {}
        self.views: list[str] = []
        self.functions: list[tuple[str, tuple[str, ...]]] = []
        self.sequences: list[str] = []
        self.savepoints: list[str] = []
        self.types: list[str] = []
        self._number = 0

    def statements(self) -> list[str]:
        """Six to twenty statements."""
        made = ["CREATE SCHEMA own", "SET LOCAL search_path TO own, made"]
        for name, sql in OWN_TYPES.items():
            if self.chance.random() < 0.35:
                self.types.append(name)
                made.append(sql)
        made += [self.create_table(), self.insert()]
        for _ in range(self.chance.randint(3, 14)):
            made.append(self.chance.choices(tuple(_STEPS), tuple(_STEPS.values()))[0](self))
        return [*made, *(f"SELECT * FROM {name}" for name in self.tables)]

    # ---- parts

    def name(self, letter: str) -> str:
        """A new name."""
        self._number += 1
        return f"{letter}{self._number}"

    def kind(self) -> str:
        """The name of a type."""
        own = [name for name in LITERALS if name.removesuffix("[]") in self.types]
        return self.chance.choice((*BUILT_IN, *own * 3, "integer", "text"))

    def literal(self, kind: str) -> str:
        """A value of a type; the last ones of some types do not fit."""
        values = LITERALS[kind]
        return self.chance.choice(values if self.chance.random() < 0.3 else values[: max(2, len(values) - 1)])

    def table(self) -> str:
        """A table of the script."""
        return self.chance.choice(tuple(self.tables))

    def column(self, table: str) -> str:
        """A column of a table; rarely one that does not exist."""
        names = tuple(self.tables[table])
        return self.chance.choice(names) if names and self.chance.random() < 0.96 else "nothing"

    def scope(self, table: str, alias: str) -> Scope:
        """A table's columns for `Maker`."""
        columns = self.tables[table].items()
        return Scope(tuple((f"{alias}.{name}", KINDS[kind]) for name, kind in columns if kind in KINDS))

    def condition(self, table: str, alias: str) -> str:
        """A condition over a table."""
        return Maker(self.chance).condition(self.scope(table, alias), 1)

    def value(self, table: str, alias: str, kind: str) -> str:
        """An expression for a column of a type."""
        if kind in KINDS and self.chance.random() < 0.6:
            return Maker(self.chance).value(self.scope(table, alias), KINDS[kind], 1)
        return self.literal(kind)

    # ---- tables

    def create_table(self) -> str:
        """CREATE TABLE, from columns or from a query."""
        roll, name = self.chance.random(), self.name("t")
        if self.tables and roll < 0.12:
            old = self.table()
            self.tables[name] = dict(self.tables[old])
            return f"CREATE TABLE {name} AS SELECT * FROM {old}{self.chance.choice(('', ' WITH NO DATA', f' WHERE {self.condition(old, old)}'))}"
        if self.tables and roll < 0.2:
            old = self.table()
            self.tables[name] = dict(self.tables[old])
            return f"CREATE TABLE {name} (LIKE {old}{self.chance.choice(('', ' INCLUDING ALL', ' INCLUDING DEFAULTS', ' INCLUDING CONSTRAINTS'))})"
        columns = {f"{letter}": self.kind() for letter in "abcdef"[: self.chance.randint(1, 5)]}
        columns = {
            "a": self.chance.choice(("integer", "integer", columns["a"])),
            **{k: v for k, v in columns.items() if k != "a"},
        }
        parts = [self.definition(letter, kind) for letter, kind in columns.items()]
        if self.tables and self.chance.random() < 0.15:
            parts.append(
                f"FOREIGN KEY (a) REFERENCES {self.table()}{self.chance.choice(('', ' (a)', ' ON DELETE CASCADE', ' ON DELETE SET NULL'))}"
            )
        if self.chance.random() < 0.1:
            parts.append(self.constraint(columns))
        self.tables[name] = columns
        return f"CREATE {self.chance.choice(('', '', '', 'TEMP '))}TABLE {name} ({', '.join(parts)})"

    def definition(self, name: str, kind: str) -> str:
        """One column: its type and rarely a constraint."""
        roll = self.chance.random()
        if name == "a" and roll < 0.4:
            return f"a {kind} PRIMARY KEY"
        if name == "a" and roll < 0.5 and kind in ("integer", "bigint", "smallint"):
            return f"a {kind} GENERATED {self.chance.choice(('ALWAYS', 'BY DEFAULT'))} AS IDENTITY{self.chance.choice(('', ' (START 10)', ' PRIMARY KEY'))}"
        if roll > 0.95 and name != "a":
            return f"{name} {kind} GENERATED ALWAYS AS ({self.literal(kind)}) STORED"
        if roll > 0.9:
            return f"{name} {kind} NOT NULL"
        if roll > 0.8:
            return f"{name} {kind} DEFAULT {self.literal(kind)}"
        if roll > 0.76:
            return f"{name} {kind} UNIQUE"
        if roll > 0.72 and kind in ("integer", "numeric", "bigint"):
            return f"{name} {kind} CHECK ({name} {self.chance.choice(('> 0', '<> 7', 'IS NOT NULL', '< 100 OR ' + name + ' IS NULL'))})"
        return f"{name} {kind}"

    def constraint(self, columns: dict[str, str]) -> str:
        """A table constraint."""
        names = self.chance.sample(tuple(columns), min(len(columns), self.chance.randint(1, 2)))
        listed = ", ".join(names)
        head = self.chance.choice(("", f"CONSTRAINT {self.name('k')} "))
        return head + self.chance.choice(
            (f"UNIQUE ({listed})", f"PRIMARY KEY ({listed})", f"UNIQUE NULLS NOT DISTINCT ({listed})", f"CHECK ({names[0]} IS NOT NULL)",
             f"CHECK (({listed}) IS DISTINCT FROM ({listed}))", f"CHECK (num_nulls({listed}) < 2)")
        )  # fmt: skip

    def alter_table(self) -> str:
        """ALTER TABLE, one or two actions."""
        table = self.table()
        columns, old = self.tables[table], self.column(table)
        new, kind = self.name("c"), self.kind()
        actions: list[tuple[str, Callable[[], object]]] = [
            (f"ADD COLUMN {self.definition(new, kind)}", lambda: columns.update({new: kind})),
            (f"DROP COLUMN {old}{self.chance.choice(('', ' CASCADE', ' RESTRICT'))}", lambda: columns.pop(old, None)),
            (f"DROP COLUMN IF EXISTS {old}", lambda: columns.pop(old, None)),
            (f"ALTER {old} SET NOT NULL", lambda: None),
            (f"ALTER {old} DROP NOT NULL", lambda: None),
            (f"ALTER {old} SET DEFAULT {self.literal(columns.get(old, 'integer'))}", lambda: None),
            (f"ALTER {old} DROP DEFAULT", lambda: None),
            (f"ALTER {old} TYPE {kind}{self.chance.choice(('', f' USING {old}::text::{kind}', f' USING NULL::{kind}'))}", lambda: columns.update({old: kind})),
            (f"ADD {self.constraint(columns or {'nothing': 'integer'})}", lambda: None),
            (f"DROP CONSTRAINT {self.chance.choice((f'{table}_pkey', f'{table}_{old}_key', f'{table}_{old}_check', 'k1'))}", lambda: None),
            (f"ADD {self.chance.choice(('', 'COLUMN IF NOT EXISTS '))}{old} {kind}", lambda: None),
        ]  # fmt: skip
        if self.chance.random() < 0.15:
            if self.chance.random() < 0.5:
                columns[new] = columns.pop(old, "integer")
                return f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}"
            name = self.name("t")
            self.tables[name] = self.tables.pop(table)
            return f"ALTER TABLE {table} RENAME TO {name}"
        chosen = self.chance.sample(actions, self.chance.choice((1, 1, 1, 2)))
        for _, apply in chosen:
            apply()
        return f"ALTER TABLE {table} {', '.join(text for text, _ in chosen)}"

    def insert(self) -> str:
        """INSERT of rows, of defaults or of a query."""
        table = self.table()
        columns = self.tables[table]
        roll = self.chance.random()
        tail = self.chance.choice(
            ("", "", " RETURNING *", f" RETURNING {self.column(table)}", " ON CONFLICT DO NOTHING")
        )
        if roll < 0.08:
            return f"INSERT INTO {table} DEFAULT VALUES{tail}"
        some = [name for name in columns if self.chance.random() < 0.85] or list(columns)
        if not some:
            return f"INSERT INTO {table} SELECT"
        if roll < 0.25:
            other = self.table()
            items = ", ".join(self.value(other, "s", columns[name]) for name in some)
            return f"INSERT INTO {table} ({', '.join(some)}) SELECT {items} FROM {other} AS s{tail}"
        rows = ", ".join(
            f"({', '.join('DEFAULT' if self.chance.random() < 0.04 else str(n * 10 + 1) if name == 'a' and columns[name] == 'integer' else self.literal(columns[name]) for name in some)})"
            for n in range(self.chance.randint(1, 4))
        )
        return f"INSERT INTO {table} ({', '.join(some)}) VALUES {rows}{tail}"

    def update(self) -> str:
        """UPDATE, DELETE or TRUNCATE."""
        table = self.table()
        roll = self.chance.random()
        where = self.chance.choice(("", f" WHERE {self.condition(table, 'x')}", f" WHERE {self.condition(table, 'x')}"))
        if roll < 0.06:
            return f"TRUNCATE {table}{self.chance.choice(('', ' RESTART IDENTITY', ' CASCADE'))}"
        if roll < 0.3:
            return f"DELETE FROM {table} AS x{where}{self.chance.choice(('', ' RETURNING *'))}"
        name = self.column(table)
        value = self.value(table, "x", self.tables[table].get(name, "integer"))
        return f"UPDATE {table} AS x SET {name} = {value}{where}{self.chance.choice(('', ' RETURNING *', f' RETURNING x.{name} AS changed'))}"

    def select(self) -> str:
        """A query of a table, a view or the catalog."""
        table = self.table()
        column, maker = self.column(table), Maker(self.chance)
        scope = self.scope(table, "x")
        return self.chance.choice(
            (
                lambda: f"SELECT {column}, count(*) FROM {table} GROUP BY {column}",
                lambda: f"SELECT x.*, pg_typeof(x.{column}) FROM {table} AS x WHERE {self.condition(table, 'x')}",
                lambda: f"SELECT count(*), count({column}), count(DISTINCT {column}), min({column}), max({column}) FROM {table}",
                lambda: f"SELECT x FROM {table} AS x",
                lambda: f"SELECT {column} FROM {table} UNION SELECT {self.column(self.table())} FROM {self.table()}",
                lambda: f"SELECT {maker.value(scope, 'int4')}, {maker.value(scope, 'text')} FROM {table} AS x",
                lambda: f"SELECT row_to_json(x) FROM {table} AS x",
                lambda: f"TABLE {table}",
                lambda: f"SELECT a.*, b.* FROM {table} AS a LEFT JOIN {self.table()} AS b USING ({column})",
                lambda: COLUMNS.format(table),
                lambda: CONSTRAINTS.format(table),
            )
        )()  # fmt: skip

    # ---- views

    def view(self) -> str:
        """CREATE VIEW, and statements that use the view."""
        if not self.views or self.chance.random() < 0.4:
            name, table = self.name("v"), self.table()
            self.views.append(name)
            kind = self.chance.choice(("VIEW", "VIEW", "OR REPLACE VIEW", "TEMP VIEW", "MATERIALIZED VIEW"))
            query = self.chance.choice(
                (f"SELECT * FROM {table}", f"SELECT {self.column(table)} AS a FROM {table} AS x WHERE {self.condition(table, 'x')}",
                 f"SELECT {self.column(table)}, count(*) AS n FROM {table} GROUP BY 1", "SELECT 1 AS a, 'x'::text AS b")
            )  # fmt: skip
            return f"CREATE {kind} {name} AS {query}"
        name = self.chance.choice(self.views)
        return self.chance.choice(
            (f"SELECT * FROM {name}", f"SELECT * FROM {name}", f"SELECT count(*) FROM {name} WHERE a IS NOT NULL", f"DROP VIEW {name}", f"DROP MATERIALIZED VIEW IF EXISTS {name}",
             f"INSERT INTO {name} (a) VALUES (77)", f"UPDATE {name} SET a = NULL", f"DELETE FROM {name}", f"REFRESH MATERIALIZED VIEW {name}",
             f"ALTER VIEW {name} RENAME TO {name}x", f"SELECT pg_get_viewdef('{name}'::regclass) IS NULL", f"CREATE OR REPLACE VIEW {name} AS SELECT 5 AS a")
        )  # fmt: skip

    # ---- functions, sequences, types

    def function(self) -> str:
        """CREATE FUNCTION, and calls of it."""
        if not self.functions or self.chance.random() < 0.35:
            name = self.name("f")
            head, body, calls = self.chance.choice(FUNCTIONS)
            self.functions.append((name, calls))
            text = (
                f"LANGUAGE sql AS '{body.replace(chr(39), chr(39) * 2)}'"
                if self.chance.random() < 0.7
                else f"RETURN ({body})"
                if "RETURNS SETOF" not in head and "TABLE" not in head and "OUT" not in head
                else f"LANGUAGE sql BEGIN ATOMIC {body}; END"
            )
            return f"CREATE FUNCTION {name}{head} {text}"
        name, calls = self.chance.choice(self.functions)
        call = f"{name}{self.chance.choice(calls)}"
        return self.chance.choice((f"SELECT {call}", f"SELECT * FROM {call}", f"SELECT {call} FROM generate_series(1, 2)", f"SELECT * FROM {self.table()} AS x, LATERAL {call} AS y", f"DROP FUNCTION {name}", f"SELECT pg_typeof({call})"))  # fmt: skip

    def sequence(self) -> str:
        """CREATE SEQUENCE, and its values."""
        if not self.sequences or self.chance.random() < 0.3:
            name = self.name("s")
            self.sequences.append(name)
            return f"CREATE SEQUENCE {name}{self.chance.choice(SEQUENCES)}"
        name = self.chance.choice(self.sequences)
        return self.chance.choice(
            (f"SELECT nextval('{name}')", f"SELECT nextval('{name}'), nextval('{name}')", f"SELECT nextval('{name}') FROM generate_series(1, 3)", f"SELECT currval('{name}')",
             f"SELECT setval('{name}', 2)", f"SELECT setval('{name}', 2, false)", f"ALTER SEQUENCE {name} RESTART", f"ALTER SEQUENCE {name} INCREMENT 2 RESTART WITH 4", f"SELECT last_value, is_called FROM {name}",
             f"DROP SEQUENCE {name}", "SELECT lastval()", f"ALTER TABLE {self.table()} ALTER a SET DEFAULT nextval('{name}')", f"SELECT setval('{name}', NULL)")
        )  # fmt: skip

    def own_type(self) -> str:
        """Statements on an enum, a domain or a composite type."""
        if not self.types:
            name = self.chance.choice(tuple(OWN_TYPES))
            self.types.append(name)
            return OWN_TYPES[name]
        return self.chance.choice(
            {
                "mood": ("ALTER TYPE mood ADD VALUE 'calm' BEFORE 'ok'", "SELECT enum_range(NULL::mood)", "SELECT 'ok'::mood > 'sad', greatest('sad'::mood, 'ok')", "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'",
                         "SELECT m, count(*) FROM (VALUES ('sad'::mood), ('ok'), ('sad')) AS t(m) GROUP BY m ORDER BY m", "SELECT 'calm'::mood", "DROP TYPE mood", "SELECT 'x'::text::mood", "SELECT array_agg(m ORDER BY m DESC) FROM unnest(enum_range(NULL::mood)) AS m"),
                "positive": ("SELECT 3::positive, pg_typeof(3::positive + 1)", "SELECT (-1)::positive", "ALTER DOMAIN positive ADD CHECK (VALUE < 6)", "ALTER DOMAIN positive SET NOT NULL", "ALTER DOMAIN positive SET DEFAULT 4",
                             "SELECT NULL::positive", "DROP DOMAIN positive CASCADE", "SELECT x::positive FROM generate_series(1, 3) AS x", "SELECT '{1,0}'::positive[]"),
                "pair": ("SELECT (ROW(1, 'x')::pair).b, ROW(1, 'x')::pair = '(1,x)'", "SELECT '(1,x)'::pair < ROW(1, 'y')::pair", "ALTER TYPE pair ADD ATTRIBUTE c date", "SELECT (p).* FROM (VALUES (ROW(1, 'x')::pair), (NULL)) AS t(p)",
                         "ALTER TYPE pair RENAME ATTRIBUTE a TO z", "SELECT array_agg(p ORDER BY p) FROM (VALUES ('(2,)'::pair), ('(1,b)')) AS t(p)", "DROP TYPE pair CASCADE", "SELECT ROW(1)::pair", "SELECT to_jsonb('(3,q)'::pair), row_to_json('(3,q)'::pair)", "SELECT count(DISTINCT p) FROM (VALUES ('(1,)'::pair), ('(1,)')) AS t(p)"),
            }[self.chance.choice(self.types)]
        )  # fmt: skip

    # ---- the transaction itself

    def savepoint(self) -> str:
        """SAVEPOINT, ROLLBACK TO and RELEASE; later statements may use what was rolled back, an error on both sides."""
        if not self.savepoints or self.chance.random() < 0.45:
            name = self.chance.choice(("one", "two", "three"))
            self.savepoints.append(name)
            return f"SAVEPOINT {name}"
        name = self.chance.choice(self.savepoints)
        return self.chance.choice(
            (
                f"ROLLBACK TO {name}",
                f"ROLLBACK TO SAVEPOINT {name}",
                f"RELEASE {name}",
                "SELECT 1 / 0",
                "RELEASE nothing",
            )
        )

    def statement_handle(self) -> str:
        """Cursors and prepared statements, one name of each."""
        table = self.table()
        return self.chance.choice(
            (f"DECLARE cur SCROLL CURSOR FOR SELECT g FROM generate_series(1, 5) AS g, {table}", "DECLARE cur CURSOR FOR SELECT g FROM generate_series(1, 5) AS g", "FETCH 2 FROM cur", "FETCH ALL FROM cur", "FETCH BACKWARD 1 FROM cur",
             "FETCH ABSOLUTE 2 FROM cur", "MOVE 1 IN cur", "CLOSE cur", f"PREPARE own_p(integer) AS SELECT $1 + count(*) FROM {table}", "EXECUTE own_p(1)", "EXECUTE own_p('x')", "DEALLOCATE own_p", "EXECUTE own_p(NULL)")
        )  # fmt: skip

    def other(self) -> str:
        """Indexes, comments, drops, and DML within WITH."""
        table = self.table()
        column = self.column(table)
        if self.chance.random() < 0.15 and len(self.tables) > 1:
            del self.tables[table]
            return f"DROP TABLE {table}{self.chance.choice(('', ' CASCADE', ' RESTRICT'))}"
        return self.chance.choice(
            (f"CREATE INDEX ON {table} ({column})", f"CREATE UNIQUE INDEX {self.name('i')} ON {table} ({column})", f"COMMENT ON TABLE {table} IS 'told'", f"SELECT obj_description('{table}'::regclass)",
             f"WITH gone AS (DELETE FROM {table} RETURNING *) SELECT count(*) FROM gone", f"WITH more AS (INSERT INTO {table} DEFAULT VALUES RETURNING *) SELECT * FROM more",
             f"MERGE INTO {table} AS x USING (VALUES (1), (11)) AS s(v) ON x.a = s.v WHEN MATCHED THEN DELETE", f"SELECT * INTO {self.name('n')} FROM {table}", f"LOCK TABLE {table}",
             f"ANALYZE {table}", f"CREATE TABLE IF NOT EXISTS {table} (a integer)", f"DROP TABLE IF EXISTS nothing, {self.name('n')}")
        )  # fmt: skip


_STEPS: dict[Callable[[Script], str], float] = {
    Script.create_table: 2, Script.alter_table: 5, Script.insert: 4, Script.update: 4, Script.select: 4, Script.view: 3, Script.function: 3, Script.sequence: 2,
    Script.own_type: 2, Script.savepoint: 3, Script.statement_handle: 1.5, Script.other: 2,
}  # fmt: skip


def script(chance: random.Random) -> list[str]:
    """Returns one transaction's statements."""
    return Script(chance).statements()
