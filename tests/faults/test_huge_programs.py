"""Programs with more state than is simulated at a time end in a named error, before it is made."""

from __future__ import annotations

import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine


def test_a_grid_whose_memories_are_too_large() -> None:
    b = ProgramBuilder("huge", 2000, 2000)
    code = b.code("main")
    code.buffer("v", "f32", 1000)
    code.mem1d("all", "v", 1000)
    code.task("main", entry=True).op("fmovs", "all", 1.0)
    b.place("main", Area(0, 0, 2000, 2000))
    with pytest.raises(ProgramError, match="state of 4000000 elements takes more than") as caught:
        Machine(b.build(), load_profile("wse2-sdk-sim")).run()
    assert caught.value.instead.startswith("fewer elements")
