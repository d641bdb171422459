"""What is to be fitted, and what fitting makes of it; parameters by the names that libraries have for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from gpudb.analytics.encoding import Matrix
from gpudb.analytics.libraries import make_refusal
from gpudb.analytics.parameters import PARAMETERS, Task, Value
from gpudb.errors import SqlError

Target = npt.NDArray[Any]
Linear = tuple[tuple[tuple[float, ...], float], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows to fit: a matrix of rows by features, and a target, numbers or those of `classes` classes.

    `texts` are the places of the features that are numbers of categories; `validation` are other rows.
    """

    matrix: Matrix
    target: Target
    classes: int
    task: Task
    parameters: Mapping[str, Value]
    texts: tuple[int, ...]
    validation: tuple[Matrix, Target] | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted model: its bytes in a format, its scores if they are linear, and further figures of its training."""

    format: str
    content: bytes
    library: str
    linear: Linear = ()
    figures: Mapping[str, object] = field(default_factory=dict)
    scores: tuple[Target, ...] = ()
    """The scores of the sample's rows, and of those for validation, where fitting has them."""
    notice: str = ""


def rename_parameters(kind: str, sample: Sample) -> dict[str, Any]:
    """Returns the parameters by the library's names, without the share of rows for validation."""
    known = PARAMETERS[kind]
    chosen = {name: value for name, value in sample.parameters.items() if name != "validation"}
    return {known[name].name if name in known else name: value for name, value in chosen.items()}


def check_classes(objective: str, sample: Sample, binary: str) -> None:
    """22023 for an objective of two classes, whose names begin with `binary`, and a target of others."""
    if objective.startswith(binary) and sample.classes != 2:
        message = f'objective "{objective}" needs a target of two classes, not {sample.classes}'
        raise SqlError.of("invalid_parameter_value", message)


def make_fit_refusal(error: Exception) -> SqlError:
    """Returns 22023 with what a library says of a sample or of parameters."""
    return make_refusal("train this model", error)
