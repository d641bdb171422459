"""PostgreSQL's regression topics, rewritten for our own tables: 95 of 100 statements agree.

`test_differential` compares every statement without a mark; this module limits the share of marked ones.
`python -m tests.support.topics` prints the shares.
"""

from __future__ import annotations

import pytest

from tests.support import case_files, topics

LEAST_EQUAL = 0.95
LEAST_STATEMENTS = 40


def test_every_topics_file_is_of_a_topic() -> None:
    """No topic's file is missing."""
    named = {name for names in topics.FILES.values() for name in names.split()}
    assert {name for name in case_files.read_all() if name.startswith("topics/")} <= named


@pytest.mark.parametrize("topic", topics.FILES)
def test_topic_is_equal(topic: str) -> None:
    """At least 40 statements, of which at most one in twenty is refused or differs."""
    share = topics.shares()[topic]
    assert share.statements >= LEAST_STATEMENTS
    assert share.equal >= LEAST_EQUAL, share.other
