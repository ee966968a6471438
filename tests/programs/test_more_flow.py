"""More programs: FIFOs that wake tasks, switches, control tasks, filters, back-pressure."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import ENDLESS, Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    Switch,
)
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])

PAIRS_AT_A_TIME = """
program "pairs at a time" 1 x 1
color x 0
color y 1
code main
  buffer store u32 [4] @ 0
  buffer pair u32 [2] @ 8
  fifo held store activate_push more
  fabin in queue 2 extent 16
  fabout out queue 3 extent 1
  input_queue 2 x
  output_queue 3 y
  task main entry
    @mov32 held, in async
    read_length held 1
    activate more
  task more
    @mov32 pair(k), held result ok
    if ok < 1
      add tries 1
    else
      add k 1
      if k < 2
        activate more
      else
        sum = add.u32 pair(0), pair(1)
        @mov32 out, =sum
        set k 0
        activate more
place main [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
route y [0:1, 0:1] rx R tx S
edge_input x side N [0:1] color x u32 count 16 interval 7 start 3
edge_output y side S [0:1] color y u32 count 8
"""


@PROFILES
def test_pairs_of_a_slow_stream_by_a_fifo_that_wakes_a_task(profile: str) -> None:
    """A pop that finds nothing ends the task; the push of the next word starts it again."""
    machine = Machine(parse_program(PAIRS_AT_A_TIME), load_profile(profile))
    x = np.arange(16, dtype=np.uint32) ** 2
    result = machine.run(edges={"x": x[None]})
    assert result.edges["y"].values.ravel().tolist() == x.reshape(8, 2).sum(axis=1).tolist()


@PROFILES
def test_a_full_fifo_blocks_its_data_task_until_a_pop(profile: str) -> None:
    """The producer keeps the word that found no space; the pop that makes room pushes it."""
    b = ProgramBuilder("held_back", 1, 1)
    b.color("x")
    code = b.code("main")
    words, room = 20, 3
    code.buffer("store", "u32", room)
    code.buffer("got", "u32", words + 1)  # the last pop finds nothing
    code.mem1d("slot", "got", 1)
    code.fifo("held", "store", activate_pop="again")
    code.input_queue(2, "x")
    code.task("lengths", entry=True).set_write_length("held", 1)
    push = code.data_task("push", 2, [("value", "u32")])
    push.op("mov32", "held", variable("value"), result="ok")
    push.activate("drain")
    with push.when_below("ok", 1):
        push.block("push")
    again = code.task("again")
    again.op("mov32", "held", variable("value"), result="ok")
    again.unblock("push")
    drain = code.task("drain")
    drain.op("mov32", Ref("slot").at(variable("n")), "held", result="some")
    with drain.when_below("some", 1):
        drain.increment("empty")
    with drain.otherwise():
        drain.increment("n")
        drain.activate("drain")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "u32", words))
    x = np.arange(words, dtype=np.uint32) * 3 + 1
    result = Machine(b.build(), load_profile(profile)).run(edges={"x": x[None]})
    assert result.memory["got"].ravel().tolist() == [*x.tolist(), 0]


@PROFILES
@pytest.mark.parametrize("rounds", [1, 4])
def test_a_switch_in_a_ring_deals_words_out(profile: str, rounds: int) -> None:
    """`advance_switch` behind every hand of three words: north, east, south, north, ..."""
    b = ProgramBuilder("deal", 3, 2)
    b.color("x")
    hand = 3
    words = 3 * hand * rounds
    dealer = b.code("dealer")
    dealer.buffer("v", "i16", words)
    dealer.mem1d("hand", "v", hand)
    dealer.output_queue(3, "x")
    dealer.fabout("out", 3, hand, advance_switch=True)
    main = dealer.task("main", entry=True)
    with main.loop("i", 3 * rounds) as i:
        main.op("mov16", "out", Ref("hand").at(i * hand))
    taker = b.code("taker")
    taker.buffer("got", "i16", hand * rounds)
    taker.mem1d("all", "got", hand * rounds)
    taker.input_queue(2, "x")
    taker.fabin("in", 2, hand * rounds)
    taker.task("main", entry=True).op("mov16", "all", "in")
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0, 3, 2))
    b.place("dealer", Area(1, 0))
    ring = Switch((Position(tx=("E",)), Position(tx=("S",))), ring=True)
    b.route("x", Area(1, 0), rx="R", tx="N", switch=ring)
    places = [(0, 0), (1, 1), (2, 0)]
    for (row, column), port in zip(places, "SWN", strict=True):
        b.place("taker", Area(row, column))
        b.route("x", Area(row, column), rx=port, tx="R")
    v = np.arange(words, dtype=np.int16) - 5
    result = Machine(b.build(), load_profile(profile)).run(memory={"v": {(1, 0): v}})
    expected = v.reshape(rounds, 3, hand).transpose(1, 0, 2).reshape(3, -1)
    for place, row in zip(places, expected, strict=True):
        assert result.memory["got"][place].tolist() == row.tolist()


def routed(commands: list[int | list[str]], pop: str, routers: int) -> tuple[list[list[int]], int]:
    """Follow words (a number) and control wavelets (commands) through switches E, S by hand.

    Returns the words that each router sends south, and the wavelets that reach the end.
    """
    position, south, end = [0] * routers, [[] for _ in range(routers)], 0  # type: ignore[var-annotated]
    for sent in commands:
        left = list(sent) if isinstance(sent, list) else []
        for router in range(routers):
            old = position[router]
            if isinstance(sent, list):
                command = left[0] if left else "nop"
                new = {"switch_adv": 1, "switch_rst": 0}.get(command, old)
                position[router] = new
                advanced = command == "switch_adv" and new != old
                popped = pop == "always_pop" or (pop != "no_pop" and advanced)
                popped = popped or (pop == "pop_on_advance_nop" and command == "nop")
                left = left[1:] if popped else left
            if old == 1:
                if isinstance(sent, int):
                    south[router].append(sent)
                break
        else:
            end += 1
    return south, end


@PROFILES
@pytest.mark.parametrize("pop", ["no_pop", "pop_on_advance", "pop_on_advance_nop", "always_pop"])
def test_each_router_obeys_the_first_command_that_is_left(profile: str, pop: str) -> None:
    """Control wavelets with several commands pass four switches; words show where they stand."""
    commands: list[int | list[str]] = [1, ["switch_adv", "nop", "switch_adv"], 2, 3]
    commands += [["switch_rst"], 4, ["nop", "switch_adv", "switch_rst"], 5, ["switch_adv"] * 8, 6]
    south, end = routed(commands, pop, 4)
    b = ProgramBuilder("commands", 2, 5)
    b.color("x")
    sender, adder = b.code("sender"), b.code("adder")
    sender.output_queue(3, "x")
    sender.fabout("word", 3, 1)
    sender.fabout("command", 3, 1, control=True)
    main = sender.task("main", entry=True)
    for sent in commands:
        if isinstance(sent, int):
            main.op("mov32", "word", sent)
        else:
            main.op("mov32", "command", control_wavelet(*sent, ignore_ce=True))
    adder.buffer("seen", "u32", 1)
    adder.input_queue(2, "x")
    adder.control_task("without_commands", 0)
    add = adder.data_task("add", 2, [("value", "u32")])
    add.compute(adder.element("seen"), "mul", adder.element("seen"), 10, dtype="u32")
    add.compute(adder.element("seen"), "add", adder.element("seen"), "value", dtype="u32")
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0, 2, 5))
    b.place("sender", Area(0, 0))
    b.place("adder", Area(1, 1, 1, 4))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1, 1, 4), rx="W", tx="E", switch=Switch((Position(tx=("S",)),), pop=pop))
    b.route("x", Area(1, 1, 1, 4), rx="N", tx="R")
    b.edge_output(EdgeOutput("end", "E", 0, 1, "x", "u32", end))
    result = Machine(b.build(), load_profile(profile)).run()
    digits = [int("0" + "".join(map(str, words))) for words in south]
    assert result.memory["seen"][1, 1:, 0].tolist() == digits


@PROFILES
def test_rows_of_any_length_end_with_a_control_wavelet(profile: str) -> None:
    """The control task of entry 9 stores a row's sum at the row that the wavelet carries."""
    lengths = [3, 0, 5, 1, 2]
    b = ProgramBuilder("rows", 1, 2)
    b.color("x")
    sender = b.code("sender")
    sender.buffer("v", "i16", sum(lengths))
    sender.mem1d("all", "v", 1)
    sender.output_queue(3, "x")
    sender.fabout("out", 3, 1)
    sender.fabout("end", 3, 1, control=True)
    main = sender.task("main", entry=True)
    first = 0
    for row, length in enumerate(lengths):
        if length:
            row_words = Ref("all").at(first).with_length(length)
            main.op("mov16", Ref("out").with_length(length), row_words)
        main.op("mov32", "end", control_wavelet(entry=9, data=row))
        first += length
    code = b.code("receiver")
    code.buffer("sums", "i16", len(lengths))
    code.input_queue(2, "x")
    add = code.data_task("add", 2, [("value", "i16")])
    add.compute("sum", "add", "sum", "value", dtype="i16")
    store = code.control_task("store", 9, [("row", "u16")])
    store.compute(code.element("sums", variable("row")), "mov", "sum", dtype="i16")
    store.set("sum", 0)
    b.place("sender", Area(0, 0))
    b.place("receiver", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    v = np.array([4, -1, 7, 100, 2, 3, 4, 5, -9, 11, 12], dtype=np.int16)
    result = Machine(b.build(), load_profile(profile)).run(memory={"v": {(0, 0): v}})
    ends = np.cumsum(lengths)
    rows = [int(v[end - n : end].sum()) for end, n in zip(ends, lengths, strict=True)]
    assert result.memory["sums"][0, 1].tolist() == rows


@PROFILES
@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_counter_filter_leaves_each_element_its_turn(profile: str, every: int) -> None:
    """Words go by all elements of a row; element p keeps word p of every `every`.

    The profiles read the documentation's counter as `limit` 5, `most` 4 rejecting every fifth.
    """
    b = ProgramBuilder("turns", 1, every)
    b.color("x")
    rounds = 4
    for p in range(every):
        code = b.code(f"e{p}")
        code.buffer("got", "u32", rounds)
        code.mem1d("all", "got", rounds)
        code.input_queue(2, "x")
        code.fabin("in", 2, rounds)
        code.task("main", entry=True).op("mov32", "all", "in")
        b.place(f"e{p}", Area(0, p))
        # the counter runs from 1 to `every`; word p finds it at 1, all others above
        chosen = CounterFilter(every, 1, start=(every - p) % every)
        tx = "RE" if p + 1 < every else "R"
        b.route("x", Area(0, p), rx="W", tx=tx, filter=chosen)
    x = np.arange(rounds * every, dtype=np.uint32) + 50
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "u32", x.size))
    result = Machine(b.build(), load_profile(profile)).run(edges={"x": x[None]})
    assert result.memory["got"][0].tolist() == x.reshape(rounds, every).T.tolist()


