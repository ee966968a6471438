"""A simulator of a grid machine with descriptors, and mappings lowered to its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.simulator.build.program_builder import ProgramBuilder
    from tilewright.simulator.execution.einsum_execution import ExecutionSettings
    from tilewright.simulator.execution.execution import execute
    from tilewright.simulator.isa.machine_errors import DeadlockError
    from tilewright.simulator.profiles.profile import load_profile
    from tilewright.simulator.program.program import Program
    from tilewright.simulator.run.machine import Machine
    from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid
    from tilewright.simulator.show.timeline import perfetto

__all__ = [
    "DeadlockError",
    "ExecutionSettings",
    "GridRequest",
    "Machine",
    "Program",
    "ProgramBuilder",
    "execute",
    "load_profile",
    "map_on_grid",
    "perfetto",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "DeadlockError": "tilewright.simulator.isa.machine_errors",
        "ExecutionSettings": "tilewright.simulator.execution.einsum_execution",
        "GridRequest": "tilewright.simulator.search.grid_mapping",
        "Machine": "tilewright.simulator.run.machine",
        "Program": "tilewright.simulator.program.program",
        "ProgramBuilder": "tilewright.simulator.build.program_builder",
        "execute": "tilewright.simulator.execution.execution",
        "load_profile": "tilewright.simulator.profiles.profile",
        "map_on_grid": "tilewright.simulator.search.grid_mapping",
        "perfetto": "tilewright.simulator.show.timeline",
    },
)
