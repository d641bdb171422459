"""Text columns are read as codes of dictionaries: every use of them has the embedded engine's answer."""

from __future__ import annotations

import pytest

from gpudb.engine.gpu.backend.coded_frame import CodedFrame
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.fused import runner
from gpudb.engine.gpu.lower.expressions.host_fallback import HostStep
from gpudb.engine.gpu.lower.texts import code_uses
from gpudb.engine.gpu.stage import stage_executor
from gpudb.errors import GpudbError
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, TWIN, embedded, sorted_rows
from tests.support.lab import Lab

WORKERS = (1, 2, 3)
SETUP = (
    "CREATE TABLE facts (id int, k int, s text, t varchar(20), b char(5), n int)",
    """INSERT INTO facts SELECT i, i % 50, CASE WHEN i % 11 < 10 THEN 'name ' || i % 11 || CASE i % 2 WHEN 0 THEN 'É' ELSE '' END END,
        CASE WHEN i % 7 > 0 THEN i % 7 || '' ELSE NULL END, 'b' || i % 3, i % 13 FROM generate_series(1, 4000) i""",
    """INSERT INTO facts SELECT i, i % 50, 'more ' || i % 17, 'x' || i % 4, CASE WHEN i % 5 > 0 THEN 'c' || i % 4 END, i % 13
        FROM generate_series(4001, 6000) i""",
    "CREATE TABLE dims (k int, label text, kind text, code varchar(9))",
    "INSERT INTO dims SELECT i, 'more ' || i, CASE WHEN i % 4 > 0 THEN 'kind ' || i % 4 END, i % 7 || '' FROM generate_series(0, 45) i",
    "CREATE TABLE none (s text, n int)",
)
STATEMENTS = (
    "SELECT s, count(*), sum(n) FROM facts GROUP BY s",
    "SELECT s, t, b, count(*), min(s), max(t), count(DISTINCT t), count(s) FROM facts GROUP BY s, t, b",
    "SELECT upper(s), length(t), count(*) FROM facts GROUP BY upper(s), length(t)",
    "SELECT regexp_replace(s, '(\\w+) (\\d+)', '\\2 \\1'), count(*) FROM facts GROUP BY 1",
    "SELECT coalesce(s, t, 'none'), count(*) FROM facts GROUP BY 1 HAVING max(s) IS NULL OR count(*) > 2",
    "SELECT s, sum(n) FROM facts WHERE s LIKE 'name%' AND s <> 'name 3' AND t IN ('1', '2', NULL) GROUP BY s",
    "SELECT s, sum(n) FROM facts WHERE s ~ '[3-5]$' OR t IS NULL GROUP BY s",
    "SELECT s, t, sum(n) FROM facts WHERE s || t > 'more' GROUP BY s, t",
    "SELECT DISTINCT t, s FROM facts",
    "SELECT count(DISTINCT s), count(DISTINCT (s, t)), string_agg(DISTINCT t, ',' ORDER BY t) FROM facts",
    "SELECT s, string_agg(t, ',' ORDER BY id) FROM facts WHERE id < 100 GROUP BY s",
    "SELECT s, array_agg(t ORDER BY id) FROM facts WHERE id < 100 GROUP BY s",
    "SELECT s, mode() WITHIN GROUP (ORDER BY t) FROM facts GROUP BY s",
    "SELECT f.s, d.kind, count(*) FROM facts f JOIN dims d ON f.k = d.k GROUP BY f.s, d.kind",
    "SELECT f.s, d.kind, count(*) FROM facts f JOIN dims d ON f.s = d.label GROUP BY f.s, d.kind",
    "SELECT f.s, d.kind, count(*) FROM facts f LEFT JOIN dims d ON f.s = d.label GROUP BY f.s, d.kind",
    "SELECT f.s, d.kind, count(*) FROM facts f FULL JOIN dims d ON f.t = d.code AND f.id < d.k * 9 GROUP BY f.s, d.kind",
    "SELECT d.label, count(*) FROM dims d LEFT JOIN facts f ON f.s = d.label AND f.t || '' < d.code GROUP BY d.label",
    "SELECT count(*) FROM facts f WHERE f.s IN (SELECT label FROM dims)",
    "SELECT count(*) FROM facts f WHERE f.s NOT IN (SELECT label FROM dims WHERE label < 'more 4')",
    "SELECT count(*) FROM facts f WHERE f.s NOT IN (SELECT kind FROM dims)",
    "SELECT s, count(*) FROM facts f WHERE EXISTS (SELECT 1 FROM dims d WHERE d.label = f.s) GROUP BY s",
    "SELECT s, count(*) FROM facts f WHERE NOT EXISTS (SELECT 1 FROM dims d WHERE d.label = f.s) GROUP BY s",
    "SELECT a.s, count(*) FROM facts a JOIN facts b ON a.s = b.s AND a.id = b.id GROUP BY a.s",
    "SELECT s, t, sum(n) FROM facts GROUP BY ROLLUP (s, t)",
    "SELECT s, t, b, sum(n) FROM facts GROUP BY CUBE (s, t, b)",
    "SELECT s, count(*) FROM (SELECT s FROM facts UNION ALL SELECT label FROM dims) x GROUP BY s",
    "SELECT s FROM facts INTERSECT SELECT label FROM dims",
    "SELECT s FROM facts EXCEPT SELECT label FROM dims",
    "SELECT s, t FROM facts EXCEPT ALL SELECT s, t FROM facts WHERE id > 100",
    "SELECT * FROM (SELECT s, t, rank() OVER (PARTITION BY s ORDER BY t, id) r, lag(t) OVER (PARTITION BY s ORDER BY t, id) l"
    " FROM facts) x WHERE r < 4",
    "SELECT s, t, sum(sum(n)) OVER (PARTITION BY t) FROM facts GROUP BY s, t",
    "SELECT id, array_agg(s) OVER (PARTITION BY t ORDER BY id ROWS 2 PRECEDING) FROM facts WHERE id < 50",
    "SELECT CASE WHEN n < 3 THEN s ELSE t END, count(*) FROM facts GROUP BY 1",
    "SELECT b, count(*), max(length(b)), min(b || '|') FROM facts GROUP BY b",
    "SELECT DISTINCT ON (s) s, t, id FROM facts ORDER BY s, t, id",
    "SELECT f.s, x.m FROM dims d JOIN facts f ON f.s = d.label, LATERAL (SELECT max(g.t) m FROM facts g WHERE g.s = d.label) x",
    "SELECT s, count(*) FROM none GROUP BY s",
    "SELECT f.t, n.s, count(*) FROM facts f LEFT JOIN none n ON n.s = f.s GROUP BY f.t, n.s",
    "WITH g AS (SELECT s, t, sum(n) v FROM facts GROUP BY s, t) SELECT a.s, b.t FROM g a JOIN g b ON a.s = b.s AND a.v < b.v",
)
ORDERED = (
    "SELECT s, t, id FROM facts ORDER BY s DESC NULLS LAST, t, id LIMIT 50",
    "SELECT s, t, id FROM facts ORDER BY t NULLS FIRST, s, id DESC LIMIT 30 OFFSET 7",
    "SELECT s, count(*) FROM facts GROUP BY s ORDER BY s",
    "SELECT upper(s), id FROM facts ORDER BY upper(s), id LIMIT 20",
)


