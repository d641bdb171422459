"""Features for models: fitted by SQL, compiled to SQL, kept in the database. Imports api and everything below it.

A `Pipeline` of transformers is fitted on a relation; its transform is one statement over the relation's query.
`Pipeline.save` makes it a view, or a function, that every client of the database asks.
"""

from __future__ import annotations

from gpudb.ml.categories import Categorify
from gpudb.ml.datetimes import DatetimeEncoder
from gpudb.ml.encoders import CountEncoder, JoinGroupby, OneHotEncoder
from gpudb.ml.numbers import Clip, KBinsDiscretizer, Log, SimpleImputer
from gpudb.ml.pipeline import Pipeline
from gpudb.ml.scaling import MinMaxScaler, RobustScaler, StandardScaler
from gpudb.ml.splits import add_fold, time_split, train_test_split
from gpudb.ml.target import TargetEncoder
from gpudb.ml.texts import Cross, DropCols, HashBucket, HashedCross, SelectCols, TextLength
from gpudb.ml.transformer import Transformer
from gpudb.ml.windows import Difference, Lag, Rolling

__all__ = [
    "Categorify",
    "Clip",
    "CountEncoder",
    "Cross",
    "DatetimeEncoder",
    "Difference",
    "DropCols",
    "HashBucket",
    "HashedCross",
    "JoinGroupby",
    "KBinsDiscretizer",
    "Lag",
    "Log",
    "MinMaxScaler",
    "OneHotEncoder",
    "Pipeline",
    "RobustScaler",
    "Rolling",
    "SelectCols",
    "SimpleImputer",
    "StandardScaler",
    "TargetEncoder",
    "TextLength",
    "Transformer",
    "add_fold",
    "time_split",
    "train_test_split",
]
