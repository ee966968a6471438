"""Document 000, descriptors of wavelets: queues, control, index, SIMD, clearing, transforms."""

from __future__ import annotations

import pytest
from one_element import program_text, refused, run, run_text, values, words_sent

from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

RECEIVE = """
buffer got u32 [5]
mem1d all got extent 5
input_queue 2 x
fabin in queue 2 extent 5
task main entry
  @mov32 all, in
"""
SEND = """
buffer v {dtype} [{n}]
mem1d all v extent {n}
output_queue 3 y
fabout out queue 3 extent {n}{properties}
task main entry
  @{move} out, all{index}
"""


def send(
    *,
    n: int = 4,
    dtype: str = "u16",
    move: str = "mov16",
    properties: str = "",
    index: str = "",
) -> str:
    """Return the body of a code that sends a vector of n values."""
    return SEND.format(n=n, dtype=dtype, move=move, properties=properties, index=index)


@pytest.mark.row("000.42", "000.44")
def test_a_fabin_takes_its_number_of_wavelets() -> None:
    assert values(run(RECEIVE, xs=[3, 1, 4, 1, 5]), "got") == [3, 1, 4, 1, 5]
    refused(RECEIVE.replace("extent 5\ntask", "extent 0x\ntask"), "unknown property")


@pytest.mark.row("000.43")
def test_a_color_stands_for_the_queue_that_is_bound_to_it() -> None:
    named = RECEIVE.replace("fabin in queue 2", "fabin in color x")
    for profile in ("wse2-sdk-sim", "wse3-sdk-sim"):
        assert values(run(named, xs=[1, 2, 3, 4, 5], profile=profile), "got") == [1, 2, 3, 4, 5]
    out = send().replace("fabout out queue 3", "fabout out color y")
    assert words_sent(run(out, sent=4, v=[7, 8, 9, 10])) == [7, 8, 9, 10]
    wrong = RECEIVE.replace("fabin in queue 2", "fabin in color y")
    refused(wrong, "no queue declared above is bound to this color", xs=[1] * 5)


@pytest.mark.row("000.46", "000.47")
def test_a_fabout_sends_data_wavelets() -> None:
    numbers = list(range(1, 1025))
    assert words_sent(run(send(n=1024), sent=1024, v=numbers)) == numbers


LOOP = "route y [0:1, 0:1] rx R tx E\nroute y [0:1, 1:2] rx W tx R\n"


@pytest.mark.row("000.47")
def test_a_control_wavelet_starts_the_control_task_of_its_entry() -> None:
    text = "program p 1 x 2\ncolor y\ncode send\n"
    text += "  output_queue 3 y\n  fabout out queue 3 extent 1 control\n  task main entry\n"
    text += f"    @mov32 out, #{control_wavelet(entry=5, data=77)}\n"
    text += "code main\n  buffer got u32 [1]\n  input_queue 2 y\n"
    text += "  task stop control 5 value:u16\n    got(0) = mov.u32 value\n"
    text += "place main [0:1, 1:2]\nplace send [0:1, 0:1]\n" + LOOP
    assert run_text(text).memory["got"][0, 1].tolist() == [77]


@pytest.mark.row("000.48", "000.49")
def test_the_index_stands_in_the_upper_half_of_every_wavelet() -> None:
    body = send(properties=" wavelet_index_offset", index=" index (7)")
    assert words_sent(run(body, sent=4, v=[1, 2, 3, 4])) == [7 << 16 | v for v in (1, 2, 3, 4)]
    refused(send(properties=" wavelet_index_offset"), "needs an index")


@pytest.mark.row("000.90")
def test_queues_that_a_machine_does_not_have() -> None:
    body = send().replace("queue 3", "queue 6").replace("output_queue 3", "output_queue 6")
    assert words_sent(run(body, sent=4, v=[1, 2, 3, 4])) == [1, 2, 3, 4]
    refused(body, "wse2-sdk-sim has no output queue 6", profile="wse2-sdk-sim")


@pytest.mark.row("000.98")
@pytest.mark.parametrize("mode", ["simd_32", "simd_64", "simd_32_or_64"])
def test_a_wavelet_of_a_simd_mode_carries_two_values(mode: str) -> None:
    body = send(n=8, properties=f" simd {mode}")
    words = words_sent(run(body, sent=4, v=range(1, 9)))
    assert words == [low | (low + 1) << 16 for low in (1, 3, 5, 7)]
    wide = send(dtype="f32", move="fmovs", properties=f" simd {mode}")
    refused(wide, "SIMD modes are for operations on 16-bit values")


@pytest.mark.row("000.98")
def test_simd_64_waits_for_two_wavelets() -> None:
    """Three wavelets of six values: with simd_64 the length must be a multiple of four."""
    body = "buffer got u16 [6]\nmem1d all got extent 6\ninput_queue 2 x\n"
    body += "fabin in queue 2 extent 6 simd {}\ntask main entry\n  @mov16 all, in\n"
    pairs = [low | (low + 1) << 16 for low in (1, 3, 5)]
    result = run(body.format("simd_32_or_64"), xs=pairs)
    assert values(result, "got") == [1, 2, 3, 4, 5, 6]
    refused(body.format("simd_64"), "4 of which go at once", xs=pairs)


ZERO = """
buffer a u16 [3]
buffer b u16 [3]
mem1d first a extent 3
mem1d second b extent 3
output_queue 3 y
fabout out queue 3 extent 3 zero {}
task main entry
  @add16 out, first, {}
"""


