"""Functions over columns of drawn values, many rows in one statement, compared with PostgreSQL value by value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.functions.arguments import literal
from tests.support.oracle.compare import differences
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

_drawn = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def gpudb(gpudb_server: str) -> Iterator[WireClient]:
    with WireClient(gpudb_server, 60) as client:
        yield client


def _rows(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[str | None]]:
    return st.lists(st.none() | values, min_size=1, max_size=40)


def _compare(oracle: Oracle, gpudb: WireClient, held: str, rows: list[str | None], *calls: str) -> None:
    """Compares calls over a column `v` of values of a type."""
    lines = ", ".join(f"({number}, {literal(value, held)})" for number, value in enumerate(rows))
    sql = f"SELECT n, {', '.join(calls)} FROM (VALUES {lines}) AS t(n, v) ORDER BY n"
    found = differences(oracle.execute(sql), gpudb.execute(sql), ordered=True)
    assert not found, "\n".join([sql, *found[:6]])


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_clock = st.builds(
    "{:02d}:{:02d}:{:02d}.{:06d}".format,
    st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999_999) | st.just(0),
)  # fmt: skip
_days = st.builds(
    "{:04d}-{:02d}-{:02d}".format,
    st.integers(1, 9999) | st.integers(1900, 2100), st.integers(1, 12), st.integers(1, 28),
)  # fmt: skip
_moments = (
    st.builds("{} {}{}".format, _days, _clock, st.sampled_from(("", "", " BC")))
    | st.sampled_from(("infinity", "-infinity", "12345-12-31 23:59:59", "2024-12-31", "2021-01-03", "4713-01-01 BC"))
)  # fmt: skip
_intervals = st.builds(
    "{} mons {} days {}{}".format,
    st.integers(-2000, 2000) | st.just(0), st.integers(-5000, 5000) | st.just(0), st.sampled_from(("", "-")), _clock,
)  # fmt: skip
_KEYWORDS = (
    "A.D. AD BC b.c. AM pm P.M. CC DAY Day day DDD DD DY Dy dy D FF1 FF3 FF6 HH24 HH12 HH IDDD ID IW IYYY IYY IY I J MI"
    " MM MONTH Month month MON Mon mon MS Q RM rm SSSSS SS US WW W Y,YYY YYYY YYY YY Y TZH TZM TZ OF"
).split()
_OF_CALENDARS = frozenset(
    "A.D. AD BC b.c. DAY Day day DY Dy dy D ID MONTH Month month MON Mon mon TZH TZM TZ OF"
    # of intervals with negative parts PostgreSQL computes ISO weeks that no calendar has
    " IDDD IYYY IYY IY I IW J".split()
)


def _templates(words: list[str]) -> st.SearchStrategy[str]:
    part = st.builds(
        "{}{}{}{}".format,
        st.sampled_from(("", "", "FM", "TM")), st.sampled_from(words), st.sampled_from(("", "", "th", "TH")),
        st.sampled_from(("", " ", "-", ":", " é ", '"a\\"b"')),
    )  # fmt: skip
    return st.lists(part, min_size=1, max_size=5).map("".join)


@_drawn
@given(rows=_rows(_moments), template=_templates(_KEYWORDS), zone=st.sampled_from(("UTC", "Europe/Berlin", "-05:30")))
def test_moments_by_template(
    oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str, zone: str
) -> None:
    for client in (oracle, gpudb):
        assert client.execute(f"SET TimeZone = '{zone}'").sqlstate is None
    try:
        text = _quote(template)
        _compare(oracle, gpudb, "timestamptz", rows, f"to_char(v, {text})")
        _compare(
            oracle, gpudb, "timestamp", rows, f"to_char(v, {text})", f"to_char(v, CASE WHEN n % 2 = 0 THEN {text} END)"
        )
    finally:
        for client in (oracle, gpudb):
            client.execute("RESET TimeZone")


@_drawn
@given(rows=_rows(_intervals), template=_templates([word for word in _KEYWORDS if word not in _OF_CALENDARS]))
def test_intervals_by_template(oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str) -> None:
    _compare(oracle, gpudb, "interval", rows, f"to_char(v, {_quote(template)})")


@_drawn
@given(rows=_rows(_intervals), factor=st.floats(-1000, 1000).filter(bool))
def test_intervals(oracle: Oracle, gpudb: WireClient, rows: list[str | None], factor: float) -> None:
    justified = (f"justify_{which}(v)" for which in ("days", "hours", "interval"))
    _compare(
        oracle, gpudb, "interval", rows, "v::text", *justified, f"v * {factor!r}::float8", f"v / {factor!r}::float8"
    )


_digits = st.sampled_from("9 9 9 0 , G".split())
_number_templates = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "FM", "S", "L", "FMS", "SG", "B")), st.lists(_digits, max_size=8).map(lambda digits: "".join(["9", *digits])),
    st.sampled_from(("", "D", ".9", ".90", ".0099", "D00", "V99")), st.sampled_from(("", " x", '"é"')),
) | st.builds("{}999{}".format, st.sampled_from(("", "FM")), st.sampled_from(("MI", "PR", "PL", "SG", "th", "TH", ".9MI", ".0PR")))  # fmt: skip
_numerics = st.decimals(-(10**12), 10**12, places=4).map(str) | st.integers(-1200, 1200).map(str) | st.just("0.005")


@_drawn
@given(rows=_rows(_numerics), template=_number_templates)
def test_numbers_by_template(oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str) -> None:
    _compare(
        oracle,
        gpudb,
        "numeric",
        rows,
        f"to_char(v, {_quote(template)})",
        f"to_char(v, CASE WHEN n % 3 > 0 THEN {_quote(template)} END)",
    )


@_drawn
@given(
    rows=_rows(st.floats(width=32).map(repr) | st.sampled_from(("NaN", "Infinity", "-Infinity", "-0"))),
    template=_number_templates,
)
def test_floats_by_template(oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str) -> None:
    _compare(
        oracle, gpudb, "float8", rows, f"to_char(v, {_quote(template)})", f"to_char(v::float4, {_quote(template)})"
    )


@_drawn
@given(
    rows=_rows(st.integers(-(2**63), 2**63 - 1).map(str) | st.integers(-4100, 4100).map(str)),
    template=_number_templates | st.sampled_from(("RN", "FMrn", "9.99EEEE")),
)
def test_integers_by_template(oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str) -> None:
    if "RN" in template.upper():
        rows = [row if row is None or abs(int(row)) < 2**31 else "0" for row in rows]
    _compare(oracle, gpudb, "int8", rows, f"to_char(v, {_quote(template)})")


_TEXTS = st.text(alphabet="abXY z019_-'\"\\%éÉßΣς日😀İ", max_size=14)


@_drawn
@given(rows=_rows(_TEXTS))
def test_texts(oracle: Oracle, gpudb: WireClient, rows: list[str | None]) -> None:
    formats = ("%s and %L", "%2$L%%%1$s", "[%8s]")
    _compare(oracle, gpudb, "text", rows, "initcap(v)", "upper(v)", "lower(v)", "to_ascii(v, 'LATIN1')",
             *(f"format({_quote(each)}, v, n)" for each in formats), "format('%I', coalesce(v, 'a'))")  # fmt: skip


@_drawn
@given(rows=_rows(_days | st.builds("{} {}".format, _days, _clock)), template=st.sampled_from(
    ("YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS.US", "YYYY/MM/DD HH24:MI", "YYYY MM", "YYYYMMDD", "FMYYYY-MM-DD")))  # fmt: skip
def test_read_by_template(oracle: Oracle, gpudb: WireClient, rows: list[str | None], template: str) -> None:
    rows = [row.replace("-", "") if row and template == "YYYYMMDD" else row for row in rows]
    text = _quote(template)
    _compare(oracle, gpudb, "text", rows, f"to_date(v, {text})", f"to_timestamp(v, {text})")


@_drawn
@given(
    rows=_rows(
        st.decimals(0, 10**9, places=6).filter(bool).map(str) | st.decimals(0, 3, places=6).filter(bool).map(str)
    )
)
def test_roots_and_logarithms(oracle: Oracle, gpudb: WireClient, rows: list[str | None]) -> None:
    _compare(oracle, gpudb, "numeric", rows, "sqrt(v)", "ln(v)", "log(v)", "exp(v % 10)")
