"""Linear models as SQL expressions over a function's parameters $1, $2, …: every engine computes them."""

from __future__ import annotations

from collections.abc import Sequence

Linear = Sequence[tuple[Sequence[float], float]]
Categories = Sequence[tuple[str, ...] | None]
MAX_TERMS = 2000
"""Models with more terms than this in their expression are scored by a process."""


def count_terms(linear: Linear, task: str) -> int:
    """Returns how many products the expression of a model's value or label has."""
    each = sum(len(coefficients) for coefficients, _ in linear)
    return each if len(linear) == 1 else each * (len(linear) + 1) // 2


def make_value(linear: Linear, categories: Categories, booleans: Sequence[bool]) -> str:
    """Returns the score of a model that has one: an intercept and a product for each feature."""
    ((coefficients, intercept),) = linear
    return _make_score(coefficients, intercept, categories, booleans)


def make_label(linear: Linear, categories: Categories, booleans: Sequence[bool], labels: Sequence[str]) -> str:
    """Returns the label with the greatest score; `labels` are SQL literals."""
    scores = [_make_score(*each, categories, booleans) for each in linear]
    if len(scores) == 1:
        return f"CASE WHEN {scores[0]} > 0 THEN {labels[1]} ELSE {labels[0]} END"
    branches = []
    for place, score in enumerate(scores[:-1]):
        others = ", ".join(scores[place + 1 :])
        branches.append(f"WHEN {score} >= GREATEST({others}) THEN {labels[place]}")
    return f"CASE {' '.join(branches)} ELSE {labels[-1]} END"


def make_probability(linear: Linear, categories: Categories, booleans: Sequence[bool]) -> str:
    """Returns the probability of the second of two classes. No power overflows: beyond 700 none changes the result."""
    score = make_value(linear, categories, booleans)
    return f"1 / (1 + exp(- GREATEST({_number(-700.0)}, LEAST({_number(700.0)}, {score}))))"


def _make_score(
    coefficients: Sequence[float], intercept: float, categories: Categories, booleans: Sequence[bool]
) -> str:
    left = iter(coefficients)
    terms = [_number(intercept)]
    for place, (texts, is_boolean) in enumerate(zip(categories, booleans, strict=True), 1):
        if texts is not None:
            branches = " ".join(f"WHEN {quote_text(text)} THEN {_number(next(left))}" for text in texts)
            if branches:
                terms.append(f"CASE ${place} {branches} ELSE {_number(0.0)} END")
        elif is_boolean:
            terms.append(f"CASE WHEN ${place} THEN {_number(next(left))} ELSE {_number(0.0)} END")
        else:
            terms.append(f"{_number(next(left))} * ${place}")
    return f"({' + '.join(terms)})"


def _number(value: float) -> str:
    return f"'{value!r}'::double precision"


def quote_text(text: str) -> str:
    """Returns a text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"
