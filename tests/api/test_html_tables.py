"""Tables of notebooks: short numbers with the exact ones beside, a header that stays, and a click that sorts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gpudb.api import Connection
from gpudb.api.short_numbers import shorten_numbers
from tests.console.tools import find_chromium

LIMIT_S = 120


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["6.548509988350", "12.1", "-0.5", None], ["6.54851", "12.10000", "-0.50000", None]),
        (["1.50", "4.25"], ["1.50", "4.25"]),
        (["0.1", "100"], ["0.1", "100"]),
        (["123456789.123456", "0.00001234567"], ["123456789.12", "0.0000123"]),
        (["1.2345678901e+300", "NaN", "Infinity", "1e-07"], ["1.234568e+300", "NaN", "Infinity", "1e-07"]),
        (["12345678901234567890"], ["12345678901234567890"]),
        (["0.30000000000000004", "0"], ["0.300000", "0.000000"]),
        (["0.00000000000000123456789", "9.9999999"], ["1.23e-15", "10.000000"]),
        ([], []),
    ],
)
def test_numbers_have_seven_digits(texts: list[str | None], shown: list[str | None]) -> None:
    assert shorten_numbers(texts) == shown


def test_the_exact_number_is_in_the_title(any_db: Connection) -> None:
    query = (
        "SELECT 6.548509988350 AS n, 0.1::float8 + 0.2::float8 AS f, 12345678901234::int8 AS i, '6.548509988350' AS t"
    )
    html = any_db.sql(query)._repr_html_()
    right = '<td style="text-align: right"'
    assert f'{right} title="6.548509988350">6.548510</td>' in html
    assert f'{right} title="0.30000000000000004">0.300000</td>' in html
    assert f"{right}>12345678901234</td>" in html
    assert '<td style="text-align: left">6.548509988350</td>' in html
    assert "position: sticky" in html
    assert not re.search(r"""(src|href)\s*=""", html)


def test_a_click_sorts_the_rows_shown(db: Connection, tmp_path: Path) -> None:
    rows = db.sql("VALUES (10, 'b', 0.5), (9, NULL, 123.123456789), (NULL, 'a', NULL), (100, 'é', -1.5)")
    assert _click(rows._repr_html_() or "", tmp_path, 0) == ["9", "10", "100", "NULL"]
    assert _click(rows._repr_html_() or "", tmp_path, 0, 0) == ["100", "10", "9", "NULL"]
    assert _click(rows._repr_html_() or "", tmp_path, 1) == ["NULL", "10", "100", "9"]
    assert _click(rows._repr_html_() or "", tmp_path, 0, 2) == ["100", "10", "9", "NULL"]


def _click(html: str, folder: Path, *columns: int) -> list[str]:
    """Returns the first column's cells after clicks on the names of columns, in a browser without a network."""
    page = folder / "page.html"
    clicks = "".join(f"document.querySelectorAll('th')[{column}].click();" for column in columns)
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8>{html}<script>{clicks}</script>")
    command = [find_chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    body = done.stdout.partition("<tbody>")[2]
    return [re.sub("<[^>]+>", "", first) for first in re.findall(r"<tr><td[^>]*>(.*?)</td>", body)]
