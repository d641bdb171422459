"""The comparison reports every difference that a client sees, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.oracle.compare import assert_same, differences
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import CONNECTION_LOST, Outcome, WireClient

_FLOAT8, _FLOAT4, _NUMERIC, _INT4, _FLOAT8_ARRAY = 701, 700, 1700, 23, 1022


def _column(oid: int, *values: str | None) -> Outcome:
    return Outcome(rows=tuple((value,) for value in values), columns=("c",), oids=(oid,), typmods=(-1,), tag="SELECT")


def test_equal_outcomes_pass() -> None:
    """Reordered rows are the same multiset, and differ when order counts."""
    one, other = _column(_INT4, "1", None, "2", "2"), _column(_INT4, "2", "1", "2", None)
    assert_same(one, other, ordered=False)
    with pytest.raises(AssertionError, match="in order"):
        assert_same(one, other, ordered=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": ("d",)},
        {"oids": (20,)},
        {"typmods": (5,)},
        {"tag": "INSERT 0 1"},
        {"status": "T"},
        {"sqlstate": "22012", "rows": ()},
        {"rows": (("1",), ("1",))},
        {"rows": (("1",),)},
        {"rows": (("1",), (None,))},
    ],
)
def test_every_part_counts(changed: dict[str, object]) -> None:
    """A difference in any single part is reported."""
    one = _column(_INT4, "1", "2")
    assert differences(one, replace(one, **changed), ordered=False)  # type: ignore[arg-type]


def test_message_is_ignored_and_sqlstate_is_not() -> None:
    """Errors agree by SQLSTATE."""
    one = Outcome(sqlstate="22012", message="division by zero")
    assert_same(one, replace(one, message="other words"), ordered=False)
    assert differences(one, replace(one, sqlstate="22003"), ordered=False)


@pytest.mark.parametrize(
    ("oid", "left", "right", "same"),
    [
        (_FLOAT8, "0.1", "0.10000000000000002", True),
        (_FLOAT8, "0.1", "0.1000001", False),
        (_FLOAT8, "1", "1.0", False),
        (_FLOAT8, "0", "-0", False),
        (_FLOAT8, "NaN", "NaN", True),
        (_FLOAT8, "NaN", "nan", False),
        (_FLOAT8, "Infinity", "1e308", False),
        (_FLOAT8, None, "0", False),
        (_FLOAT4, "0.1", "0.10000001", True),
        (_NUMERIC, "1.10", "1.1", False),
        (_FLOAT8_ARRAY, "{0.1,NULL}", "{0.10000000000000002,NULL}", True),
        (_FLOAT8_ARRAY, "{0.1}", "{0.1,0.1}", False),
    ],
)
def test_values(oid: int, left: str | None, right: str | None, same: bool) -> None:
    """Floats agree within 1e-9 and have PostgreSQL's spelling; everything else is exact text."""
    assert (not differences(_column(oid, left), _column(oid, right), ordered=True)) is same


def test_unordered_floats_pair_up() -> None:
    """Rounding noise does not break the pairing of unordered rows."""
    one = _column(_FLOAT8, "1", "NaN", "0.3", None, "Infinity")
    other = _column(_FLOAT8, None, "0.30000000000000004", "Infinity", "1", "NaN")
    assert_same(one, other, ordered=False)


def test_wire_client_sees_everything(oracle: Oracle) -> None:
    """Names, types, type modifiers, NULL, tags, errors and transaction status are those that PostgreSQL sends."""
    with oracle.connect() as client:
        outcome = client.execute("SELECT 1.50::numeric(5,2) AS n, NULL::text AS t, true AS b")
        assert outcome == Outcome(
            rows=(("1.50", None, "t"),),
            columns=("n", "t", "b"),
            oids=(1700, 25, 16),
            typmods=(((5 << 16) | 2) + 4, -1, -1),
            tag="SELECT 1",
        )
        assert client.execute("BEGIN").status == "T"
        failed = client.execute("SELECT 1 / 0")
        assert (failed.sqlstate, failed.message, failed.status) == ("22012", "division by zero", "E")
        assert client.execute("ROLLBACK").status == "I"
        assert client.execute_extended("SELECT $1::int + 1", ["41"]).rows == (("42",),)
        assert client.parameter("server_version").startswith("16.")  # type: ignore[union-attr]
        assert client.execute("").tag == ""


def test_wire_client_copies(oracle: Oracle) -> None:
    """COPY works both ways, and a refused row is an ordinary error."""
    with oracle.connect() as client:
        client.execute("CREATE TEMP TABLE c (a integer, b text)")
        assert client.copy_in("COPY c FROM STDIN (FORMAT csv)", [b"1,x\n2", b",y\n"]).tag == "COPY 2"
        assert client.copy_out("COPY c TO STDOUT (FORMAT csv)")[0] == b"1,x\n2,y\n"
        assert client.copy_in("COPY c FROM STDIN (FORMAT csv)", [b"z,x\n"]).sqlstate == "22P02"
        assert client.execute("COPY c FROM STDIN").sqlstate == "57014"
        assert client.execute("SELECT count(*) FROM c").rows == (("2",),)


def test_wire_client_never_waits_for_ever(oracle: Oracle) -> None:
    """A server that does not answer in time is abandoned."""
    with WireClient(oracle.dsn, timeout_s=0.2) as client:
        assert client.execute("SELECT pg_sleep(5)").sqlstate == CONNECTION_LOST
        assert not client.alive
