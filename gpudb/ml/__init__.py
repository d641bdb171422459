"""Features for models: fitted by SQL, compiled to SQL, kept in the database. Imports api and everything below it.

A `Pipeline` of transformers is fitted on a relation; its transform is one statement over the relation's query.
`Pipeline.save` makes it a view, or a function, that every client of the database asks.
"""

from __future__ import annotations

from gpudb.ml import selectors
from gpudb.ml.categories import Categorify, OrdinalEncoder
from gpudb.ml.datetimes import DatetimeEncoder
from gpudb.ml.encoders import CountEncoder, JoinGroupby, OneHotEncoder
from gpudb.ml.expressions import PolynomialFeatures, SQLTransformer
from gpudb.ml.leave_one_out import LeaveOneOutEncoder, WOEEncoder
from gpudb.ml.numbers import Clip, KBinsDiscretizer, Log, SimpleImputer
from gpudb.ml.pipeline import Pipeline
from gpudb.ml.scaling import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from gpudb.ml.shapes import PowerTransformer, QuantileTransformer
from gpudb.ml.splits import add_fold, time_series_split, time_split, train_test_split
from gpudb.ml.target import TargetEncoder
from gpudb.ml.texts import Cross, DropCols, HashBucket, HashedCross, SelectCols, TextLength
from gpudb.ml.transformer import Transformer
from gpudb.ml.vectorizer import TableVectorizer
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
    "LeaveOneOutEncoder",
    "Log",
    "MaxAbsScaler",
    "MinMaxScaler",
    "OneHotEncoder",
    "OrdinalEncoder",
    "Pipeline",
    "PolynomialFeatures",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "Rolling",
    "SQLTransformer",
    "SelectCols",
    "SimpleImputer",
    "StandardScaler",
    "TableVectorizer",
    "TargetEncoder",
    "TextLength",
    "Transformer",
    "WOEEncoder",
    "add_fold",
    "selectors",
    "time_series_split",
    "time_split",
    "train_test_split",
]
