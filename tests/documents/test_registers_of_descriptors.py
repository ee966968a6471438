"""Document 002: data-structure registers, extended and stride registers, loads, FIFOs in them."""

from __future__ import annotations

import pytest
from one_element import refused, run, values, words_sent

PLAIN = """
buffer a u16 [20]
buffer b u16 [20]
mem1d d a extent 4
mem1d out b extent 4
{before}
task main entry
{main}
"""


def plain(main: str, before: str = "") -> str:
    return PLAIN.format(before=before, main="\n".join(f"  {line}" for line in main.splitlines()))


@pytest.mark.row("002.01", "002.15")
def test_descriptors_are_loaded_before_an_operation() -> None:
    """Loads cost cycles; a register that is loaded before the start costs none at run time."""
    load = "load %dsr_src1 3 d"
    never = run(plain("@mov16 out, d"), a=range(20)).cycles
    before = run(plain("@mov16 out, %dsr_src1 3", load), a=range(20))
    late = run(plain(f"{load}\n@mov16 out, %dsr_src1 3"), a=range(20))
    assert values(before, "b")[:4] == values(late, "b")[:4] == [0, 1, 2, 3]
    assert before.cycles < late.cycles
    assert before.cycles < never
    refused(plain("@mov16 out, %dsr_src1 3"), "register dsr_src1 3 is not loaded")


FOUR = "mem4d square a extent [2, 2] stride [2, 3]\ncircbuf ring a extent 4 wraparound 3"


@pytest.mark.row("002.02", "002.18", "002.22")
def test_which_descriptors_take_an_extended_register() -> None:
    for name in ("square", "ring"):
        needed = "sr 1" if name == "square" else ""
        held = plain("@mov16 out, %dsr_src1 3", f"{FOUR}\nload %dsr_src1 3 {name} xdsr 1 {needed}")
        expected = {"square": [0, 2, 5, 7], "ring": [0, 1, 2, 0]}[name]
        assert values(run(held, a=range(20)), "b")[:4] == expected
        bare = plain("@mov16 out, %dsr_src1 3", f"{FOUR}\nload %dsr_src1 3 {name}")
        refused(bare, f"{name} needs an extended register")
    refused(plain("@mov16 out, %dsr_src1 3", "load %dsr_src1 3 d xdsr 1"), "no extended register")


@pytest.mark.row("002.03", "002.23", "002.24")
@pytest.mark.parametrize(
    ("access", "shape", "needed"),
    [
        ("|i, j|{4, 4} -> a[2*i + j]", "20", 0),
        ("|i, j|{2, 2} -> a[i, 2*j]", "5, 4", 1),
        ("|i, j, k, l|{2, 2, 2, 2} -> a[i + j, k + l + 1]", "4, 5", 2),
        ("|i, j, k, l|{2, 1, 2, 2} -> a[i + j, 2*k + 2*l]", "3, 5", 3),
        ("|i|{4} -> a[3*i]", "20", 0),
    ],
)
def test_a_load_names_as_many_stride_registers_as_it_needs(
    access: str, shape: str, needed: int
) -> None:
    count = 1
    for size in access[access.index("{") + 1 : access.index("}")].split(","):
        count *= int(size)
    body = f"buffer a u16 [{shape}]\nbuffer b u16 [{count}]\nmem1d out b extent {count}\n"
    body += f'mem4d d tensor_access "{access}"\nload %dsr_src1 3 d xdsr 1 HERE\n'
    body += "task main entry\n  @mov16 out, %dsr_src1 3\n"
    numbers = "".join(f" sr {i}" for i in range(needed))
    assert run(body.replace("HERE", numbers)).cycles > 0
    for wrong in range(4):
        if wrong != needed:
            numbers = "".join(f" sr {i}" for i in range(wrong))
            refused(body.replace("HERE", numbers), f"needs {needed} stride registers")


@pytest.mark.row("002.04")
def test_registers_run_out_with_a_message_that_counts_them() -> None:
    lines = "\n".join(f"load %dsr_dest {i} out" for i in range(16))
    refused(plain("@mov16 out, d", lines), "needs 17 registers of file dest (16 named, 0 of FIFOs")


@pytest.mark.row("002.05", "002.06", "002.07")
def test_what_the_three_files_hold() -> None:
    copy = plain("@mov16 {}, {}", "load %dsr_{} 3 {}")
    for file, name in (("src0", "d"), ("src1", "d")):
        body = copy.format(file, name, "out", f"%dsr_{file} 3")
        assert values(run(body, a=range(20)), "b")[:4] == [0, 1, 2, 3]
    for file in ("dest", "src0"):
        body = copy.format(file, "out", f"%dsr_{file} 3", "d")
        assert values(run(body, a=range(20)), "b")[:4] == [0, 1, 2, 3]
    refused(copy.format("dest", "d", "out", "%dsr_dest 3"), "a source is a register of file")
    refused(copy.format("src1", "out", "%dsr_src1 3", "d"), "the destination is a register of file")