@pytest.mark.row("000.100", "000.101")
def test_a_fabout_clears_the_source_that_it_names() -> None:
    for name, left in (("first", ([0] * 3, [4, 5, 6])), ("second", ([1, 2, 3], [0] * 3))):
        result = run(ZERO.format(name, "second"), sent=3, a=[1, 2, 3], b=[4, 5, 6])
        assert words_sent(result) == [5, 7, 9]
        assert (values(result, "a"), values(result, "b")) == left
    refused(ZERO.format("both", "second"), "zero names the first or the second source")


@pytest.mark.row("000.101")
def test_the_only_source_is_the_second_one() -> None:
    cleared = run(send(properties=" zero second"), sent=4, v=[1, 2, 3, 4])
    assert values(cleared, "v") == [0] * 4
    refused(send(properties=" zero first"), "is cleared as its second one")


SWITCHED = """
program p 1 x 3
color y
code send
  buffer v u16 [20]
  mem1d all v extent 10
  output_queue 3 y
  fabout out queue 3 extent 10 advance_switch
  task main entry
    @mov16 out, all
    @mov16 out, all[10]
code take
  buffer got u16 [10]
  mem1d all got extent 10
  input_queue 2 y
  fabin in queue 2 extent 10
  task main entry
    @mov16 all, in
place send [0:1, 1:2]
place take [0:1, 0:1]
place take [0:1, 2:3]
route y [0:1, 1:2] rx R tx W pos1 tx E
route y [0:1, 0:1] rx E tx R
route y [0:1, 2:3] rx W tx R
"""


@pytest.mark.row("000.102")
def test_the_switch_moves_behind_the_last_of_ten_wavelets() -> None:
    machine = Machine(parse_program(SWITCHED), load_profile("wse3-sdk-sim"))
    got = machine.run(memory={"v": {(0, 1): range(20)}}).memory["got"]
    assert got[0, 0].tolist() == list(range(10))
    assert got[0, 2].tolist() == list(range(10, 20))


RELAY = """
program p 1 x 3
color x
color y
code send
  output_queue 3 x
  fabout data queue 3 extent 1
  fabout commands queue 3 extent 1 control
  task main entry
    @mov32 data, #11
    @mov32 commands, #{command}
    @mov32 data, #{last}
code relay
  buffer held u32 [8]
  fifo queue held
  input_queue 2 x
  output_queue 3 y
  fabin in queue 2 extent 3{inward}
  fabout out queue 3 extent 3{outward}
  task main entry
    @mov32 queue, in async
    @mov32 out, queue async
code take
  buffer got u32 [4]
  buffer stopped u32 [1]
  mem1d all got extent 2
  input_queue 2 y
  task arrives queue 2 low:u16
    got(k) = mov.u32 low
    add k 1
  task stop control 5 value:u16
    stopped(0) = mov.u32 value
place send [0:1, 0:1]
place relay [0:1, 1:2]
place take [0:1, 2:3]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
route y [0:1, 1:2] rx R tx E
route y [0:1, 2:3] rx W tx R
"""


@pytest.mark.row("000.103", "000.104")
def test_a_relay_with_a_fifo_keeps_control_wavelets_and_their_order() -> None:
    both = {"inward": " control_transform", "outward": " control_transform"}
    text = RELAY.format(command=control_wavelet(entry=5, data=9), last=22, **both)
    memory = run_text(text).memory
    assert memory["got"][0, 2].tolist() == [11, 22, 0, 0]
    assert memory["stopped"][0, 2].tolist() == [9]


@pytest.mark.row("000.103", "000.105")
def test_the_two_top_bits_mark_a_control_wavelet() -> None:
    body = RECEIVE.replace("extent 5\ntask", "extent 5 control_transform\ntask")
    assert values(run(body, xs=[1, 2, 3, 4, 5]), "got") == [1, 2, 3, 4, 5]
    refused(body, "uses its two top bits", xs=[1 << 31, 2, 3, 4, 5])


@pytest.mark.row("000.106")
@pytest.mark.parametrize(
    "line", ["mem1d d v extent 4", "mem4d d v extent [4]", "circbuf d v extent 4", "fifo d v"]
)
def test_control_transform_is_for_fabric_descriptors(line: str) -> None:
    body = f"buffer v u16 [4]\n{line} control_transform\ntask main entry\n"
    refused(body, "unknown property")


TWO_INPUTS = """
buffer got u32 [2]
mem1d all got extent 2
input_queue 2 x
input_queue 3 y
fabin first queue 2 extent 2
fabin second queue 3 extent 2
task main entry
  @fadds all, first, second
"""


@pytest.mark.row("000.107")
def test_two_fabric_inputs_are_for_wse2() -> None:
    body = TWO_INPUTS.replace("u32", "f32")
    refused(body, "too many fabric inputs for wse3-sdk-sim")
    text = program_text(body, arriving=2) + "route y [0:1, 0:1] rx E tx R\n"
    text += "edge_input more side E [0:1] color y f32 count 2\n"
    text = text.replace("color x u32", "color x f32")
    edges = {"xs": [[1.0, 2.0]], "more": [[10.0, 20.0]]}
    result = run_text(text, profile="wse2-sdk-sim", edges=edges)
    assert values(result, "got") == [11, 22]
