"""How many values a table's column has, by a sample of them: for columns of which neither a key, nor ANALYZE, nor a
range tells.

Reading files is the storage's: a database hands its way of taking samples to `sample_by` as it opens. In a process
without one, such as a worker's, there are none, and guesses stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpudb.catalog.model import Column, Table


@dataclass(frozen=True, slots=True)
class Sample:
    """What was found among some of a column's values, NULLs not counted, which were read at several places.

    There are so many `values` and `distinct` ones; of these `once` came a single time, `apart` several times but at one
    place alone. `met` is the sum of the distinct values of each of the `places`.
    """

    values: int
    distinct: int
    once: int
    apart: int = 0
    places: int = 1
    met: int = 0

    def distinct_among(self, rows: float) -> float:
        """How many distinct values a column has whose sample this is, with so many rows that are not NULL.

        Haas and Stokes' estimator Duj1, as PostgreSQL's ANALYZE computes it. It takes samples for random: where equal
        values lie together, as in a sorted file, a place's values beyond its first are as many as its share of all.
        """
        if not self.values:
            return 1.0
        share = min(self.values / max(rows, 1.0), 1.0)
        found = self.values * self.distinct / (self.values - self.once + self.once * share)
        # Of random values that come twice, one of `places` does so at one place.
        if self.places > 1 and self.apart > (1 + 1 / self.places) / 2 * (self.distinct - self.once):
            found = max((self.met - self.places) / share, found)
        return min(max(found, float(self.distinct)), max(rows, 1.0))


Sampler = Callable[[Table, Column], Sample | None]


def _none(table: Table, column: Column) -> Sample | None:
    return None


_sampler: Sampler = _none


def sample_by(sampler: Sampler) -> None:
    """Takes samples by a function from now on; it gives None where it cannot, and does not raise."""
    global _sampler
    _sampler = sampler


def sampled(table: Table, column: Column) -> Sample | None:
    """A sample of a column's values; None where there is none to be had."""
    return _sampler(table, column)
