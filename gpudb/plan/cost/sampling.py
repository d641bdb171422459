"""Estimates a column's distinct values from a sample, where neither a key, nor ANALYZE, nor a range gives them.

Reading files belongs to storage: a database registers its sampler with `set_sampler` when it opens. A process without a
database, such as a worker, has no samples and uses defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpudb.catalog.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Sample:
    """Counts over some of a column's non-NULL values, which were read at several places.

    There are `values` values, `distinct` of them distinct. Of these, `singletons` occurred a single time, and
    `clustered` several times but at one place alone. `distinct_sum` is the sum over the `places` of their distinct
    values.
    """

    values: int
    distinct: int
    singletons: int
    clustered: int = 0
    places: int = 1
    distinct_sum: int = 0

    def estimate_distinct(self, rows: float) -> float:
        """Estimates the distinct values of the sampled column over `rows` non-NULL rows.

        Uses the estimator Duj1 of Haas and Stokes, as PostgreSQL's ANALYZE does. It assumes random samples. Where equal
        values are clustered, as in a sorted file, each place's values beyond its first are scaled up by the sampled
        share instead.
        """
        if not self.values:
            return 1.0
        share = min(self.values / max(rows, 1.0), 1.0)
        found = self.values * self.distinct / (self.values - self.singletons + self.singletons * share)
        # Of random values that occur twice, one in `places` does so at one place.
        if self.places > 1 and self.clustered > (1 + 1 / self.places) / 2 * (self.distinct - self.singletons):
            found = max((self.distinct_sum - self.places) / share, found)
        return min(max(found, float(self.distinct)), max(rows, 1.0))


Sampler = Callable[[Table, Column], Sample | None]


def _no_sample(table: Table, column: Column) -> Sample | None:
    return None


_sampler: Sampler = _no_sample


def set_sampler(sampler: Sampler) -> None:
    """Registers the sampler. It returns None where it cannot sample, and does not raise."""
    global _sampler
    _sampler = sampler


def sample_column(table: Table, column: Column) -> Sample | None:
    """Returns a sample of a column's values; None where none is available."""
    return _sampler(table, column)
