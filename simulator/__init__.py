"""The machine of data-structure descriptors, and the lowering of mappings to its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.simulator.build.program_builder import ProgramBuilder
    from tilewright.simulator.cost_model import SimulatedCostModel
    from tilewright.simulator.isa.machine_errors import DeadlockError
    from tilewright.simulator.lowering.lower import lower
    from tilewright.simulator.profiles.profile import Profile, load_profile
    from tilewright.simulator.program.program import Program
    from tilewright.simulator.run.machine import Machine
    from tilewright.simulator.run.trace import RunResult
    from tilewright.simulator.show.timeline import perfetto

__all__ = [
    "DeadlockError",
    "Machine",
    "Profile",
    "Program",
    "ProgramBuilder",
    "RunResult",
    "SimulatedCostModel",
    "load_profile",
    "lower",
    "perfetto",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "DeadlockError": "tilewright.simulator.isa.machine_errors",
        "Machine": "tilewright.simulator.run.machine",
        "Profile": "tilewright.simulator.profiles.profile",
        "Program": "tilewright.simulator.program.program",
        "ProgramBuilder": "tilewright.simulator.build.program_builder",
        "RunResult": "tilewright.simulator.run.trace",
        "SimulatedCostModel": "tilewright.simulator.cost_model",
        "load_profile": "tilewright.simulator.profiles.profile",
        "lower": "tilewright.simulator.lowering.lower",
        "perfetto": "tilewright.simulator.show.timeline",
    },
)
