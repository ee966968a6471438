"""The machine of data-structure descriptors, and the lowering of mappings to its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.simulator.builder import ProgramBuilder
    from tilewright.simulator.cost_model import SimulatedCostModel
    from tilewright.simulator.errors import DeadlockError
    from tilewright.simulator.lowering.lower import lower
    from tilewright.simulator.machine import Machine
    from tilewright.simulator.profile import Profile, load_profile
    from tilewright.simulator.program import Program
    from tilewright.simulator.timeline import perfetto
    from tilewright.simulator.trace import RunResult

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

__getattr__ = lazily(
    __name__,
    {
        "DeadlockError": "tilewright.simulator.errors",
        "Machine": "tilewright.simulator.machine",
        "Profile": "tilewright.simulator.profile",
        "Program": "tilewright.simulator.program",
        "ProgramBuilder": "tilewright.simulator.builder",
        "RunResult": "tilewright.simulator.trace",
        "SimulatedCostModel": "tilewright.simulator.cost_model",
        "load_profile": "tilewright.simulator.profile",
        "lower": "tilewright.simulator.lowering.lower",
        "perfetto": "tilewright.simulator.timeline",
    },
)
