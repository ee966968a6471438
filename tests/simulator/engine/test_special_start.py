"""No length lets an operation leave its buffers, or end within a group of SIMD values.

The rule of SIMD lengths is written a second time here (`group`), and every mode, length and way
to give one is tried against it; a buffer on each side of those that are used stays as it was.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from explore import at_night

from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")
MODES = ("", "simd_32", "simd_64", "simd_32_or_64")
PAIR = """
program pair 1 x 2
color x
code s
  buffer v u16 [8]
  mem1d V v extent 8
  output_queue 2 x
  fabout out queue 2 extent 8 {sent}
  task main entry
    set k {n}
    {send}
code r
  buffer before u16 [8]
  buffer o u16 [8]
  buffer behind u16 [8]
  mem1d O o extent 8
  input_queue 2 x
  fabin in queue 2 extent 8 {received}
  task main entry
    set k {n}
    {receive}
place s [0:1, 0:1]
place r [0:1, 1:2]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
"""
WAYS = {
    "number": (
        "@mov16 out {{length {n}}}, V {{length {n}}}",
        "@mov16 O {{length {n}}}, in {{length {n}}}",
    ),
    "counter": (
        "@mov16 out {{length k}}, V {{length k}}",
        "@mov16 O {{length k}}, in {{length k}}",
    ),
    "register": (
        "load %dsr_dest 1 out\n    @mov16 %dsr_dest 1, V {{length {n}}}",
        "load %dsr_src1 1 in\n    @mov16 O {{length k}}, %dsr_src1 1",
    ),
}


def group(*modes: str) -> int:
    """Return of how many values a length is a multiple: a queue of simd_64 takes four at once."""
    return max({"": 1, "simd_64": 4}.get(mode, 2) for mode in modes)


def run(text: str, profile: Profile = WSE3, **memory: object) -> RunResult:
    given = {name: {(0, 0): values} for name, values in memory.items()}
    return Machine(parse_program(text), profile).run(memory=given, max_cycles=1_000_000)  # type: ignore[arg-type]


@pytest.mark.parametrize("profile", [WSE2, *at_night(WSE3)], ids=lambda p: p.name)
@pytest.mark.parametrize("way", ["number", "counter"])
def test_a_simd_length_is_a_multiple_of_its_group(profile: Profile, way: str) -> None:
    for sent, received, n in itertools.product(MODES, MODES, range(1, 9)):
        if bool(sent) != bool(received):
            continue  # another number of wavelets: see the relays of test_simd_modes.py
        send, receive = (line.format(n=n) for line in WAYS[way])
        simd = [f"simd {mode}" if mode else "" for mode in (sent, received)]
        text = PAIR.format(sent=simd[0], received=simd[1], n=n, send=send, receive=receive)
        v = np.arange(1, 9)
        if n % group(sent, received):
            error = ProgramError if way == "number" else MachineError
            with pytest.raises(error, match=r"@mov16: [24] values go at once") as caught:
                run(text, profile, v=v)
            assert str(n) in str(caught.value)
            continue
        found = run(text, profile, v=v).memory
        assert found["o"][0, 1].tolist() == [*range(1, n + 1), *[0] * (8 - n)]
        assert not found["before"].any()
        assert not found["behind"].any()


@pytest.mark.parametrize("mode", MODES[1:])
def test_a_register_keeps_the_rule(mode: str) -> None:
    """A register's length is the descriptor's; that of 8 is legal, another one of memory is not."""
    send, receive = (line.format(n=8) for line in WAYS["register"])
    simd = f"simd {mode}"
    found = run(PAIR.format(sent=simd, received=simd, n=8, send=send, receive=receive), v=range(8))
    assert found.memory["o"][0, 1].tolist() == list(range(8))
    text = PAIR.format(sent=simd, received=simd, n=3, send=send, receive=receive)
    with pytest.raises(MachineError, match="the lengths of its operands differ: 3 and 8"):
        run(text, v=range(8))


REGISTER_OF_TWO = """
program two 1 x 1
color x
code m
  buffer v u16 [8]
  buffer o u16 [8]
  mem1d V v extent 8
  mem1d O o extent 8
  output_queue 2 x
  input_queue 2 x
  fabout out queue 2 extent 8 simd simd_32
  fabin plain queue 2 extent 8
  fabin in queue 2 extent 8 simd simd_32
  task main entry
    load %dsr_src1 1 plain
    @mov16 out, V async
    load %dsr_src1 1 in
    @mov16 O, %dsr_src1 1
place m [0:1, 0:1]
route x [0:1, 0:1] rx R tx R
"""


def test_the_mode_is_that_of_what_a_register_holds_now() -> None:
    assert run(REGISTER_OF_TWO, v=range(8)).memory["o"].ravel().tolist() == list(range(8))


FIFO = """
program fifo 1 x 1
code m
  buffer v u16 [8]
  buffer before u16 [8]
  buffer o u16 [8]
  buffer behind u16 [8]
  buffer st u16 [8]
  mem1d V v extent 8
  mem1d O o extent 8
  fifo q st simd {mode}
  task main entry
    set k {n}
    {push}
    {pop}
