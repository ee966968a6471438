"""What a packing says of banks is what the machine takes: each packing is executed."""

from __future__ import annotations

import pytest

from tilewright.mapper.layout.enumeration.banks import Banks
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import PackedMemory, packings
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

N = 100
WSE2 = load_profile("wse2-sdk-sim")


def cycles(operation: str, packed: PackedMemory) -> int:
    """Run one operation c = a op b on buffers at the packed addresses."""
    b = ProgramBuilder("placed", 1, 1)
    code = b.code("main")
    for buffer in packed.buffers:
        name = buffer.request.name
        code.buffer(name, "f32", N, address=buffer.address // 2)  # in words of 16 bits
        code.mem1d(f"all_{name}", name, N)
    code.task("main", entry=True).op(operation, "all_c", "all_a", "all_b")
    b.place("main", Area(0, 0))
    trace = Machine(b.build(), WSE2).run(timeline=True).trace
    (op,) = (entry for entry in trace.timeline if entry.operation != "task")
    return op.end - op.start - WSE2.memory_completion_cycles


@pytest.mark.parametrize(("operation", "at_once"), [("fmuls", 1), ("fadds", 2)])
def test_inputs_that_meet_take_twice_as_long(operation: str, at_once: int) -> None:
    """f32 of two words, `at_once` of them per step, from 8 banks of 16 bits."""
    banks = Banks(alignment=4, banks=8, word_bytes=2, read_words=2 * at_once)
    requests = [
        BufferRequest(
            name=name, tile_bytes=4 * N, modulus=banks.round_bytes, residues=banks.residues
        )
        for name in "abc"
    ]
    seen = set()
    for packed in packings(requests, 48 * 1024):
        meet = bool(banks.meetings(packed, ("a", "b")))
        assert cycles(operation, packed) == N // at_once * (2 if meet else 1)
        seen.add(meet)
    assert seen == {True, False}
