"""The kernels that parse csv, compiled for the host: their values are Python's, and other forms are refused."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from gpudb.engine.gpu.fused.codegen.building_blocks import read_source
from tests.support.fused.hosted import COMPILER, HostedFile

INTEGER, NUMERIC, FLOAT, BOOLEAN, DATE = range(5)
MOST = (1 << 63) - 1
EPOCH = dt.date(1970, 1, 1)

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs g++")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> HostedFile:
    return HostedFile(read_source("csv.cu"), (), tmp_path_factory.mktemp("csv"))


def _find_fields(rows: Sequence[Sequence[str]]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    data = np.frombuffer("".join(",".join(row) + "\n" for row in rows).encode(), np.uint8)
    return data, np.flatnonzero((data == ord(",")) | (data == ord("\n"))).astype(np.int64)


def _parse(
    kernels: HostedFile, texts: Sequence[str], kind: int, scale: int = 0, limit: int = MOST
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], bool]:
    data, ends = _find_fields([("x", text, "") for text in texts])
    values, valid, refused = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8), np.zeros(1, np.int32)
    given = [data, ends, np.int64(len(texts)), np.int32(3), np.int32(1), np.int32(kind), np.int32(scale)]
    kernels("parse_csv", -(-len(texts) // 256), [*given, np.int64(limit), values, valid, refused])
    return values, valid, bool(refused[0])


def test_numbers_are_those_of_the_text(kernels: HostedFile) -> None:
    draw = random.Random(5)
    texts = []
    for _ in range(5000):
        digits, scale = draw.randint(1, 15), draw.randint(0, 6)
        whole = str(draw.randrange(10**digits)).zfill(scale + 1)
        texts.append(draw.choice(["", "-"]) + (f"{whole[:-scale]}.{whole[-scale:]}" if scale else whole))
    values, _, refused = _parse(kernels, texts, FLOAT)
    assert not refused
    assert [repr(each) for each in values.view(np.float64).tolist()] == [repr(float(text)) for text in texts]
    values, _, refused = _parse(kernels, texts, NUMERIC, 6)
    fitting = [text for text in texts if abs(Decimal(text)) < 10**12]
    assert not refused or len(fitting) < len(texts)
    values, _, refused = _parse(kernels, fitting, NUMERIC, 6, 10**18 - 1)
    assert not refused
    assert [Decimal(each).scaleb(-6) for each in values.tolist()] == [Decimal(text) for text in fitting]


def test_integers_days_and_booleans(kernels: HostedFile) -> None:
    values, valid, refused = _parse(kernels, ["7", "", "-32768", "007", "-0"], INTEGER, 0, 32768)
    assert (values.tolist(), valid.tolist(), refused) == ([7, 0, -32768, 7, 0], [1, 0, 1, 1, 1], False)
    days = [dt.date.fromordinal(number) for number in range(1, 3_652_059, 997)]
    values, _, refused = _parse(kernels, [day.isoformat() for day in days], DATE)
    assert (values.tolist(), refused) == ([(day - EPOCH).days for day in days], False)
    values, valid, refused = _parse(kernels, ["true", "false", ""], BOOLEAN)
    assert (values.tolist(), valid.tolist(), refused) == ([1, 0, 0], [1, 1, 0], False)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (INTEGER, ["+1", "1.0", " 1", "1 ", "1e3", "0x1", "-", "9223372036854775808", "1_0", "abc"]),
        (NUMERIC, ["1.005", "1e2", "5.", ".5", "--1", "1.2.3", "99999999999"]),
        (FLOAT, ["nan", "inf", "1e5", "5.", ".5", "123456789012345678901"]),
        (BOOLEAN, ["t", "TRUE", "1", "truex", "fals"]),
        (DATE, ["2023-02-29", "2024-13-01", "2024-1-01", "0000-01-01", "2024-01-01 ", "20240101"]),
    ],
)
def test_other_forms_are_refused(kernels: HostedFile, kind: int, texts: Sequence[str]) -> None:
    for text in texts:
        assert _parse(kernels, ["", text], kind, 2, 10**10 - 1 if kind == NUMERIC else MOST)[2], text


def test_a_numeric_that_64_bits_do_not_hold_is_refused(kernels: HostedFile) -> None:
    for text in ("99999999999999999", "999999999999999999", "-92233720368547759"):
        assert _parse(kernels, [text], NUMERIC, 2, 10**18 - 1)[2], text
    values, _, refused = _parse(kernels, ["9999999999999999.99", "-9999999999999999"], NUMERIC, 2, 10**18 - 1)
    assert (values.tolist(), refused) == ([10**18 - 1, -999999999999999900], False)


def test_texts_are_copied(kernels: HostedFile) -> None:
    rows = [("a", "", "längst"), ("", "bc", "d"), ("e", "fgh", "")]
    data, ends = _find_fields(rows)
    for column in range(3):
        where = [ends, np.int64(3), np.int32(3), np.int32(column)]
        lengths, valid = np.empty(3, np.int64), np.empty(3, np.uint8)
        kernels("measure_csv", 1, [*where, lengths, valid])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        texts = np.empty(int(offsets[-1]), np.uint8)
        kernels("copy_csv", 1, [data, *where, offsets, texts])
        found = [texts[first:last].tobytes().decode() for first, last in pairwise(offsets.tolist())]
        assert found == [row[column] for row in rows]
        assert valid.tolist() == [int(bool(text)) for text in found]
