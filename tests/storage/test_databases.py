"""Databases in a store: an older file becomes one of several, and tables return to their own when a catalog is lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.catalog.model import Catalog, Database
from gpudb.catalog.relations import View
from gpudb.errors import SerializationFailure
from gpudb.storage.catalog.changes import Catalogs
from gpudb.storage.recovery.check import check
from gpudb.storage.recovery.rebuild import repair
from gpudb.storage.store import Store
from tests.support.store_tables import ab, arrow, create, created, insert, rows

# What made the tables of format 1, which knew one database.
_FORMAT_1 = """
CREATE TABLE objects_1 (kind TEXT, name TEXT, definition TEXT NOT NULL, PRIMARY KEY (kind, name));
INSERT INTO objects_1 SELECT kind, name, definition FROM gpudb_objects
WHERE database IN ('', 'gpudb') AND NOT (kind = 'databases' AND name <> 'gpudb');
DROP TABLE gpudb_objects;
ALTER TABLE objects_1 RENAME TO gpudb_objects;
CREATE TABLE relations_1 (oid INTEGER PRIMARY KEY, definition TEXT NOT NULL);
INSERT INTO relations_1 SELECT oid, definition FROM gpudb_relations;
DROP TABLE gpudb_relations;
ALTER TABLE relations_1 RENAME TO gpudb_relations;
UPDATE gpudb_state SET value = '1' WHERE key = 'format';
"""


def make_database(store: Store, name: str) -> None:
    with store.begin() as transaction:
        oid, catalog = transaction.catalog.allocate_oid()
        transaction.set_catalog(catalog.put(Database(name, oid=oid)))
        transaction.commit()


def make_table(store: Store, database: str, name: str, *values: int) -> int:
    with store.begin(database) as transaction:
        oid = create(transaction, name)
        transaction.append(oid, [ab(*((value, "x") for value in values))])
        transaction.commit()
    return oid


def contents(catalogs: Catalogs) -> dict[str, dict[str, list[int]]]:
    """The first column of each table, by database and table."""
    return {
        name: {table.name: sorted(arrow(table).column("a").to_pylist()) for table in catalog.tables()}
        for name, catalog in catalogs.items()
        if any(True for _ in catalog.tables())
    }


def test_a_file_of_format_1_is_upgraded(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        oid = created(store, "kept")
        insert(store, oid, (1, "x"))
    with closing(sqlite3.connect(tmp_path / "data" / "catalog.db")) as connection:
        connection.executescript(_FORMAT_1)
        (text,) = connection.execute("SELECT definition FROM gpudb_objects WHERE kind = 'roles' LIMIT 1").fetchone()
        role = {**json.loads(text), "database_settings": {"work_mem": "7MB"}}
        connection.execute("UPDATE gpudb_objects SET definition = ? WHERE definition = ?", (json.dumps(role), text))
        connection.commit()
    for _ in range(2):
        with Store(tmp_path / "data") as store:
            assert rows(store, oid) == [(1, "x")]
            assert store.catalogs().keys() == {"gpudb", "postgres", "template0", "template1"}
            assert all("public" in catalog.schemas for catalog in store.catalogs().values())
            assert store.catalog().databases["gpudb"].role_settings == {str(role["oid"]): {"work_mem": "7MB"}}
    with Store(tmp_path / "data") as store:
        make_database(store, "shop")
        make_table(store, "shop", "kept", 5)
    with Store(tmp_path / "data") as store:
        assert contents(store.catalogs()) == {"gpudb": {"kept": [1]}, "shop": {"kept": [5]}}


def test_tables_of_a_lost_catalog_return_to_their_databases(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with Store(directory, compaction=False) as store:
        make_database(store, "shop")
        make_table(store, "gpudb", "t", 1)
        make_table(store, "shop", "t", 2)
        older = (directory / "catalog-backup.db").read_bytes()
        make_table(store, "shop", "later", 3)
    for path in directory.glob("catalog*"):
        path.unlink()
    (directory / "catalog-backup.db").write_bytes(older)
    assert repair(directory).rows == 3
    assert not check(directory, deep=True).problems
    with Store(directory) as store:
        assert contents(store.catalogs()) == {"gpudb": {"t": [1]}, "shop": {"t": [2], "later": [3]}}
    # Without any catalog the database is lost, the tables are not.
    for path in directory.glob("catalog*"):
        path.unlink()
    report = repair(directory)
    assert any("its own is lost" in change for change in report.changes)
    with Store(directory) as store:
        found = contents(store.catalogs())["gpudb"]
        assert sorted(value for values in found.values() for value in values) == [1, 2, 3]


def test_a_dropped_database_takes_its_tables_along(tmp_path: Path) -> None:
    with Store(tmp_path / "data", keep_seconds=0) as store:
        make_database(store, "shop")
        oid = make_table(store, "shop", "t", 1, 2)
        assert (tmp_path / "data" / "tables" / str(oid)).exists()
        with store.begin() as transaction:
            transaction.set_catalog(transaction.catalog.drop(transaction.catalog.databases["shop"]))
            transaction.commit()
        assert not (tmp_path / "data" / "tables" / str(oid)).exists()
        assert "shop" not in store.catalogs()
    with Store(tmp_path / "data") as store:
        assert "shop" not in store.catalogs()
        assert not contents(store.catalogs())


def test_a_renamed_role_is_renamed_in_every_database(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        with store.begin() as transaction:
            oid, catalog = transaction.catalog.allocate_oid()
            role = replace(catalog.roles["gpudb"], oid=oid, name="anna", superuser=False)
            transaction.set_catalog(catalog.put(role))
            transaction.commit()
        table = make_table(store, "postgres", "t", 1)
        with store.begin("postgres") as transaction:
            transaction.set_catalog(transaction.catalog.put(replace(transaction.table(table), owner="anna")))
            transaction.commit()
        with store.begin() as transaction:
            transaction.set_catalog(
                transaction.catalog.drop(transaction.catalog.roles["anna"]).put(replace(role, name="bella"))
            )
            transaction.commit()
    with Store(tmp_path / "data") as store:
        found = store.catalog("postgres").find_relation_by_oid(table)
        assert found is not None
        assert found.owner == "bella"
        assert "bella" in store.catalog("postgres").roles


def change(store: Store, make: Callable[[Catalog], Catalog], database: str = "gpudb") -> None:
    with store.begin(database) as transaction:
        transaction.set_catalog(make(transaction.catalog))
        transaction.commit()


def rename(catalog: Catalog, old: str, new: str) -> Catalog:
    database = catalog.databases[old]
    return catalog.drop(database).put(replace(database, name=new))


def with_owned_table(store: Store, database: str, table: str, owner: str) -> int:
    oid = make_table(store, database, table, 1)
    change(store, lambda catalog: catalog.put(replace(catalog.relations["public", table], owner=owner)), database)
    return oid


def make_role(store: Store, name: str) -> None:
    def add(catalog: Catalog) -> Catalog:
        oid, catalog = catalog.allocate_oid()
        return catalog.put(replace(catalog.roles["gpudb"], oid=oid, name=name, superuser=False))

    change(store, add)


def test_oids_are_never_drawn_twice(tmp_path: Path) -> None:
    with Store(tmp_path / "data", compaction=False) as store:
        first = make_table(store, "gpudb", "a", 1)
        last = make_table(store, "postgres", "b", 2)
        insert(store, first, (3, "x"))  # a commit in the database that knows less
        make_role(store, "anna")
    with Store(tmp_path / "data", compaction=False) as store:
        assert make_table(store, "gpudb", "c", 4) > last
        make_table(store, "postgres", "d", 5)
    with Store(tmp_path / "data") as store:
        assert contents(store.catalogs()) == {"gpudb": {"a": [1, 3], "c": [4]}, "postgres": {"b": [2], "d": [5]}}


def test_a_dropped_or_renamed_database_does_not_come_back(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        make_table(store, "postgres", "t", 1)
        change(store, lambda catalog: rename(catalog, "postgres", "app").drop(catalog.databases["template1"]))
    for _ in range(2):
        with Store(tmp_path / "data") as store:
            assert store.catalogs().keys() == {"gpudb", "app", "template0"}
            assert contents(store.catalogs()) == {"app": {"t": [1]}}
    for path in (tmp_path / "data").glob("catalog.db*"):
        path.unlink()
    repair(tmp_path / "data")
    with Store(tmp_path / "data") as store:
        assert store.catalogs().keys() == {"gpudb", "app", "template0"}
        assert contents(store.catalogs()) == {"app": {"t": [1]}}


def test_names_pass_from_one_database_to_another(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        for name, value in (("a", 1), ("b", 2), ("c", 3)):
            make_database(store, name)
            make_table(store, name, "t", value)
        change(store, lambda catalog: rename(rename(rename(rename(catalog, "a", "x"), "b", "a"), "c", "b"), "x", "c"))
        expected = {"c": {"t": [1]}, "a": {"t": [2]}, "b": {"t": [3]}}
        assert contents(store.catalogs()) == expected
    with Store(tmp_path / "data") as store:
        assert contents(store.catalogs()) == expected
        insert_into = store.catalog("c").relations["public", "t"].oid
        with store.begin("c") as transaction:
            transaction.append(insert_into, [ab((9, "x"))])
            transaction.commit()
    with Store(tmp_path / "data") as store:
        assert contents(store.catalogs()) == {**expected, "c": {"t": [1, 9]}}


def test_names_pass_from_one_role_to_another(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        make_role(store, "anna")
        make_role(store, "bella")
        with_owned_table(store, "postgres", "of_anna", "anna")
        with_owned_table(store, "postgres", "of_bella", "bella")

        def swap(catalog: Catalog) -> Catalog:
            anna, bella = catalog.roles["anna"], catalog.roles["bella"]
            for old, new in ((anna, "x"), (bella, "anna")):
                catalog = catalog.drop(old).put(replace(old, name=new))
            return catalog.drop(catalog.roles["x"]).put(replace(anna, name="bella"))

        change(store, swap)
    with Store(tmp_path / "data") as store:
        owners = {each.name: each.owner for each in store.catalog("postgres").relations.values()}
        assert owners == {"of_anna": "bella", "of_bella": "anna"}


def test_a_role_is_not_dropped_while_another_database_begins_to_use_it(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        make_role(store, "anna")
        with store.begin() as transaction:
            transaction.set_catalog(transaction.catalog.drop(transaction.catalog.roles["anna"]))
            with_owned_table(store, "postgres", "t", "anna")
            with pytest.raises(SerializationFailure, match="could not serialize"):
                transaction.commit()
        assert "anna" in store.catalog("postgres").roles


def test_views_of_a_template_stay_there(tmp_path: Path) -> None:
    def add(catalog: Catalog) -> Catalog:
        oid, catalog = catalog.allocate_oid()
        return catalog.put(View(oid, "public", "v", (), "gpudb", "SELECT 1"))

    with Store(tmp_path / "data") as store:
        change(store, add, "template1")
        make_database(store, "shop")
    with Store(tmp_path / "data") as store:
        assert all(store.catalog(name).relation("public", "v") is not None for name in ("template1", "shop"))
        change(store, lambda catalog: catalog.drop(catalog.databases["shop"]))
    with Store(tmp_path / "data") as store:
        assert store.catalog("template1").relation("public", "v") is not None
        assert "shop" not in store.catalogs()


def test_checking_a_directory_of_format_1_changes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        insert(store, created(store, "kept"), (1, "x"))
    with closing(sqlite3.connect(tmp_path / "data" / "catalog.db")) as connection:
        connection.executescript(_FORMAT_1)
    assert not check(tmp_path / "data").problems
    assert not repair(tmp_path / "data").rebuilt
    with closing(sqlite3.connect(tmp_path / "data" / "catalog.db")) as connection:
        assert connection.execute("SELECT value FROM gpudb_state WHERE key = 'format'").fetchone() == ("1",)
