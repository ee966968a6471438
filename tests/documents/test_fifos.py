"""Document 000, FIFOs: buffers, operands, full and empty actions, tasks, lengths."""

from __future__ import annotations

import pytest
from one_element import refused, run, values, words_sent

from tilewright.simulator.profiles.profile import load_profile

FIFO = """
buffer store u16 [4]
buffer v u16 [8]
buffer got u16 [8]
buffer ok u16 [4]
fifo q store{settings}
mem1d all v extent 6
mem1d two v extent 2
mem1d three v extent 3
mem1d out got extent 6
mem1d out_two got extent 2
"""
OK = "  @mov16 {dest}, {source} result r\n  ok({slot}) = mov.u16 r\n"


def fifo(*steps: tuple[str, str], settings: str = "", more: str = "") -> str:
    """Return a body whose main task does operations on FIFO q and stores their results in `ok`."""
    body = FIFO.format(settings=settings) + "task main entry\n"
    for slot, (dest, source) in enumerate(steps):
        body += OK.format(dest=dest, source=source, slot=slot)
    return body + more


@pytest.mark.row("000.50")
@pytest.mark.parametrize("dtype", ["f32", "i32", "u32", "f16", "i16", "u16"])
def test_a_fifo_holds_any_numbers_in_order(dtype: str) -> None:
    move = "mov16" if dtype in ("f16", "i16", "u16") else "mov32"
    body = f"buffer store {dtype} [4]\nbuffer v {dtype} [3]\nbuffer got {dtype} [3]\nfifo q store\n"
    body += "mem1d all v extent 3\nmem1d out got extent 3\ntask main entry\n"
    body += f"  @{move} q, all\n  @{move} out, q\n"
    assert values(run(body, v=[1, 2, 3]), "got") == [1, 2, 3]


@pytest.mark.row("000.50", "000.55")
def test_a_fifo_names_a_buffer_of_numbers_that_is_there() -> None:
    refused("buffer store u8 [4]\nfifo q store\ntask main entry\n", "u8")
    refused("buffer store u16 [4]\nfifo q stor\ntask main entry\n", "unknown buffer")
    body = FIFO.format(settings="") + "task main entry\n  @mov16 q {length n}, all\n"
    refused(body, "set_dsd_length: not for a fifo")
    refused(body.replace("{length n}", "[n]"), "q has no offset")


@pytest.mark.row("000.51", "000.52")
def test_the_buffer_of_a_fifo_is_aligned() -> None:
    """Without an address it begins at an even word; a given odd address is an error."""
    push = "task main entry\n  @mov16 q, #3 \n"
    odd = "buffer pad u16 [3]\nbuffer store u16 [4]{}\nfifo q store\n" + push.replace("#3 ", "one")
    odd = odd.replace("task", "buffer v u16 [1]\nmem1d one v extent 1\ntask", 1)
    assert values(run(odd.format(""), v=[3]), "store") == [3, 0, 0, 0]
    refused(odd.format(" @ 3"), "starts at a multiple of 4 bytes")


@pytest.mark.row("000.54")
def test_fifos_take_registers_for_the_whole_program() -> None:
    """As many FIFOs as the machine has extended registers, one more is too many."""
    most = load_profile("wse3-sdk-sim").xdsr_registers
    one = "buffer s{i} u16 [2]\nfifo q{i} s{i}\n"
    fits = "".join(one.format(i=i) for i in range(most))
    assert run(fits + "task main entry\n  set k 1\n").cycles > 0
    refused(fits + one.format(i=most) + "task main entry\n", f"{most + 1} FIFOs need as many")


@pytest.mark.row("000.56", "000.57", "000.58")
def test_where_a_fifo_may_not_stand() -> None:
    body = FIFO.format(settings="") + "buffer s2 u16 [4]\nfifo q2 s2\ntask main entry\n"
    refused(body + "  map a from q to out as a\n", "or a FIFO")
    refused(body + "  @add16 out, q, q2\n", "at most one source may be a FIFO")
    refused(body + "  @add16 out, q, all\n", "a FIFO may not be the first of several sources")


@pytest.mark.row("000.59", "000.62")
def test_an_empty_fifo_leaves_the_rest_of_the_length() -> None:
    """Of five pops two are done; the length left is three, which the next operation takes."""
    steps = FIFO.format(settings="") + "task main entry\n  @mov16 q, two\n  read_length q 5\n"
    steps += "  @mov16 got(0), q result r\n  ok(0) = mov.u16 r\n"
    steps += "  @mov16 q, three\n  @mov16 got(1), q result r\n  ok(1) = mov.u16 r\n"
    result = run(steps, v=[5, 6, 7, 8, 9, 10, 0, 0])
    assert values(result, "ok")[:2] == [0, 1]
    assert values(result, "got")[:2] == [0, 7]


@pytest.mark.row("000.60")
def test_a_scalar_stays_when_the_fifo_runs_empty() -> None:
    steps = FIFO.format(settings="") + "task main entry\n  @mov16 q, two\n  read_length q 3\n"
    steps += "  @mov16 got(0), q result r\n  ok(0) = mov.u16 r\n"
    result = run(steps, v=range(8), got=[99, 0, 0, 0, 0, 0, 0, 0])
    assert (values(result, "ok")[0], values(result, "got")[0]) == (0, 99)


