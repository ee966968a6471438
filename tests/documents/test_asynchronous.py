"""Document 000, asynchronous operations: completion, control wavelets, queues, microthreads."""

from __future__ import annotations

import pytest
from one_element import fails, program_text, refused, run, run_text, values

from tilewright.simulator.isa.wavelets import control_wavelet

STREAM = """
buffer got u32 [4]
buffer log u32 [4]
mem1d all got extent {n}
input_queue 2 x
fabin in queue 2 extent {n}
"""
WORK = "  loop i 20\n    n = add.u32 n, #1\n  log(0) = mov.u32 n\n"


def stream(tasks: str, n: int = 4) -> str:
    """Return a body that can receive n words from color x into buffer `got`."""
    return STREAM.format(n=n) + tasks


@pytest.mark.row("000.81", "000.82")
def test_an_asynchronous_operation_runs_beside_its_task() -> None:
    """The words come 20 cycles apart; the task counts to 20 at the same time."""
    text = program_text(stream("task main entry\n  @mov32 all, in{}\n" + WORK), arriving=4)
    text = text.replace("count 4", "count 4 interval 50")
    edges = {"xs": [[5, 6, 7, 8]]}
    alone = run_text(text.format(""), edges=edges)
    beside = run_text(text.format(" async"), edges=edges)
    assert values(alone, "got") == values(beside, "got") == [5, 6, 7, 8]
    assert values(alone, "log")[0] == values(beside, "log")[0] == 20
    assert beside.cycles < alone.cycles - 100
    body = "buffer a u16 [4]\nmem1d d a extent 4\ntask main entry\n  @add16 d, d, #1 async\n"
    refused(body, "an asynchronous operation needs a fabric operand")


DONE = "task later{}\n  log(1) = mov.u32 got(3)\n"


@pytest.mark.row("000.84", "000.85")
def test_an_end_activates_a_local_task_or_unblocks_one() -> None:
    activates = "task main entry\n  @mov32 all, in async activate later\n" + DONE.format("")
    assert values(run(stream(activates), xs=[1, 2, 3, 4]), "log")[1] == 4
    unblocks = "task main entry\n  activate later\n  @mov32 all, in async unblock later\n"
    unblocks += DONE.format(" blocked")
    assert values(run(stream(unblocks), xs=[1, 2, 3, 4]), "log")[1] == 4
    both = activates.replace("activate later\n", "activate later unblock later\n")
    refused(stream(both), "at most one of activate and unblock")


@pytest.mark.row("000.85", "000.68")
@pytest.mark.parametrize("task", ["task later queue 2 v:u32", "task later control 5 v:u16"])
@pytest.mark.parametrize(
    "line",
    [
        "@mov32 all, in async activate later",
        "@mov32 all, in async on_control activate later",
        "activate later",
    ],
)
def test_only_a_local_task_is_activated(task: str, line: str) -> None:
    body = "buffer got u32 [4]\nmem1d all got extent 4\ninput_queue 2 x\ninput_queue 3 y\n"
    body += f"fabin in queue 3 extent 4\ntask main entry\n  {line}\n{task}\n  set n 1\n"
    refused(body, "only a local task is activated")


UNBLOCK = """
buffer got u32 [4]
buffer log u32 [4]
mem1d all got extent 2
input_queue 2 x
input_queue 3 y
fabin in queue 2 extent 2
task main entry
  @mov32 all, in async unblock {target}
task data queue 3 blocked v:u32
  log(1) = mov.u32 v
  log(2) = mov.u32 got(1)
"""
SECOND = "route y [0:1, 0:1] rx E tx R\nedge_input ys side E [0:1] color y u32 count 1\n"


@pytest.mark.row("000.86")
@pytest.mark.parametrize(
    ("target", "machine", "named"),
    [
        ("data", "wse3-sdk-sim", "task"),
        ("data", "wse2-sdk-sim", "task"),
        ("queue:3", "wse3-sdk-sim", "input queues"),
        ("color:y", "wse2-sdk-sim", "colors"),
    ],
)
def test_an_end_unblocks_a_task_a_queue_or_a_color(target: str, machine: str, named: str) -> None:
    """The word on y waits until both words of x have come, whatever its name is."""
    text = program_text(UNBLOCK.format(target=target), arriving=2) + SECOND
    result = run_text(text, profile=machine, edges={"xs": [[7, 8]], "ys": [[9]]})
    assert values(result, "log") == [0, 9, 8, 0]
    if ":" in target:
        foreign = {"wse2-sdk-sim": "wse3-sdk-sim", "wse3-sdk-sim": "wse2-sdk-sim"}[machine]
        refused(UNBLOCK.format(target=target), "unblocks tasks and", profile=foreign)


@pytest.mark.row("000.86")
def test_what_cannot_be_unblocked() -> None:
    refused(UNBLOCK.format(target="queue:2"), "unknown task")
    control = UNBLOCK.replace("queue 3 blocked v:u32", "control 5 v:u16").format(target="data")
    refused(control, "a control task is not unblocked by an operation")