@pytest.fixture(scope="module")
def lab() -> Lab:
    made = Lab()
    for each in SETUP:
        made.run(each)
    return made


@pytest.fixture(autouse=True)
def coded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Small tables are coded, too; notes what frames decode."""
    monkeypatch.setattr(code_uses, "CODED_ROWS", 1)
    monkeypatch.setattr(runner, "CODED_ROWS", 0)
    found: list[str] = []
    decode = local_stages.FRAMES.decode_texts
    monkeypatch.setattr(
        local_stages.FRAMES, "decode_texts", lambda lazy, texts: found.extend(texts) or decode(lazy, texts)
    )
    return found


@pytest.mark.parametrize("sql", STATEMENTS)
def test_coded_texts_give_the_embedded_engine_s_rows(lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    wanted = sorted_rows(embedded(lab, request))
    for workers in WORKERS:
        assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == wanted
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu, chunks=3)) == wanted
    for workers in WORKERS[:2]:
        assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu, EVERY, kernels=TWIN)) == wanted


@pytest.mark.parametrize("sql", ORDERED)
def test_texts_are_ordered_by_rank(lab: Lab, sql: str, coded: list[str]) -> None:
    request = lab.request(sql)
    for workers in WORKERS:
        assert local_stages.rows(request, workers, lab.database.cpu) == embedded(lab, request)
    assert coded


def test_groups_are_decoded_not_rows(lab: Lab, coded: list[str]) -> None:
    request = lab.request("SELECT s, t, count(*) FROM facts GROUP BY s, t")
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    assert coded
    assert {"c0", "c1"} == set(coded) or {"k0", "k1"} == set(coded)


def test_rows_of_kernels_stay_codes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CodedFrame] = []
    keep = runner.CodedFrame
    monkeypatch.setattr(runner, "CodedFrame", lambda *args: made.append(keep(*args)) or made[-1])
    request = lab.request(
        "SELECT s, string_agg(t, ',' ORDER BY id) FROM facts f JOIN dims d ON f.k = d.k WHERE d.code = '1' GROUP BY s"
    )
    given = local_stages.rows(request, 1, lab.database.cpu, EVERY, kernels=TWIN)
    assert sorted_rows(given) == sorted_rows(embedded(lab, request))
    assert made
    assert all(each.texts for each in made)
    assert not any("plain" in vars(each) for each in made)


def test_rows_between_stages_of_one_worker_stay_codes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CodedFrame] = []
    keep = stage_executor._keep_codes
    monkeypatch.setattr(stage_executor, "_keep_codes", lambda *args: made.append(keep(*args)) or made[-1])
    request = lab.request("""WITH x AS (SELECT f.s, d.kind, d.label, f.n FROM facts f JOIN dims d ON f.k = d.k WHERE f.n > 1)
        SELECT s, kind, label, sum(n) FROM x GROUP BY ROLLUP (s, kind, label)""")
    wanted = sorted_rows(embedded(lab, request))
    for costs in (Costs(), EVERY):
        assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu, costs)) == wanted
    assert {3} & {len(each.texts) for each in made}
    assert not any("plain" in vars(each) for each in made)
    assert sorted_rows(local_stages.rows(request, 2, lab.database.cpu)) == wanted


def test_a_host_function_runs_once_a_text_over_several_statements(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []
    evaluate = HostStep._evaluate_slice
    monkeypatch.setattr(
        HostStep, "_evaluate_slice", lambda step, frame: evaluated.append(frame.height) or evaluate(step, frame)
    )
    tables = ResidentTables(2**30)
    few = "SELECT initcap(s), s, count(*) FROM facts {} GROUP BY initcap(s), s"
    for condition in ("WHERE k = 0 AND n = 1", "", "WHERE k > 5", ""):
        request = lab.request(few.format(condition))
        given = local_stages.rows(request, 1, lab.database.cpu, tables=tables)
        assert sorted_rows(given) == sorted_rows(embedded(lab, request))
    distinct = lab.run("SELECT count(DISTINCT s) + 1 FROM facts")[0][0]
    assert sum(evaluated) == distinct
    assert 0 < evaluated[0] < distinct


def test_a_text_that_no_row_reaches_does_not_fail(lab: Lab) -> None:
    lab.run(
        "CREATE TABLE mixed AS SELECT i AS id, CASE WHEN i % 3 > 0 THEN i % 20 || '' ELSE 'x' || i % 2 END AS v FROM"
        " generate_series(1, 3000) i"
    )
    fine = lab.request("SELECT v, sum(v::int), max(v::numeric(9,2)) FROM mixed WHERE id % 3 > 0 GROUP BY v")
    guarded = lab.request("SELECT v, sum(CASE WHEN id % 3 > 0 THEN v::bigint END) FROM mixed GROUP BY v")
    for request in (fine, guarded):
        for workers in WORKERS:
            assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == sorted_rows(
                embedded(lab, request)
            )
    failing = lab.request("SELECT v, sum(v::int) FROM mixed WHERE id < 4 GROUP BY v")
    with pytest.raises(GpudbError, match='invalid input syntax for type integer: "x1"') as raised:
        local_stages.rows(failing, 1, lab.database.cpu)
    assert raised.value.sqlstate == "22P02"
