"""A plan as one worker holds it between statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gpudb.engine.gpu.fastpath.single_kernel import SingleKernelPlan, match_single_kernel
from gpudb.engine.gpu.fastpath.two_phase import TwoPhasePlan, split_phases
from gpudb.plan.tree.stages import Stage


@dataclass(frozen=True)
class WorkerPlan:
    """The stages of a plan, and which fast path runs them. It depends on the plan alone, so it is found once."""

    stages: Sequence[Stage]

    @cached_property
    def single_kernel(self) -> SingleKernelPlan | None:
        """How one kernel answers the plan on the only worker; None where it does not."""
        return match_single_kernel(self.stages)

    @cached_property
    def two_phase(self) -> TwoPhasePlan | None:
        """The plan's two phases over several workers; None where it cannot be split."""
        return split_phases(self.stages)
