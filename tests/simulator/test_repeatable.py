"""Which programs repeat: those whose state decides, not their data."""

from __future__ import annotations

import numpy as np
import pytest
from stream_program import STREAM

from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run import machine
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.repetition.repeatable import may_repeat
from tilewright.simulator.text.parsing import parse_program

LOOP = "    loop i 20\n"
COMPUTED = "    k = add.i32 #1, #2\n"
DECIDES = {
    "a test": f"{COMPUTED}    if k < 5\n      set n 1\n{LOOP}",
    "an addition": f"{COMPUTED}    add k 1\n{LOOP}",
    "a place": f"{COMPUTED}    @fmovs two, two[k]\n{LOOP}",
    "a value of a map": f"    map k from whole\n      set n 1\n    if k < 5\n      set n 1\n{LOOP}",
}
HOLDS_DATA = {
    "nothing else": f"{COMPUTED}{LOOP}",
    "a scalar of an operation": f"    x = add.f32 v(1), #2.0\n{LOOP}      @fmuls two, two, =x\n",
}


def machine_of(text: str) -> Machine:
    return Machine(parse_program(text, "stream.txt"), load_profile("wse3-sdk-sim"))


@pytest.mark.parametrize("name", DECIDES)
def test_data_that_decide_do_not_repeat(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "RepeatingRun", None)
    of = machine_of(STREAM.replace(LOOP, DECIDES[name]))
    assert not may_repeat(of.compiled)
    assert of.cycles() == of.run(edges={"xs": np.zeros((1, 8000))}).cycles


@pytest.mark.parametrize("name", HOLDS_DATA)
def test_counters_of_data_alone_repeat(name: str) -> None:
    of = machine_of(STREAM.replace(LOOP, HOLDS_DATA[name]))
    assert may_repeat(of.compiled)
    assert of.cycles() == of.run(edges={"xs": np.ones((1, 8000))}).cycles


@pytest.mark.parametrize("interval", [2, 3, 29])
def test_a_slow_stream_repeats(interval: int) -> None:
    text = STREAM.replace("count 8000\nedge_out", f"count 8000 interval {interval}\nedge_out")
    of = machine_of(text)
    assert may_repeat(of.compiled)
    assert of.cycles() == of.run(edges={"xs": np.ones((1, 8000))}).cycles
