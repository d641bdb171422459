"""Program for the crash test to kill: concurrent appends, rewrites and DDL, each acknowledged on stdout.

`python -m tests.support.store_crasher DIR SEED`. Table `accounts` always sums to zero by construction; tables `left` and
`right` always hold the same rows; table `log` holds every number whose line was printed. Each number below HOLED is in
one of the tables `holed`, from which it is deleted, and `moved`.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import Column, Table
from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.scan import FILE_COLUMN, ROW_COLUMN, scan_sql
from gpudb.storage.store import Store
from gpudb.types import INT4, INT8, TEXT
from tests.support.store_tables import ab, batch, create

RETENTION = StorageSettings(snapshot_retention=3600, snapshot_limit=6)
NAMES = ("log", "left", "right", "accounts", "holed", "moved")
HOLED = 3000


def prepare(store: Store) -> None:
    """Creates the tables in one transaction."""
    if store.catalog().relation("public", "log") is not None:
        return
    with store.begin() as transaction:
        for name in NAMES:
            columns = (Column("a", INT8, not_null=True), Column("b", TEXT if name != "accounts" else INT4))
            create(transaction, name, columns, ("a",) if name == "log" else ())
        oid = transaction.catalog.relations["public", "accounts"].oid
        transaction.append(oid, [batch([INT8, INT4], *[(i, 0) for i in range(50)])])
        oid = transaction.catalog.relations["public", "holed"].oid
        transaction.append(oid, [batch([INT8, TEXT], *[(i, "here") for i in range(HOLED)])])
        transaction.commit()


def run(directory: Path, seed: int) -> None:
    """Works until it is killed."""
    store = Store(directory, RETENTION, keep_seconds=0)
    prepare(store)
    oids = {name: store.catalog().relations["public", name].oid for name in NAMES}
    speaking = threading.Lock()
    log = store.catalog().find_relation_by_oid(oids["log"])
    assert isinstance(log, Table)
    last = max((int(str(file.maximums[1])) for file in log.files), default=-1)
    numbers = iter(range(last + 1, sys.maxsize))

    def say(text: str) -> None:
        with speaking:
            print(text, flush=True)

    def append(chance: random.Random) -> None:
        count = chance.choice((1, 1, 1, 10, 20_000))
        with speaking:
            chosen = [next(numbers) for _ in range(count)]
        with store.begin() as transaction:
            transaction.append(oids["log"], [batch([INT8, TEXT], *[(n, "x" * (n % 50)) for n in chosen])])
            transaction.commit()
        say(f"log {chosen[0]} {count}")

    def pair(chance: random.Random) -> None:
        value = chance.randrange(1 << 30)
        with store.begin() as transaction:
            transaction.append(oids["left"], [batch([INT8, TEXT], (value, "pair"))])
            transaction.append(oids["right"], [batch([INT8, TEXT], (value, "pair"))])
            transaction.commit()
        say(f"pair {value}")

    def transfer(chance: random.Random) -> None:
        amount = chance.randrange(1000)
        with store.begin() as transaction:
            transaction.lock(oids["accounts"], timeout=30)
            transaction.refresh()
            table = transaction.table(oids["accounts"])
            with duckdb.connect() as connection:
                sql = f"SELECT a, (b + CASE a WHEN 1 THEN {amount} WHEN 2 THEN -{amount} ELSE 0 END)::INTEGER FROM"
                reader = connection.sql(f"{sql} ({scan_sql(table)})").to_arrow_reader()
                transaction.replace(table.oid, table.files, reader)
            transaction.commit()

    def move(chance: random.Random) -> None:
        with store.begin() as transaction:
            transaction.lock(oids["holed"], timeout=30)
            transaction.refresh()
            table = transaction.table(oids["holed"])
            with duckdb.connect() as connection:
                scan = scan_sql(table, with_row_ids=True)
                columns = f'a, "{FILE_COLUMN}", "{ROW_COLUMN}"'
                found = connection.sql(
                    f"SELECT {columns} FROM ({scan}) USING SAMPLE 1 (reservoir, {chance.randrange(99)})"
                )
                key, path, row = found.fetchall()[0]
            known = next(file.deleted for file in table.files if file.path == path)
            deleted = DeletedRows.of([row] if known is None else [*known.rows, row])
            transaction.replace(table.oid, (), [], deleted={path: deleted})
            transaction.append(oids["moved"], [batch([INT8, TEXT], (key, "moved"))])
            transaction.commit()
        say(f"moved {key}")

    def define(chance: random.Random) -> None:
        name = f"made{chance.randrange(3)}"
        with store.begin() as transaction:
            table = transaction.catalog.relation("public", name)
            if table is None:
                oid = create(transaction, name)
                transaction.append(oid, [ab((1, name))])
            elif isinstance(table, Table) and len(table.columns) < 4:
                added = Column(f"c{len(table.columns)}", INT4, initial="7")
                catalog = transaction.catalog.put(replace(table, columns=(*table.columns, added)))
                transaction.set_catalog(catalog)
            else:
                transaction.set_catalog(transaction.catalog.drop(transaction.catalog.relations["public", name]))
            transaction.commit()
        say(f"version {store.catalog().version}")

    def work(job: Callable[[random.Random], None], number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        while True:
            try:
                job(chance)
            except GpudbError as error:
                if error.sqlstate not in {"40001", "42P07"}:
                    say(f"failed {job.__name__} {error.sqlstate} {error}")

    batch([INT8], (1,))  # imports pandas, which takes longer than many rounds
    say("ready")
    for number, job in enumerate((append, append, pair, transfer, define, move)):
        threading.Thread(target=work, args=(job, number), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
