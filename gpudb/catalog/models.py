"""Models: what CREATE MODEL trained or took from a file, kept by the functions that score rows with it."""

from __future__ import annotations

from dataclasses import dataclass

LANGUAGE = "model"
"""The language of functions whose results a scoring process computes, by columns; linear models are SQL."""
PROBABILITY = "probability"
"""The output of a classifier's second function."""
CONTENT_SCHEMA = "pg_toast"
"""The schema of the tables that have the bytes of models. They are no user's: storage keeps them as it keeps tables."""


@dataclass(frozen=True, slots=True)
class Feature:
    """An input of a model. `categories` are the texts that a text feature had in training; None for numbers."""

    name: str
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model, as each of its functions has it.

    `kind` is its library's (xgboost, linear, onnx …), `task` regression, classification or clustering. `labels` are the
    texts of the classes, in the library's order. `output` is what the function of this value returns: value, label or
    probability. `content` is the OID of the table with its bytes in `format`; 0 if its function is SQL. `metrics` is a
    JSON object. `created` is a time in ISO 8601. `snapshots` are the tables that the training query read, each with the
    snapshot that it read.
    """

    name: str
    kind: str
    task: str
    features: tuple[Feature, ...]
    output: str = "value"
    target: str = ""
    labels: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    metrics: str = "{}"
    query: str = ""
    snapshots: tuple[tuple[str, int], ...] = ()
    rows: int = 0
    created: str = ""
    version: int = 1
    format: str = ""
    library: str = ""
    content: int = 0