@PROFILES
def test_the_slowest_receiver_of_a_multicast_holds_all_back(profile: str) -> None:
    """Three elements take the same words; the last one multiplies each into a long vector."""
    words, work = 24, 40
    b = ProgramBuilder("slowest", 1, 4)
    b.color("x")
    sender = b.code("sender")
    sender.buffer("v", "f32", words)
    sender.mem1d("all", "v", words)
    sender.output_queue(3, "x")
    sender.fabout("out", 3, words)
    sender.task("main", entry=True).op("fmovs", "out", "all")
    fast, slow = b.code("fast"), b.code("slow")
    for code in (fast, slow):
        code.buffer("got", "f32", words)
        code.mem1d("all", "got", words)
        code.input_queue(2, "x")
        code.fabin("in", 2, words)
    fast.task("main", entry=True).op("fmovs", "all", "in")
    slow.buffer("acc", "f32", work)
    slow.mem1d("sum", "acc", work)
    slow.fabin("one", 2, 1)
    main = slow.task("main", entry=True)
    with main.loop("i", words) as i:
        main.op("fmovs", slow.element("got", i), "one")
        main.op("fmacs", "sum", "sum", "sum", slow.element("got", i))
    for column, name in enumerate(("sender", "fast", "fast", "slow")):
        b.place(name, Area(0, column))
        tx = ("E", "RE", "RE", "R")[column]
        b.route("x", Area(0, column), rx="W" if column else "R", tx=tx)
    v = np.linspace(-1, 1, words, dtype=np.float32)
    machine = Machine(b.build(), load_profile(profile))
    memory = {"v": {(0, 0): v}, "acc": {(0, 3): np.ones(work, dtype=np.float32)}}
    result = machine.run(memory=memory, timeline=True)
    assert (result.memory["got"][0, 1:] == v).all()
    acc = np.float64(1)
    for value in v.astype(np.float64):
        acc = np.float64(np.float32(acc + acc * value))
    assert (result.memory["acc"][0, 3] == np.float32(acc)).all()
    ends = {e.column: e.end for e in result.trace.timeline if e.operation == "fmovs"}
    deep = load_profile(profile)
    held = deep.input_queue_words[2] + deep.arrival_to_execute_cycles + deep.router_buffer_words
    # the others are ahead by what the buffers on the way hold, and no more
    per_word = (ends[3] - ends[1]) / (3 * held + 10)
    assert ends[3] > words * work // 2
    assert per_word < ends[3] / words


