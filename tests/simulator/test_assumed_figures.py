"""A result names the assumed figures of its profile that it rests on, and no others."""

import pytest

from tilewright.simulator.compile.assumed_figures import LIMITS, USED_BY
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

PLAIN = """
program p 1 x 1
code main
  buffer a u16 [4]
  mem1d d a extent 4
  task main entry
    @add16 d, d, #1
place main [0:1, 0:1]
"""
LINES = {
    "counter_cycles": "set k 1",
    "branch_taken_cycles": "if k < 1\n      @add16 d, d, #1",
    "loop_back_edge_cycles": "loop k 2\n      @add16 d, d, #1",
    "scalar_operation_cycles": "k = add.u16 k, #1",
    "map_step_cycles": "map v from d to d as v",
    "task_control_cycles": "block main",
    "increment_offset_cycles": "@add16 d {length 2}, d[k] {length 2}, #1",
}


def figures(text: str, profile: str) -> list[str]:
    program, chosen = parse_program(text), load_profile(profile)
    result = Machine(program, chosen).run()
    assert FastMachine(program, chosen).run().result.assumed == result.assumed
    return [line.split(":")[0] for line in result.assumed]


def test_a_program_that_uses_published_figures_only() -> None:
    assert figures(PLAIN, "wse3-sdk-sim") == []


@pytest.mark.parametrize("field", LINES)
@pytest.mark.parametrize("profile", ["wse3-sdk-sim", "wse2-sdk-sim"])
def test_what_a_program_uses_is_named(field: str, profile: str) -> None:
    text = PLAIN.replace("    @add16 d, d, #1\n", f"    @add16 d, d, #1\n    {LINES[field]}\n", 1)
    without, found = figures(PLAIN, profile), figures(text, profile)
    is_assumed = load_profile(profile).sources[field].startswith("assumed")
    assert field not in without
    assert (field in found) == is_assumed
    reasons = Machine(parse_program(text), load_profile(profile)).run().assumed
    assert all(len(reason.split(": ", 1)[1]) > 3 for reason in reasons)


def test_an_assumed_rate_counts_for_its_operation_only() -> None:
    assert "operations.add16" not in figures(PLAIN, "wse3-sdk-sim")
    silicon = figures(PLAIN, "wse3-silicon")
    sources = load_profile("wse3-silicon").sources
    assumed = {f for f, text in sources.items() if text.startswith("assumed")}
    assert {f for f in silicon if f.startswith("operations.")} == assumed & {"operations.add16"}


def test_the_tables_name_fields_of_profiles() -> None:
    fields = set(load_profile("generic").sources)
    assert set(USED_BY) <= fields
    assert fields >= LIMITS