FIFOS = """
buffer store u16 [4]
buffer v u16 [8]
buffer got u16 [8]
buffer ok u16 [4]
mem1d all v extent 6
mem1d three v extent 3
mem1d out got extent 6
fifo q store dest 2 src 2 xdsr 1{more}
task main entry
{main}
"""


def fifos(main: str, more: str = "") -> str:
    return FIFOS.format(more=more, main="\n".join(f"  {line}" for line in main.splitlines()))


OK = " result r\nok({}) = mov.u16 r\n"


@pytest.mark.row("002.08")
def test_registers_of_fifo_type_end_with_false() -> None:
    main = "@mov16 %dsr_fifo_dest 2, all" + OK.format(0)
    main += "@mov16 out, %dsr_fifo_src1 2" + OK.format(1)
    result = run(fifos(main), v=range(1, 9))
    assert values(result, "got") == [1, 2, 3, 4, 0, 0, 0, 0]
    assert values(result, "ok")[:2] == [0, 0]


@pytest.mark.row("002.09")
def test_a_register_of_fifo_type_without_a_fifo_is_an_error() -> None:
    body = plain("@mov16 out, %dsr_fifo_src1 3", "load %dsr_src1 3 d")
    refused(body, "is of FIFO type, but holds no FIFO")


@pytest.mark.row("002.10")
def test_a_fifo_in_a_plain_register_is_an_error_at_a_full_or_empty_event_only() -> None:
    main = "@mov16 %dsr_dest 2, three" + OK.format(0)
    assert values(run(fifos(main), v=range(1, 9)), "store") == [1, 2, 3, 0]
    refused(fifos(main.replace("three", "all")), "holds a FIFO that is full or empty")


@pytest.mark.row("002.11", "002.13")
def test_numbers_of_registers_have_a_range() -> None:
    refused(plain("@mov16 out, %dsr_src1 16", "load %dsr_src1 16 d"), "0 to 15")
    refused(
        plain("set k 0", f"{FOUR}\nload %dsr_src1 3 ring xdsr 16"), "has no extended register 16"
    )
    square = f"{FOUR}\nload %dsr_src1 3 square xdsr 1 sr 8"
    refused(plain("set k 0", square), "has no stride register 8")
    refused(plain("@mov16 out, %dsr_src1 -1", "load %dsr_src1 -1 d"), "has no register")


@pytest.mark.row("002.12")
def test_a_register_of_fifo_type_is_of_file_dest_or_src1() -> None:
    refused(
        plain("@mov16 out, %dsr_fifo_src0 3"), "a register of FIFO type is of file dest or src1"
    )


@pytest.mark.row("002.14", "002.28")
@pytest.mark.parametrize(
    ("load", "problem"),
    [
        ("d async", "only a fabric DSD is loaded as asynchronous"),
        ("in save_address", "save_address is for memory DSDs"),
        ("d save_address single_step", "single_step and save_address exclude each other"),
        ("in async single_step", "single_step and async exclude each other"),
        ("d activate main", "only a fabric DSD is loaded as asynchronous"),
    ],
)
def test_a_load_has_settings_of_one_sort(load: str, problem: str) -> None:
    queue = "input_queue 2 x\nfabin in queue 2 extent 4\n"
    refused(plain("set k 0", f"{queue}load %dsr_src1 3 {load}"), problem)


@pytest.mark.row("002.16", "002.17", "002.19")
def test_what_is_not_loaded() -> None:
    queues = "input_queue 2 x\nfabin in queue 2 extent 4\noutput_queue 3 y\n"
    queues += "fabout away queue 3 extent 4\nbuffer s u16 [4]\nfifo q s\n"
    for load, problem in (
        ("%dsr_dest 3 in", "a fabin DSD cannot be loaded into dsr_dest"),
        ("%dsr_src0 3 away", "a fabout DSD is loaded into dsr_dest only"),
        ("%dsr_src1 3 away", "a fabout DSD is loaded into dsr_dest only"),
        ("%dsr_src1 3 q", "a FIFO cannot be loaded into a register"),
    ):
        refused(plain("set k 0", f"{queues}load {load}"), problem)