@PROFILES
def test_a_stream_without_a_known_length_ends_by_a_control_wavelet(profile: str) -> None:
    """An endless operation takes words till a control wavelet ends it and starts the next task."""
    b = ProgramBuilder("unknown_length", 1, 2)
    b.color("x")
    words, room = 13, 16
    sender = b.code("sender")
    sender.buffer("v", "u16", words)
    sender.mem1d("all", "v", words)
    sender.output_queue(3, "x")
    sender.fabout("out", 3, words)
    sender.fabout("end", 3, 1, control=True)
    main = sender.task("main", entry=True)
    main.op("mov16", "out", "all")
    main.op("mov32", "end", control_wavelet())
    code = b.code("receiver")
    code.buffer("ring", "u16", room)
    code.buffer("after", "u16", room)
    code.circbuf("around", "ring", ENDLESS, room - 1)
    code.mem1d("from", "ring", room)
    code.mem1d("to", "after", room)
    code.input_queue(2, "x")
    code.fabin("in", 2, ENDLESS)
    code.task("main", entry=True).start("mov16", "around", "in", on_control=("activate", "done"))
    code.task("done").op("add16", "to", "from", 1)
    b.place("sender", Area(0, 0))
    b.place("receiver", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    v = np.arange(words, dtype=np.uint16) * 7
    result = Machine(b.build(), load_profile(profile)).run(memory={"v": {(0, 0): v}})
    expected = np.ones(room, dtype=np.uint16)
    expected[:words] += v
    assert result.memory["after"][0, 1].tolist() == expected.tolist()
