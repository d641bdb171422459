"""Of each of PostgreSQL's regression topics, written anew on tables of our own, 95 statements in 100 give the same.

Every statement without a mark is compared by `test_differential`; this holds the share of marked ones down.
"""

from __future__ import annotations

import pytest

from tests.differential import script

LEAST_EQUAL = 0.95
LEAST_STATEMENTS = 40

_TOPICS = {
    name.removeprefix("topics/"): [each for each in statements if not each.setup]
    for name, statements in script.read_all().items()
    if name.startswith("topics/")
}
_NAMES = (
    "aggregates arrays case date delete groupingsets insert interval join json limit numeric rowtypes select"
    " strings subselect timestamp union update window with"
).split()


def test_topics_are_there() -> None:
    """No topic has got lost."""
    assert sorted(_TOPICS) == _NAMES


@pytest.mark.parametrize("topic", _NAMES)
def test_topic_is_equal(topic: str) -> None:
    """At least 40 statements, of which at most one in twenty is refused or differs."""
    statements = _TOPICS[topic]
    assert len(statements) >= LEAST_STATEMENTS
    other = [each.name for each in statements if each.differs or each.refused is not None]
    assert 1 - len(other) / len(statements) >= LEAST_EQUAL, other
