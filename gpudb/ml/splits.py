"""Splits of rows by hash, time, stratum or group: the same rows on every engine and number of workers.

A row's side depends on its key, the seed and nothing else: new rows move no others (but for strata, whose shares are
exact).
"""

from __future__ import annotations

from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import SqlError, UndefinedColumn
from gpudb.functions.text_literal import quote_literal
from gpudb.ml.flow import describe
from gpudb.ml.hashing import RANGE, hash_column, to_bucket
from gpudb.ml.literals import list_names, refer
from gpudb.ml.transformer import Columns
from gpudb.types import SqlType

_RANK = "gpudb split rank"
_COUNT = "gpudb split count"


def train_test_split(
    relation: Relation, *, key: str, test_size: float = 0.25, seed: int = 0, stratify: Columns = ()
) -> tuple[Relation, Relation]:
    """Returns the rows to train on and the rows to test on, by a hash of `key`.

    `key` identifies a row; if it identifies a group (a customer), all rows of the group go to one side. The share of
    the test is `test_size` up to chance. With `stratify` it is exact up to one row in each stratum (rows of equal
    values there, NULL being a value); `key` must then be unique. A key of NULL is trained on. 0A000 for a key whose
    type has no hash.
    """
    if not 0 < test_size < 1:
        raise SqlError.of("invalid_parameter_value", "test_size must be between 0 and 1")
    strata = [stratify] if isinstance(stratify, str) else list(stratify)
    types = _require(relation, [key, *strata])
    hashed = hash_column(key, types[key], seed)
    if not strata:
        border = f"{hashed} < {round(test_size * RANGE)}"
        return _where(relation, f"({border}) IS NOT TRUE"), _where(relation, border)
    ranked = _rank(relation, hashed, key, strata)
    border = f"{refer(_RANK)} <= round({refer(_COUNT)} * {test_size!r}::float8)"
    return _keep(_where(ranked, f"NOT ({border})"), types), _keep(_where(ranked, border), types)


def time_split(relation: Relation, *, on: str, at: str) -> tuple[Relation, Relation]:
    """Returns the rows before a moment and those from it on; `at` is a constant of the type of `on`, as text.

    Rows where `on` is NULL are in neither.
    """
    type_ = _require(relation, [on])[on]
    moment = f"{quote_literal(at)}::{type_}"
    return _where(relation, f"{refer(on)} < {moment}"), _where(relation, f"{refer(on)} >= {moment}")


def time_series_split(
    relation: Relation,
    *,
    on: str,
    key: str | None = None,
    n_splits: int = 5,
    test_size: int | None = None,
    gap: int = 0,
    max_train_size: int | None = None,
) -> list[tuple[Relation, Relation]]:
    """Returns pairs of the rows to train on and the later rows to test on, as scikit-learn's TimeSeriesSplit.

    Rows are in the order of `on`, then of `key`, which should make it unique; NULLs come last. Each test has
    `test_size` rows, by default a share of 1 / (n_splits + 1), and follows that of the split before; `gap` rows before
    it are in neither, and a training has at most its last `max_train_size` rows. The rows are counted now. 22023 if
    they are too few.
    """
    if n_splits < 2:
        raise SqlError.of("invalid_parameter_value", "n_splits must be at least 2")
    types = _require(relation, [on, *([] if key is None else [key])])
    rows = len(relation)
    size = rows // (n_splits + 1) if test_size is None else test_size
    if size < 1 or rows - n_splits * size - gap < 1:
        message = f"{rows} rows are too few for {n_splits} tests of {size} with a gap of {gap}"
        raise SqlError.of("invalid_parameter_value", message)
    by = ", ".join(refer(name) for name in (on, key) if name is not None)
    ranked = relation.derive(
        lambda query, _: (
            f"SELECT i.*, row_number() OVER (ORDER BY {by}) - 1 AS {quote_identifier(_RANK)}\nFROM (\n{query}\n) AS i"
        )
    )
    pairs = []
    for start in range(rows - n_splits * size, rows, size):
        first = 0 if max_train_size is None else max(0, start - gap - max_train_size)
        bounds = ((first, start - gap), (start, start + size))
        train, test = (_where(ranked, f"{refer(_RANK)} >= {a} AND {refer(_RANK)} < {b}") for a, b in bounds)
        pairs.append((_keep(train, types), _keep(test, types)))
    return pairs


def add_fold(
    relation: Relation, *, key: str, n_splits: int = 5, seed: int = 0, stratify: Columns = (), name: str = "fold"
) -> Relation:
    """Returns the relation with the number of each row's fold, from 0 on (bigint), for cross-validation.

    `key` and `stratify` are those of `train_test_split`: a key of groups keeps groups together, strata are spread
    evenly.
    """
    if n_splits < 2:
        raise SqlError.of("invalid_parameter_value", "n_splits must be at least 2")
    strata = [stratify] if isinstance(stratify, str) else list(stratify)
    types = _require(relation, [key, *strata])
    hashed = hash_column(key, types[key], seed)
    if not strata:
        text = f"SELECT i.*, coalesce({to_bucket(hashed, n_splits)}, 0) AS {quote_identifier(name)}"
        return relation.derive(lambda query, _: f"{text} FROM (\n{query}\n) AS i")
    number = f"({refer(_RANK)} - 1) % {n_splits} AS {quote_identifier(name)}"
    columns = ", ".join(refer(each) for each in types)
    return _rank(relation, hashed, key, strata).derive(
        lambda query, _: f"SELECT {columns}, {number} FROM (\n{query}\n) AS i"
    )


def _require(relation: Relation, names: list[str]) -> dict[str, SqlType]:
    types = describe(relation)
    for name in names:
        if name not in types:
            raise UndefinedColumn(f'column "{name}" does not exist')
    return types


def _where(relation: Relation, condition: str) -> Relation:
    return relation.derive(lambda query, _: f"SELECT * FROM (\n{query}\n) AS i WHERE {condition}")


def _keep(relation: Relation, types: dict[str, SqlType]) -> Relation:
    return relation.derive(lambda query, _: f"SELECT {list_names(types)} FROM (\n{query}\n) AS i")


def _rank(relation: Relation, hashed: str, key: str, strata: list[str]) -> Relation:
    by = ", ".join(refer(name) for name in strata)
    return relation.derive(
        lambda query, _: (
            f"SELECT i.*, row_number() OVER (PARTITION BY {by} ORDER BY {hashed}, {refer(key)}) AS "
            f"{quote_identifier(_RANK)}, count(*) OVER (PARTITION BY {by}) AS {quote_identifier(_COUNT)}\n"
            f"FROM (\n{query}\n) AS i"
        )
    )
