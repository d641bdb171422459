"""What workers read of tables whose columns came later than some of their files."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from gpudb.catalog.model import Column
from gpudb.storage.stored import initial_text
from gpudb.types import INT4, INTERVAL, TEXT
from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.test_cases import embedded


def test_rows_before_a_column_have_its_initial_value() -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE grown (id int)")
        lab.run("INSERT INTO grown VALUES (1), (2), (3)")
        span = pa.array([pa.MonthDayNano((1, 2, 3000))], pa.month_day_nano_interval())
        added = (
            Column("number", INT4, initial="42"),
            Column("label", TEXT, initial=initial_text(TEXT, pa.array(["it's"]))),
            Column("span", INTERVAL, initial=initial_text(INTERVAL, span)),
            Column("nothing", INT4),
        )
        with lab.database.store.begin() as transaction:
            table = next(each for each in transaction.catalog.relations.values() if each.name == "grown")
            changed = replace(table, columns=(*table.columns, *added))  # type: ignore[type-var]
            transaction.set_catalog(transaction.catalog.with_relation(changed))
            transaction.commit()
        lab.run("INSERT INTO grown VALUES (4, 5, 'new', NULL, 6)")
        request = lab.request("SELECT * FROM grown WHERE number = 42 OR nothing = 6")
        wanted = sorted(map(repr, embedded(lab, request)))
        assert "42" in wanted[0]
        for workers in (1, 4):
            assert sorted(map(repr, local.rows(request, workers, lab.database.cpu))) == wanted
    finally:
        lab.close()
