"""Small programs whose results were found on paper, from the SDK's texts alone."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

ONE_TO_EIGHT = np.arange(1, 9).reshape(1, 1, 8)
FIFO = """
program fifo 1 x 1
code m
  buffer v u32 [8]
  buffer a u32 [8]
  buffer seen u32 [4]
  buffer store u32 [4]
  mem1d all v extent 8
  mem1d into a extent 8
  fifo f store{settings}
  task main entry
{body}
  task event
    seen(3) = add.u32 seen(3), #1
place m [0:1, 0:1]
"""
FIFOS = {
    # an operation that finds the FIFO empty ends with 0; its length is what is left: 5
    "empty and full": (
        "",
        """
@mov32 f, all {length 3} result r
seen(0) = mov.u32 r
@mov32 into, f result r
seen(1) = mov.u32 r
@mov32 f, all[3] {length 5} result r
seen(2) = mov.u32 r
@mov32 into {length 5}, f result r
seen(3) = mov.u32 r""",
        [4, 5, 6, 7, 0, 0, 0, 0],
        [1, 0, 0, 0],
    ),
    "terminate": (
        " empty terminate full terminate",
        "@mov32 f, all result r\nseen(0) = mov.u32 r\n@mov32 into, f result r\nseen(1) = mov.u32 r",
        [1, 2, 3, 4, 0, 0, 0, 0],
        [1, 1, 0, 0],
    ),
    # what the operation popped is discarded, the scalar stays
    "a scalar destination": (
        "",
        """
seen(1) = mov.u32 #99
@mov32 f, all {length 2}
read_length f 3
@mov32 seen(1), f result r
seen(0) = mov.u32 r
write_length f 1
@mov32 f, v(7)
read_length f 1
@mov32 seen(2), f""",
        [0] * 8,
        [0, 99, 8, 0],
    ),
    # a pop activates only behind a push that found the FIFO full, and once
    "activation by a pop": (
        " activate_pop event",
        """
@mov32 f, all {length 3}
@mov32 into {length 3}, f
@mov32 f, all {length 5} result r
@mov32 into {length 1}, f
@mov32 into {length 3}, f""",
        [2, 3, 4, 0, 0, 0, 0, 0],
        [0, 0, 0, 1],
    ),
    # a push activates only behind a pop that found the FIFO empty, and once
    "activation by a push": (
        " activate_push event",
        """
@mov32 f, all {length 1}
@mov32 into {length 2}, f result r
@mov32 f, all {length 2}
@mov32 f, all {length 2}""",
        [1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1],
    ),
}


@pytest.mark.parametrize("what", FIFOS)
def test_fifos(what: str) -> None:
    settings, body, into, seen = FIFOS[what]
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    program = parse_program(FIFO.format(settings=settings, body=lines))
    found = Machine(program, load_profile("wse3-sdk-sim")).run(memory={"v": ONE_TO_EIGHT}).memory
    assert found["a"].ravel().tolist() == into
    assert found["seen"].ravel().tolist() == seen


FILTERED = """
program filtered 1 x 1
color x
code m
  buffer v u32 [{kept}]
  mem1d all v extent {kept}
  input_queue 2 x
  fabin in queue 2 extent {kept}
  task main entry
    @mov32 all, in
place m [0:1, 0:1]
route x [0:1, 0:1] rx W tx R {filter}
edge_input xs side W [0:1] color x u32 count 12
"""
REJECTED = {
    "counter 5 most 4 count_data": [5, 10],
    "counter 5 most 4 start 3 count_data": [2, 7, 12],
    "counter 5 most 2 count_data": [3, 4, 5, 8, 9, 10],
    "counter 5 most 4": [],
    # the second limit counts from 0 again, and behind it nothing is filtered
    "counter 3 most 2 other_limit 2 count_data": [3],
    "counter 3 most 2 other_limit 4 count_data": [3, 6, 7],
    "counter 3 most 2 count_data sparse": [3],
    "range 0 0": [],
}


@pytest.mark.parametrize("chosen", REJECTED)
def test_filters(chosen: str) -> None:
    kept = [n for n in range(1, 13) if n not in REJECTED[chosen]]
    program = parse_program(FILTERED.format(kept=len(kept), filter=chosen))
    result = Machine(program, load_profile("wse3-sdk-sim")).run(edges={"xs": [list(range(1, 13))]})
    assert result.memory["v"].ravel().tolist() == kept


SENT = """
program sent 1 x 1
color x
code m
  buffer v i16 [8]
  mem1d all v extent 8
  mem1d four v extent 4 wavelet_index_offset
  output_queue 2 x
  fabout pairs queue 2 extent 8 simd simd_32
  fabout quads queue 2 extent 8 simd simd_64
  fabout indexed queue 2 extent 4 wavelet_index_offset
  fabout plain queue 2 extent 4
  task main entry
    @mov16 {operands}
place m [0:1, 0:1]
route x [0:1, 0:1] rx R tx E
edge_output y side E [0:1] color x u32 count 4
"""
WAVELETS = {
    "pairs, all": [2 << 16 | 1, 4 << 16 | 3, 6 << 16 | 5, 8 << 16 | 7],
    "quads, all": [2 << 16 | 1, 4 << 16 | 3, 6 << 16 | 5, 8 << 16 | 7],
    # the index moves the vector by three words and stands in every wavelet's upper half
    "indexed, four index (3)": [3 << 16 | n for n in (4, 5, 6, 7)],
    "plain, four index (3)": [4, 5, 6, 7],
    "indexed, all {length 4} index (65535)": [65535 << 16 | n for n in (1, 2, 3, 4)],
}


@pytest.mark.parametrize("operands", WAVELETS)
def test_what_stands_in_wavelets(operands: str) -> None:
    program = parse_program(SENT.format(operands=operands))
    result = Machine(program, load_profile("wse3-sdk-sim")).run(memory={"v": ONE_TO_EIGHT})
    assert result.edges["y"].values.tolist() == [WAVELETS[operands]]


def test_dropped_up_to_control_wavelets() -> None:
    """@dfilt drops data till its extent of control wavelets has come; 50 comes behind them."""
    text = """
program dropped 1 x 2
color x
code s
  output_queue 2 x
  fabout out queue 2 extent 1
  fabout c queue 2 extent 1 control
  task main entry
    @mov32 out, #1
    @mov32 c, #4194304
    @mov32 out, #2
    @mov32 out, #3
    @mov32 c, #4194304
    @mov32 out, #50
code r
  buffer a u32 [1]
  input_queue 2 x
  fabin in queue 2 extent 2
  fabin one queue 2 extent 1
  mem1d all a extent 1
  task main entry
    @dfilt in async activate next
  task next
    @mov32 all, one
place s [0:1, 0:1]
place r [0:1, 1:2]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
"""
    result = Machine(parse_program(text), load_profile("wse3-sdk-sim")).run()
    assert result.memory["a"][0, 1].tolist() == [50]