@pytest.mark.row("000.61", "000.62")
def test_a_full_fifo_leaves_the_rest_of_the_length() -> None:
    steps = FIFO.format(settings="") + "task main entry\n  write_length q 6\n"
    steps += "  @mov16 q, #7 result r\n  ok(0) = mov.u16 r\n  @mov16 out_two, q\n"
    steps += "  @mov16 q, #8 result r\n  ok(1) = mov.u16 r\n"
    result = run(steps, v=range(8))
    assert values(result, "ok")[:2] == [0, 1]
    assert values(result, "store") == [8, 8, 7, 7]


@pytest.mark.row("000.62", "000.66")
def test_the_default_suspends_an_asynchronous_operation() -> None:
    body = "buffer store u32 [3]\nbuffer got u32 [9]\nfifo q store\nmem1d out got extent 9\n"
    body += "input_queue 2 x\nfabin in queue 2 extent 9\n"
    body += "output_queue 3 y\nfabout back queue 3 extent 9\n"
    body += "task main entry\n  @mov32 q, in async\n  @mov32 back, q async\n"
    for profile in ("wse2-sdk-sim", "wse3-sdk-sim"):
        result = run(body, xs=range(1, 10), sent=9, profile=profile)
        assert words_sent(result) == list(range(1, 10))


@pytest.mark.row("000.63")
def test_terminate_ends_with_true() -> None:
    body = fifo(("q", "two"), ("out", "q"), settings=" empty terminate")
    result = run(body, v=range(8))
    assert values(result, "ok")[:2] == [1, 1]
    assert values(result, "got")[:3] == [0, 1, 0]


@pytest.mark.row("000.64", "000.65", "000.66")
def test_suspend_and_fault_are_not_on_wse2() -> None:
    for setting in (" empty suspend", " full suspend", " empty fault", " full terminate"):
        body = fifo(("q", "two"), settings=setting)
        refused(body, "wse2-sdk-sim has no full action", profile="wse2-sdk-sim")
    stuck = fifo(("out", "q"), settings=" empty suspend")
    refused(stuck, "deadlock")
    refused(fifo(("q", "all"), settings=" full fault"), "whose action is fault")


TASKS = (
    FIFO
    + """
buffer log u16 [2]
task main entry
{main}
task woken
  add n 1
  log(0) = mov.u16 n
"""
)


def woken(main: str, settings: str) -> float:
    """Return how often the FIFO's task ran."""
    body = TASKS.format(settings=settings, main=main)
    return values(run(body, v=range(8)), "log")[0]


@pytest.mark.row("000.67", "000.71")
def test_a_push_wakes_its_task_only_after_an_empty_event() -> None:
    push = " activate_push woken"
    assert woken("  @mov16 q, two", push) == 0
    assert woken("  @mov16 out_two, q\n  @mov16 q, two", push) == 1
    assert woken("  @mov16 out_two, q\n  @mov16 q, two\n  @mov16 q, two", push) == 1


@pytest.mark.row("000.67", "000.69")
def test_a_pop_wakes_its_task_only_after_a_full_event() -> None:
    pop = " activate_pop woken"
    assert woken("  @mov16 q, three\n  @mov16 out_two, q", pop) == 0
    assert woken("  @mov16 q, all\n  @mov16 out_two, q", pop) == 1


@pytest.mark.row("000.68")
def test_the_task_of_a_fifo_is_local() -> None:
    body = FIFO.format(settings=" activate_push data") + "input_queue 2 x\ntask main entry\n"
    refused(body + "task data queue 2 low:u16\n", "no local task of this name")


@pytest.mark.row("000.70")
def test_space_is_enough_when_the_blocked_push_fits() -> None:
    """A push of groups of four waits for four free places; one of single values for one."""
    body = "buffer store u16 [4]\nbuffer v u16 [8]\nbuffer got u16 [8]\nbuffer log u16 [8]\n"
    body += (
        "fifo q store activate_pop woken{simd}\nmem1d all v extent 8\nmem1d out got extent {n}\n"
    )
    body += "task main entry\n  @mov16 q, all\n  @mov16 out, q\n  log(1) = mov.u16 n\n"
    body += "task woken\n  add n 1\n  log(0) = mov.u16 n\n"
    for simd, n in (("", 1), (" simd simd_64", 4)):
        result = run(body.format(simd=simd, n=n), v=range(8), profile="wse2-sdk-sim")
        assert values(result, "log")[0] == 1


@pytest.mark.row("000.72")
def test_lengths_of_a_fifo_are_set_in_place_also_by_counters() -> None:
    body = FIFO.format(settings="") + "task main entry\n  write_length q 3\n  @mov16 q, #5\n"
    assert values(run(body), "store") == [5, 5, 5, 0]
    late = FIFO.format(settings="") + "task main entry\n  set n 1\n  add n 1\n"
    late += (
        "  write_length q n\n  @mov16 q, #5\n  add n -1\n  read_length q n\n  @mov16 got(0), q\n"
    )
    result = run(late)
    assert (values(result, "store"), values(result, "got")[0]) == ([5, 5, 0, 0], 5)
    refused(body.replace("q 3", "q 65536"), "a length is outside 0..65535")
    refused(late.replace("q n\n", "q 2*n\n"), "a number or a counter")
    refused(late.replace("add n 1", "add n 65536"), "a length is outside 0..65535")


@pytest.mark.row("000.99")
def test_a_fifo_has_a_simd_mode_on_wse2_only() -> None:
    body = fifo(("q", "two"), settings=" simd simd_32")
    assert values(run(body, v=range(8), profile="wse2-sdk-sim"), "store") == [0, 1, 0, 0]
    refused(body, "FIFOs of wse3-sdk-sim have no SIMD mode")