@pytest.mark.row("002.20", "002.21")
def test_the_queue_of_a_loaded_stream_has_a_color() -> None:
    body = "buffer got u32 [4]\nmem1d all got extent 4\nfabin in queue 2 extent 4\n"
    body += "load %dsr_src1 3 in\ntask main entry\n  @mov32 all, %dsr_src1 3\n"
    refused(body, "input queue 2 is not bound to a color")
    bound = "input_queue 2 x\n" + body
    assert values(run(bound, xs=[1, 2, 3, 4]), "got") == [1, 2, 3, 4]
    out = "buffer v u32 [4]\nmem1d all v extent 4\nfabout out queue 3 extent 4\n"
    out += "load %dsr_dest 3 out\ntask main entry\n  @mov32 %dsr_dest 3, all\n"
    refused(out, "output queue 3 is not bound to a color")
    result = run("output_queue 3 y\n" + out, sent=4, v=[1, 2, 3, 4])
    assert words_sent(result) == [1, 2, 3, 4]


@pytest.mark.row("002.25")
def test_a_descriptor_known_at_run_time_takes_three_stride_registers() -> None:
    load = "load %dsr_src1 3 square[k] xdsr 1{}\n@mov16 out, %dsr_src1 3"
    body = plain("set k 2\n" + load.format(" sr 1 sr 2 sr 3"), FOUR)
    assert values(run(body, a=range(20)), "b")[:4] == [2, 4, 7, 9]
    refused(plain("set k 2\n" + load.format(" sr 1"), FOUR), "needs 3 stride registers")


COPIES = "\n".join(f"@mov16 out[{4 * i}], %dsr_src1 3" for i in range(3))


@pytest.mark.row("002.26")
def test_a_saved_address_goes_on_behind_the_last_element() -> None:
    for saved, expected in ((" save_address", [*range(12)]), ("", [0, 1, 2, 3] * 3)):
        result = run(plain(COPIES, "load %dsr_src1 3 d" + saved), a=range(20))
        assert values(result, "b")[:12] == expected


@pytest.mark.row("002.27")
def test_a_saved_address_moves_the_outermost_dimension() -> None:
    """Two rows of two in an array of five columns; the next use starts two rows further on."""
    body = "buffer a u16 [8, 5]\nbuffer b u16 [12]\nmem1d out b extent 4\n"
    body += 'mem4d d tensor_access "|i, j|{2, 2} -> a[i, j]"\n'
    body += "load %dsr_src1 3 d xdsr 1 save_address\ntask main entry\n"
    body += "\n".join(f"  {line}" for line in COPIES.splitlines())
    rows = [[5 * i + j for j in range(5)] for i in range(8)]
    expected = [5 * i + j for i in range(6) for j in range(2)]
    assert values(run(body, a=rows), "b") == expected


@pytest.mark.row("002.29")
def test_single_step_is_for_maps_and_maps_need_it() -> None:
    squares = "map v from %dsr_src1 3 to out as w\n  w = mul.u16 v, v"
    stepped = plain(squares, "load %dsr_src1 3 d single_step")
    assert values(run(stepped, a=range(20)), "b")[:4] == [0, 1, 4, 9]
    refused(
        plain(squares, "load %dsr_src1 3 d"), "is not loaded with single_step, which @map needs"
    )
    other = plain("@mov16 out, %dsr_src1 3", "load %dsr_src1 3 d single_step")
    refused(other, "is loaded with single_step, which is for @map only")


@pytest.mark.row("002.31", "002.32", "002.33")
@pytest.mark.parametrize(
    ("registers", "problem"),
    [
        ("dest 2 src 2", "dest, src and xdsr are given together or not at all"),
        ("dest 2 src 3 xdsr 1", "dest and src need the same id"),
        ("dest 16 src 16 xdsr 1", "has no register dsr_dest 16"),
        ("dest 2 src 2 xdsr 16", "has no extended register 16"),
        ("dest 3 src 3 xdsr 1", "load of dsr_src1 3 takes a register of this FIFO"),
    ],
)
def test_registers_of_a_fifo(registers: str, problem: str) -> None:
    lines = f"buffer s u16 [4]\nfifo q s {registers}\nload %dsr_src1 3 d"
    refused(plain("set k 0", lines), problem)


@pytest.mark.row("002.34")
def test_other_settings_of_a_fifo_keep_their_meaning() -> None:
    main = "@mov16 out, q\n@mov16 q, three"
    body = fifos(main, " activate_push woken") + "task woken\n  ok(3) = mov.u16 #1\n"
    assert values(run(body, v=range(1, 9)), "ok")[3] == 1