place m [0:1, 0:1]
"""


@pytest.mark.parametrize("mode", MODES[1:])
def test_a_fifo_takes_whole_groups(mode: str) -> None:
    ways = {
        ProgramError: ("@mov16 q, V {{length {n}}}", "@mov16 O {{length {n}}}, q"),
        MachineError: (
            "@mov16 q, V {{length k}}",
            "read_length q {n}\n    @mov16 O {{length k}}, q",
        ),
    }
    for n, (error, lines) in itertools.product(range(1, 9), ways.items()):
        push, pop = (line.format(n=n) for line in lines)
        text = FIFO.format(mode=mode, n=n, push=push, pop=pop)
        if n % group(mode):
            with pytest.raises(error, match="values go at once"):
                run(text, WSE2, v=range(1, 9))
            continue
        found = run(text, WSE2, v=range(1, 9)).memory
        assert found["o"].ravel().tolist() == [*range(1, n + 1), *[0] * (8 - n)]
        assert not found["before"].any()
        assert not found["behind"].any()


def test_a_fifo_has_room_for_a_group() -> None:
    text = FIFO.format(mode="simd_64", n=4, push="", pop="").replace("st u16 [8]", "st u16 [2]")
    with pytest.raises(ProgramError, match="a FIFO has room for the 4 values that go at once"):
        run(text, WSE2)


ENDLESS = """
program endless 1 x 1
color x
code m
  buffer before u16 [8]
  buffer o u16 [64]
  buffer behind u16 [8]
  {vector}
  input_queue 2 x
  fabin in queue 2 extent 32767
  task main entry
    set k 32767
    {operation}
place m [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
edge_input xs side N [0:1] color x u16 count 100
"""


@pytest.mark.parametrize(
    "vector",
    [
        "mem4d O o extent [32767, 1] stride [1, 0] offset 0",
        "mem4d O o extent [151, 217] stride [0, 0]",
    ],
)
def test_an_endless_operation_needs_memory_without_end(vector: str) -> None:
    text = ENDLESS.format(vector=vector, operation="@mov16 O, in async")
    with pytest.raises(MachineError, match=r"@mov16: it is endless .* but an operand is a vector"):
        Machine(parse_program(text), WSE3).run(edges={"xs": np.ones((1, 100))})


def test_an_endless_operation_fills_a_ring_and_a_place() -> None:
    ring = ENDLESS.format(
        vector="circbuf O o extent 32767 wraparound 63", operation="@mov16 O, in async"
    )
    values = np.arange(1, 101)[None]
    found = Machine(parse_program(ring), WSE3).run(edges={"xs": values}).memory
    assert found["o"].ravel().tolist() == [*range(64, 101), *range(38, 64), 0]
    assert not found["before"].any()
    assert not found["behind"].any()
    place = ENDLESS.format(vector="mem1d O o extent 32767 stride 0", operation="@mov16 O, in async")
    found = Machine(parse_program(place), WSE3).run(edges={"xs": values}).memory
    assert found["o"].ravel().tolist() == [100] + [0] * 63


def test_a_memory_operation_of_32767_elements_ends() -> None:
    """0x7fff stands for endless beside a queue only; a map and a FIFO count it down."""
    text = """
program long 1 x 1
code m
  buffer c u32 [1]
  buffer st u16 [8]
  buffer o u16 [2]
  mem1d O o extent 32767 stride 0
  mem1d ONE o extent 1
  fifo q st
  task main entry
    load %dsr_src1 1 O single_step
    map a from %dsr_src1 1
      add n 1
    c(0) = mov.u32 n
    @mov16 q, ONE
    @mov16 q, O result r
place m [0:1, 0:1]
"""
    found = run(text.replace("    @mov16 o(1), #7\n", ""))
    assert found.memory["c"].ravel().tolist() == [32767]


HALF = """
program half 1 x 2
color x
color y
code s
  buffer v u16 [{n}]
  mem1d V v extent {n}
  output_queue 2 x
  fabout out queue 2 extent {n} {sent}
  fabout stop queue 2 extent 1 control
  task main entry
    @mov16 out, V
    @mov32 stop, #0
code r
  input_queue 2 x
  output_queue 3 y
  fabin in queue 2 extent 8 {received}
  fabout on queue 3 extent 8 {forwarded}
  task main entry
    @mov16 on, in async on_control terminate
place s [0:1, 0:1]
place r [0:1, 1:2]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
route y [0:1, 1:2] rx R tx E
edge_output ys side E [0:1] color y {dtype} count {count}
"""


def test_a_control_wavelet_does_not_take_half_a_wavelet_away() -> None:
    """Of a received pair the second value goes before the end; one that is left to send errs."""
    split = HALF.format(
        n=4, sent="simd simd_32", received="simd simd_32", forwarded="", dtype="u16", count=4
    )
    result = run(split, v=range(1, 5))
    assert result.edges["ys"].values.tolist() == [[1, 2, 3, 4]]
    joined = {"sent": "", "received": "", "forwarded": "simd simd_32", "dtype": "u32"}
    result = run(HALF.format(n=4, count=2, **joined), v=range(1, 5))
    assert result.edges["ys"].values.tolist() == [[1 | 2 << 16, 3 | 4 << 16]]
    with pytest.raises(
        MachineError, match="it ends early after 3 values, with half a SIMD wavelet"
    ):
        run(HALF.format(n=3, count=1, **joined), v=range(1, 4))


def test_no_sum_of_counters_leaves_the_memory() -> None:
    """Counters have 64 bits: an offset beyond them may not come round into the buffer."""
    text = """
program far 1 x 1
code m
  buffer a f32 [8]
  mem1d A a extent 8 offset 7 stride -1
  task main entry
    loop i 4
      add k 1073741824
    @fmovs A[{factor}*k + {constant}], #1.0
place m [0:1, 0:1]
"""
    for factor, constant in itertools.product((2147483647, -2147483647, 1 << 30), (0, 1, -1)):
        with pytest.raises(MachineError, match=r"@fmovs: .*leaves"):
            run(text.format(factor=factor, constant=constant))