@pytest.mark.row("000.86")
def test_a_task_blocks_and_unblocks_a_queue() -> None:
    body = stream("task main entry\n  block queue:2\n  activate late\ntask late\n", n=1)
    body += "  log(0) = mov.u32 n\n  unblock queue:2\ntask data queue 2 v:u32\n"
    body += "  n = mov.u32 v\n  log(1) = mov.u32 n\n"
    assert values(run(body, xs=[5]), "log")[:2] == [0, 5]


LOADED = """
buffer got u32 [4]
buffer log u32 [4]
mem1d all got extent 4
input_queue 2 x
fabin in queue 2 extent 4
load %dsr_src1 3 in {load}
task main entry
  @mov32 all, %dsr_src1 3{at_operation}
task later
  log(1) = mov.u32 got(3)
"""


@pytest.mark.row("000.83", "000.87")
def test_with_a_register_the_load_names_the_task() -> None:
    """The operation may repeat what the load says, and adds nothing to it."""
    for at_operation in ("", " async", " async activate later"):
        body = LOADED.format(load="async activate later", at_operation=at_operation)
        assert values(run(body, xs=[1, 2, 3, 4]), "log")[1] == 4
    body = LOADED.format(load="async", at_operation=" async activate later")
    refused(body, "activate and unblock are given where dsr_src1 3 is loaded", xs=[1, 2, 3, 4])


ENDS = """
program p 1 x 2
color x
code send
  buffer v u32 [2]
  mem1d all v extent 2
  output_queue 3 x
  fabout out queue 3 extent 2
  fabout command queue 3 extent 1 control
  task main entry
    @mov32 out, all
    @mov32 command, #{control}
code take
  buffer got u32 [6]
  buffer log u32 [2]
  mem1d all got extent 6
  input_queue 2 x
  fabin in queue 2 extent 6
  task main entry
    {first}
    @mov32 all, in async activate done on_control {action}
  task done
    log(0) = mov.u32 #1
  task signal{blocked}
    log(1) = mov.u32 #1
place send [0:1, 0:1]
place take [0:1, 1:2]
route x [0:1, 0:1] rx R tx E
route x [0:1, 1:2] rx W tx R
"""


@pytest.mark.row("000.88")
@pytest.mark.parametrize("action", ["terminate", "activate signal", "unblock signal"])
def test_a_control_wavelet_ends_an_operation(action: str) -> None:
    unblocks = action.startswith("unblock")
    text = ENDS.format(
        action=action,
        control=control_wavelet(),
        first="activate signal" if unblocks else "set k 0",
        blocked=" blocked" if unblocks else "",
    )
    result = run_text(text, memory={"v": [8, 9]})
    assert result.memory["got"][0, 1].tolist() == [8, 9, 0, 0, 0, 0]
    assert result.memory["log"][0, 1].tolist() == [1, int(action != "terminate")]


SHARED = """
buffer a u32 [8]
buffer b u32 [8]
mem1d first a extent 8
mem1d second b extent 8
output_queue 3 y
output_queue 4 x
fabout out queue 3 extent 8
fabout other queue 4 extent 8
task main entry
  @mov32 out, first async{}
  @mov32 {}, second async{}
"""
OUTPUTS = "route x [0:1, 0:1] rx R tx W\nedge_output more side W [0:1] color x u32 count 8\n"


@pytest.mark.row("000.89")
def test_operations_at_the_same_time_share_no_queue_and_no_microthread() -> None:
    for fields, problem in (
        (("", "out", ""), "output queue 3 is in use by"),
        ((" ut 5", "other", " ut 5"), "its microthread is in use by"),
    ):
        fails(program_text(SHARED.format(*fields), sent=8) + OUTPUTS, problem)


@pytest.mark.row("000.93", "000.108")
def test_the_queue_names_the_microthread_on_wse2() -> None:
    body = stream("task main entry\n  @mov32 all, in async{}\n")
    for number, profile in (("", "wse2-sdk-sim"), ("", "wse3-sdk-sim"), (" ut 7", "wse3-sdk-sim")):
        text = program_text(body.format(number), arriving=4)
        result = run_text(text, profile=profile, edges={"xs": [[1, 2, 3, 4]]}, timeline=True)
        threads = {e.thread for e in result.trace.timeline if e.operation == "mov32"}
        assert threads == {"ut7" if number else "ut2"}
    refused(body.format(" ut 7"), "names the microthread by the queue", profile="wse2-sdk-sim")
    refused(body.format(" ut 8"), "no such microthread")


@pytest.mark.row("000.94")
def test_priorities_stand_where_the_machine_has_them() -> None:
    at_operation = stream("task main entry\n  @mov32 all, in async priority high\n")
    at_descriptor = stream("task main entry\n  @mov32 all, in async\n")
    at_descriptor = at_descriptor.replace("extent 4\ntask", "extent 4 priority high\ntask")
    words = [1, 2, 3, 4]
    assert values(run(at_operation, xs=words, profile="wse2-sdk-sim"), "got") == words
    assert values(run(at_descriptor, xs=words), "got") == words
    refused(at_operation, "wse3-sdk-sim gives priorities to descriptors")
    refused(at_descriptor, "gives priorities to operations", profile="wse2-sdk-sim")
