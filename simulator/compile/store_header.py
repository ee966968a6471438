"""The header of the engine's store: the cycles of a profile."""

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.profiles.profile import Profile

NEVER: Final = 1 << 62
"""A limit that no word of the store comes to."""


def store_header(profile: Profile) -> at.Table:
    """Return the header of the engine's store: int64 words with the profile's instruction cycles.

    All other words of the header (current cycle, error, counts) are 0.
    """
    table = np.zeros(at.S_WIDTH, dtype=np.int64)
    table[at.S_WATCH_LIMIT] = NEVER
    table[at.K_ISSUE] = profile.issue_cycles
    table[at.K_LOOP] = profile.loop_back_edge_cycles
    table[at.K_COUNTER] = profile.counter_cycles
    table[at.K_TAKEN] = profile.branch_taken_cycles
    table[at.K_NOT_TAKEN] = profile.branch_not_taken_cycles
    table[at.K_CONTROL] = profile.task_control_cycles
    table[at.K_SWITCH] = profile.task_switch_cycles
    table[at.K_COMPLETION] = profile.completion_cycles
    table[at.K_MEMORY_COMPLETION] = profile.memory_completion_cycles
    table[at.K_EXECUTE] = profile.decode_to_execute_cycles
    table[at.K_SCALAR] = profile.scalar_operation_cycles
    table[at.K_SCALAR_OPERAND] = profile.scalar_operand_cycles
    table[at.K_END] = profile.task_end_cycles
    table[at.K_MAP] = profile.map_step_cycles
    table[at.K_DESCRIPTOR] = max(1, profile.descriptor_load_cycles)
    return table
