"""The support matrix matches the code, and most functions run on workers."""

from __future__ import annotations

from gpudb.engine.gpu.support_matrix import PAGE, locate, render_page
from gpudb.functions.manual import list_entries


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run python -m gpudb.engine.gpu.support_matrix"


_PLACED = [
    (each.name, locate(each)[0]) for each in list_entries() if each.target is not None and each.mark != "not yet"
]


def test_few_functions_keep_a_statement_from_workers() -> None:
    assert [where for _, where in _PLACED].count("embedded") < 0.06 * len(_PLACED)


def test_each_place_has_its_functions() -> None:
    wanted = {"lower": "lowered", "to_char": "host", "now": "once", "random": "embedded", "generate_series": "embedded"}
    for name, where in wanted.items():
        assert (name, where) in _PLACED
