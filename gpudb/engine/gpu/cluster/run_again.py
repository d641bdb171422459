"""The rule by which work that has lost a worker runs again, unseen by its client, or ends with an error.

Workers only compute what a statement reads; what it writes is written from their rows, by the server. So all that they
do may be done again until the first rows have been taken. What may not is an error that the client sees: of rows that
are gone nobody can tell whether a second run would return the same ones in the same order.

A worker that the cluster itself has ended, because of another statement that did not stop, is no fault of this one, nor
is a lost connection to a worker that lives: it runs `MOST_RUNS` times, and waits for the worker meanwhile; its
statement_timeout bounds both. Any other loss may be the statement's own doing, and befall the next worker too: it runs
again after `MOST_LOSSES` of those.
"""

from __future__ import annotations

from gpudb.errors import WorkerEnded, WorkerLost

MOST_RUNS = 10
"""The number of runs of one statement."""
MOST_LOSSES = 1
"""The number of workers that a statement may lose, not blameless, and still run again."""


class WorkerGone(Exception):
    """A worker was lost, or a connection to one; `blameless` if that cannot be the doing of the statement.

    Not the statement's error yet: `RunAgain` decides.
    """

    def __init__(self, *, blameless: bool = False) -> None:
        super().__init__()
        self.blameless = blameless


class RunAgain:
    """The workers that one statement has lost so far."""

    def __init__(self) -> None:
        self._runs = 1
        self._losses = 0

    @property
    def has_lost(self) -> bool:
        """Whether it has lost a worker that it may itself have ended."""
        return self._losses > 0

    def record(self, gone: WorkerGone, *, taken: bool = False) -> None:
        """Records a loss, after which the statement runs again.

        Raises WorkerLost if it must not: rows were `taken`, or it has run often enough; WorkerEnded if it is blameless.
        """
        self._runs += 1
        self._losses += not gone.blameless
        if taken or self._runs > MOST_RUNS or self._losses > MOST_LOSSES:
            raise worker_lost_error(blameless=gone.blameless) from gone

    def reset(self) -> None:
        """Forgets the losses of a plan that another one replaces."""
        self._losses = 0


def worker_lost_error(*, blameless: bool = False) -> WorkerLost:
    """Returns the error of a statement that has lost a worker and does not run again."""
    if blameless:
        return WorkerEnded(
            "a worker of the cluster was ended while the statement ran, which cannot run again",
            detail="Another statement did not stop on it. Rows of this one were sent, or it has run often enough.",
            hint="Run the statement again.",
        )
    return WorkerLost("a worker of the cluster was lost while the statement ran", hint="Run the statement again.")
