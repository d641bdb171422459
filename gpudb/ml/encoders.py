"""Encoders of categories that need no target: indicators, counts, statistics of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.errors import SqlError
from gpudb.ml.flow import Step
from gpudb.ml.learned import learn
from gpudb.ml.literals import format_value, refer
from gpudb.ml.scaling import as_known_number, compute
from gpudb.ml.selectors import boolean, text
from gpudb.ml.transformer import Chosen, Columns, Transformer, list_columns
from gpudb.types import SqlType

_MOST_COLUMNS = 1000


class OneHotEncoder(Transformer):
    """A column of 0 and 1 (smallint) for each value that fit has seen, in ascending order, as scikit-learn's.

    They are named `COLUMN_VALUE`; NULL has `COLUMN_None` if fit has seen it. A value that it has not seen gives 0
    everywhere (scikit-learn's handle_unknown ignore), whose inverse is NULL. 54011 for more than 1000 values.
    """

    suitable = text() | boolean()

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        missing = compute(relation, {name: f"count(*) - count({refer(name)})" for name in self.columns_})
        for name in self.columns_:
            value = refer(name)
            found = relation.derive(
                lambda query, _, value=value: (  # type: ignore[misc]
                    f"SELECT DISTINCT {value} AS key FROM (\n{query}\n) AS i\n"
                    f"WHERE {value} IS NOT NULL ORDER BY 1 LIMIT {_MOST_COLUMNS + 1}"
                )
            )
            learned = learn(found, keys=1)
            if len(learned) > _MOST_COLUMNS:
                message = f'column "{name}" has more than {_MOST_COLUMNS} values'
                raise SqlError.of("too_many_columns", message, hint="Use Categorify or TargetEncoder.")
            self.learned_[name] = learned
            self.state_[name] = bool(missing[name])

    def _build(self, step: Step) -> None:
        for name in self.columns_:
            learned = self.learned_[name]
            outputs = {}
            for (value,) in learned.list_rows():
                equal = f"{refer(name)} = {format_value(value, learned.types[0])}"
                outputs[f"{name}_{value}"] = f"CASE WHEN {equal} THEN 1 ELSE 0 END::smallint"
            if self.state_[name]:
                outputs[f"{name}_None"] = f"CASE WHEN {refer(name)} IS NULL THEN 1 ELSE 0 END::smallint"
            step.replaced[name] = outputs

    def _invert(self, step: Step) -> None:
        for name in self.columns_:
            learned = self.learned_[name]
            outputs = [(f"{name}_{value}", format_value(value, learned.types[0])) for (value,) in learned.list_rows()]
            outputs += [(f"{name}_None", "NULL")] if self.state_[name] else []
            branches = "".join(f" WHEN {refer(output)} = 1 THEN {value}" for output, value in outputs)
            for at, (output, _) in enumerate(outputs):
                step.replaced[output] = {} if at else {name: f"(CASE{branches} END)::{learned.types[0]}"}


class CountEncoder(Transformer):
    """The number of rows in which fit has seen a value, as category_encoders' CountEncoder: bigint.

    NULL counts as a value; a value that fit has not seen has 0. With `normalize` it is the share of the rows, double
    precision.
    """

    suitable = text() | boolean()

    def __init__(self, columns: Chosen = None, *, normalize: bool = False) -> None:
        super().__init__(columns)
        self.normalize = normalize

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        wanted = {name: f"count(*) - count({refer(name)})" for name in self.columns_}
        found = compute(relation, {"": "count(*)", **wanted})
        rows = found.pop("") or 1
        for name in self.columns_:
            value = refer(name)
            count = f"count(*)::float8 / {rows}" if self.normalize else "count(*)"
            counted = relation.derive(
                lambda query, _, value=value, count=count: (  # type: ignore[misc]
                    f"SELECT {value} AS key, {count} AS count FROM (\n{query}\n) AS i\n"
                    f"WHERE {value} IS NOT NULL GROUP BY {value}"
                )
            )
            self.learned_[name] = learn(counted, keys=1)
            missing = found[name] or 0
            self.state_[name] = missing / rows if self.normalize else missing

    def _build(self, step: Step) -> None:
        type_ = "float8" if self.normalize else "bigint"
        for name in self.columns_:
            found = step.lookup.find(self.learned_[name], [refer(name)], {"count": f"0::{type_}"})["count"]
            missing = format_value(self.state_[name], type_)
            step.replaced[name] = {name: f"CASE WHEN {refer(name)} IS NULL THEN {missing} ELSE {found} END"}


_STATISTICS = {
    "sum": "sum({x})",
    "mean": "avg({x})",
    "std": "stddev_samp({x})",
    "var": "var_samp({x})",
    "min": "min({x})",
    "max": "max({x})",
}


class JoinGroupby(Transformer):
    """Statistics of numbers over the rows of a group, learned by fit and joined to every row of it, as NVTabular's.

    `columns` are the group's key; `stats` are count (`KEY_count`, bigint) and sum, mean, std, var, min, max of each of
    `cont_cols` (`KEY_NUMBER_STAT`, double precision), KEY being the columns' names joined by `_`. NULL and NaN are left
    out. A row whose key fit has not seen, or has NULL, gets NULL, and 0 as the count.
    """

    def __init__(self, columns: Chosen = None, *, cont_cols: Columns = (), stats: Sequence[str] = ("count",)) -> None:
        super().__init__(columns)
        self.cont_cols = list_columns(cont_cols)
        self.stats = list(stats)
        for stat in self.stats:
            if stat != "count" and stat not in _STATISTICS:
                raise SqlError.of("invalid_parameter_value", f'"{stat}" is no statistic of JoinGroupby')

    def _list_learned(self) -> Iterable[str]:
        return [*self.columns_, *self.cont_cols]

    def _learn(self, relation: Relation, types: Mapping[str, SqlType]) -> None:
        group = "_".join(self.columns_)
        keys = [f"{refer(name)} AS {quote_identifier(f'key {at}')}" for at, name in enumerate(self.columns_)]
        values = []
        for stat in self.stats:
            if stat == "count":
                values.append(f"count(*) AS {quote_identifier(f'{group}_count')}")
                continue
            for name in self.cont_cols:
                aggregate = _STATISTICS[stat].format(x=as_known_number(name))
                values.append(f"{aggregate} AS {quote_identifier(f'{group}_{name}_{stat}')}")
        where = " AND ".join(f"{refer(name)} IS NOT NULL" for name in self.columns_)
        by = ", ".join(refer(name) for name in self.columns_)
        found = relation.derive(
            lambda query, _: f"SELECT {', '.join(keys + values)} FROM (\n{query}\n) AS i WHERE {where} GROUP BY {by}"
        )
        self.learned_[group] = learn(found, keys=len(keys))

    def _build(self, step: Step) -> None:
        (learned,) = self.learned_.values()
        missing = {
            name: "0::bigint" if type_ == "bigint" else f"NULL::{type_}"
            for name, type_ in zip(learned.names[learned.keys :], learned.types[learned.keys :], strict=True)
        }
        step.added |= step.lookup.find(learned, [refer(name) for name in self.columns_], missing)
