"""States of sequences are reserved on disk before values are drawn, so that a crash repeats none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.catalog.relations import Sequence
from gpudb.errors import SqlError
from gpudb.storage.catalog.sequences import AHEAD, Sequences, SequenceState


def _flat(blocks: list[range]) -> list[int]:
    return [value for block in blocks for value in block]


def _sequence(**options: object) -> Sequence:
    return Sequence(1, "public", "s", "gpudb", 2, **options)  # type: ignore[arg-type]


def test_values_in_order_and_reserved_ahead() -> None:
    states, sequence = Sequences(None), _sequence()
    assert states.get(sequence) == SequenceState(1, False)
    assert _flat(states.draw(sequence)) == [1]
    assert states.get(sequence) == SequenceState(1, True, AHEAD)
    assert _flat(states.draw(sequence, 3)) == [2, 3, 4]
    assert states.get(sequence).reserved == AHEAD - 3


@pytest.mark.parametrize("count", [1, 5, 32, 33, 34, 1000])
def test_after_a_crash_none_comes_again(tmp_path: Path, count: int) -> None:
    path, sequence = tmp_path / "catalog.db", _sequence(increment=3)
    states = Sequences(path)
    drawn = _flat(states.draw(sequence, count)) + _flat(states.draw(sequence))
    # no close: the process crashed
    after = Sequences(path)
    assert _flat(after.draw(sequence))[0] > max(drawn)


def test_after_a_clean_end_it_goes_on(tmp_path: Path) -> None:
    path, sequence = tmp_path / "catalog.db", _sequence()
    states = Sequences(path)
    states.draw(sequence, 5)
    states.close()
    assert _flat(Sequences(path).draw(sequence)) == [6]


def test_limits_and_cycles() -> None:
    sequence = _sequence(minimum=1, maximum=3)
    states = Sequences(None)
    with pytest.raises(SqlError) as caught:
        states.draw(sequence, 4)
    assert caught.value.sqlstate == "2200H"
    assert states.get(sequence).value == 3
    assert _flat(Sequences(None).draw(sequence, 10, least=2)) == [1, 2, 3]
    cycling = _sequence(minimum=1, maximum=3, cycle=True)
    assert _flat(Sequences(None).draw(cycling, 7)) == [1, 2, 3, 1, 2, 3, 1]
    down = _sequence(minimum=-2, maximum=3, first=3, increment=-2)
    states = Sequences(None)
    assert _flat(states.draw(down, 3)) == [3, 1, -1]
    with pytest.raises(SqlError):
        states.draw(down)


def test_the_largest_value_there_is() -> None:
    states, sequence = Sequences(None), _sequence()
    states.set_value(sequence, sequence.maximum - 1, True)
    assert _flat(states.draw(sequence)) == [2**63 - 1]
    with pytest.raises(SqlError):
        states.draw(sequence)


def test_files_that_no_sequence_has_are_forgotten(tmp_path: Path) -> None:
    path, sequence = tmp_path / "catalog.db", _sequence()
    states = Sequences(path)
    states.set_value(sequence, 9, True)
    states.retain(set())
    assert states.get(sequence) == SequenceState(1, False)
    assert Sequences(path).get(sequence) == SequenceState(1, False)


def test_temporary_sequences_stay_in_memory(tmp_path: Path) -> None:
    path, sequence = tmp_path / "catalog.db", _sequence(temporary=True)
    states = Sequences(path)
    states.draw(sequence, 3)
    assert Sequences(path).get(sequence) == SequenceState(1, False)
