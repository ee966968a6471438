"""Runs of the task for a tile whose reads meet on the same memory banks."""

from __future__ import annotations

from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.lowering.element_program import OTHER_SLOT, SLOT, STEP
from tilewright.simulator.lowering.lower_bound.task_cycles import AlikeRuns


def alike_runs(steps: range) -> list[AlikeRuns]:
    """Return groups of steps whose runs take the same banks: one for each step modulo the banks.

    In each the buffers are those of its first step.
    """
    return [
        AlikeRuns({STEP: step, SLOT: step % 2, OTHER_SLOT: 1 - step % 2}, len(steps[first::BANKS]))
        for first, step in enumerate(steps[:BANKS])
    ]
