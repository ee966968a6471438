"""Document 000, descriptors of memory: mem1d, mem4d, tensor access, pointers, circular buffers."""

from __future__ import annotations

import numpy as np
import pytest
from one_element import refused, run, values

UP = "buffer a u16 [{n}]\nbuffer b u16 [{n}]\n"
ADD_ONE = "task main entry\n  @add16 d, d, #1\n"


def walked(descriptor: str, shape: str = "40", count: int = 40) -> list[float]:
    """Return what mov16 reads through a descriptor `d` of buffer a, which holds 0, 1, 2, ..."""
    body = f"buffer a u16 [{shape}]\nbuffer b u16 [{count}]\n{descriptor}\n"
    body += f"mem1d out b extent {count}\ntask main entry\n  @mov16 out, d\n"
    sizes = [int(size) for size in shape.split(",")]
    return values(run(body, a=np.arange(np.prod(sizes)).reshape(sizes)), "b")


def touched(descriptor: str, size: int) -> list[int]:
    """Return the elements of a zeroed buffer that `@add16 d, d, #1` makes 1."""
    body = f"buffer a u16 [{size}]\n{descriptor}\n{ADD_ONE}"
    return [i for i, value in enumerate(values(run(body, a=[0] * size), "a")) if value]


@pytest.mark.row("000.01")
def test_an_operation_repeats_as_often_as_its_extent_says() -> None:
    body = f"buffer a u16 [10]\nmem1d d a extent 7\n{ADD_ONE}"
    result = run(body, a=[5] * 10)
    assert values(result, "a") == [6] * 7 + [5] * 3
    assert result.counts.adds == 7


@pytest.mark.row("000.02")
@pytest.mark.parametrize(
    "line",
    [
        "mem1d d a extent 4 queue 2",
        "mem4d d a extent [2] wraparound 2",
        "circbuf d a extent 4 stride 1",
        "fabin d queue 2 extent 4 control",
        "fabout d queue 3 extent 4 wraparound 2",
    ],
)
def test_a_kind_of_descriptor_takes_its_own_properties_only(line: str) -> None:
    refused(f"buffer a u16 [8]\n{line}\ntask main entry\n", "unknown property")


@pytest.mark.row("000.04", "000.20")
def test_extent_offset_and_stride_of_a_mem1d_at_run_time() -> None:
    body = UP.format(n=12) + "mem1d d a extent 2 offset 1\nmem1d out b extent 2\n"
    body += "buffer n u16 [1]\ntask main entry\n  len = mov.u16 n(0)\n  set step 3\n  set k 2\n"
    body += "  @mov16 out {length len}, d[k] {length len stride step}\n"
    assert values(run(body, a=range(12), n=[3]), "b")[:4] == [3, 6, 9, 0]


@pytest.mark.row("000.04")
def test_an_extent_is_a_u16() -> None:
    for extent in (65536, 70000):
        line = f"buffer a u16 [4]\nmem1d d a extent {extent}\n{ADD_ONE}"
        refused(line, "an extent is outside")
    assert len(touched("mem1d d a extent 65535 stride 0", 1)) == 1


@pytest.mark.row("000.05")
def test_a_stride_is_an_i8_and_1_if_left_out() -> None:
    assert touched("mem1d d a extent 3", 6) == [0, 1, 2]
    assert touched("mem1d d a extent 3 stride 127", 300) == [0, 127, 254]
    assert walked("mem1d d a extent 4 stride -2 offset 7", "8", 4) == [7, 5, 3, 1]
    assert touched("mem1d d a extent 2 stride -128 offset 128", 129) == [0, 128]
    for stride in (128, -129, 200):
        refused(f"buffer a u16 [999]\nmem1d d a extent 2 stride {stride}\n{ADD_ONE}", "a stride is")


@pytest.mark.row("000.06")
def test_an_offset_is_an_i16_and_0_if_left_out() -> None:
    assert touched("mem1d d a extent 2", 4) == [0, 1]
    assert touched("mem1d d a extent 1 offset 9", 10) == [9]
    for offset in (40000, 32768, -32769):
        line = f"buffer a u16 [20000]\nmem1d d a extent 2 offset {offset}\n{ADD_ONE}"
        refused(line, "an offset is outside -32768..32767")
    refused(f"buffer a u16 [9]\nmem1d d a extent 2 offset -1\n{ADD_ONE}", "leaves buffer a")


@pytest.mark.row("000.08")
def test_without_the_property_the_index_does_not_move_a_vector() -> None:
    body = UP.format(n=4) + "mem1d d a extent 2{}\nmem1d out b extent 2\ntask main entry\n"
    body += "  @mov16 out, d index (2)\n"
    assert values(run(body.format(""), a=range(4)), "b") == [0, 1, 0, 0]
    assert values(run(body.format(" wavelet_index_offset"), a=range(4)), "b") == [2, 3, 0, 0]


@pytest.mark.row("000.14", "000.15", "000.16", "000.09")
def test_examples_of_tensor_access() -> None:
    ten = 'mem1d d tensor_access "|i|{10} -> a[i]"'
    assert touched(ten, 12) == list(range(10))
    assert walked('mem1d d tensor_access "|i|{5} -> a[2*i + 1]"', "10", 5) == [1, 3, 5, 7, 9]
    diagonal = walked('mem1d d tensor_access "|i|{20} -> a[i, i]"', "20,20", 20)
    assert diagonal == [21 * i for i in range(20)]


@pytest.mark.row("000.07", "000.17")
def test_both_ways_to_write_a_vector_give_one_descriptor() -> None:
    lines = (
        'mem1d d tensor_access "|i|{10} -> a[2*i + 20]"',
        "mem1d d a extent 10 stride 2 offset 20",
    )
    assert walked(lines[0], count=10) == walked(lines[1], count=10) == list(range(20, 40, 2))


@pytest.mark.row("000.11", "000.12", "000.28", "000.19")
@pytest.mark.parametrize(
    ("access", "problem"),
    [
        ('"|i|{4} -> a[i]"', "one expression per dimension"),
        ('"|i|{4} -> a[i*i, 0]"', "a product of two variables is not affine"),
        ('"|i|{2, 2} -> a[i, 0]"', "a length for each"),
        ('"|i|{4} -> a[i, 0]" offset 3', "given beside tensor_access"),
        ('"|i|{4} -> a[i, 0]" extent 3', "given beside tensor_access"),
    ],
)
def test_refused_tensor_accesses(access: str, problem: str) -> None:
    refused(f"buffer a u16 [4, 4]\nmem1d d tensor_access {access}\n{ADD_ONE}", problem)


@pytest.mark.row("000.21")
def test_an_index_counts_words() -> None:
    body = "buffer a f32 [6]\nbuffer b f32 [2]\nmem1d d a extent 2 wavelet_index_offset\n"
    body += "mem1d out b extent 2\ntask main entry\n  @fmovs out, d index (4)\n"
    assert values(run(body, a=range(6)), "b") == [2, 3]


@pytest.mark.row("000.22")
def test_an_index_that_is_missing_is_an_error() -> None:
    body = f"buffer a u16 [4]\nmem1d d a extent 2 wavelet_index_offset\n{ADD_ONE}"
    refused(body, "needs an index")


@pytest.mark.row("000.23", "000.29", "000.30", "000.31", "000.33")
def test_examples_of_four_dimensions() -> None:
    assert walked('mem4d d tensor_access "|i, j|{2, 2} -> a[i, j]"', "4,3", 4) == [0, 1, 3, 4]
    access = 'mem4d d tensor_access "|i, j, k, l|{1, 2, 1, 4} -> a[i, j, 1 + k, l]"'
    assert walked(access, "1,2,3,4", 8) == [4, 5, 6, 7, 16, 17, 18, 19]
    one = 'mem4d d tensor_access "|i, j, k, l|{1, 1, 1, 1} -> a[i + j + k + l]"'
    assert touched(one, 9) == [0]
    long = 'mem4d d tensor_access "|i, j, k, l|{5, 5, 5, 5} -> a[i + j, k + l + 2]"'
    assert walked(long, "12,5", 625) == [
        5 * (i + j) + k + l + 2
        for i in range(5)
        for j in range(5)
        for k in range(5)
        for l in range(5)  # noqa: E741
    ]
    five = 'mem4d d tensor_access "|i, j, k, l, m|{1, 1, 1, 1, 1} -> a[i]"'
    refused(f"buffer a u16 [4]\n{five}\n{ADD_ONE}", "one to four variables")


@pytest.mark.row("000.32")
def test_strides_count_from_where_the_inner_dimension_ended() -> None:
    """A[2i + j] over 5 x 5: from 2*0 + 4 to 2*1 + 0 the position moves by -2."""
    expected = [2 * i + j for i in range(5) for j in range(5)]
    assert walked("mem4d d a extent [5, 5] stride [1, -2]", "20", 25) == expected


@pytest.mark.row("000.25", "000.26")
def test_offset_and_strides_of_a_mem4d_may_be_left_out() -> None:
    assert walked("mem4d d a extent [2, 3]", "9", 6) == list(range(6))
    assert walked("mem4d d a extent [2, 3] offset 3", "9", 6) == list(range(3, 9))
    far = "buffer a u16 [9]\nmem4d d a extent [2, 2] stride [1, {}]\n" + ADD_ONE
    refused(far.format(32768), "a stride is outside -32768..32767")


@pytest.mark.row("000.27")
def test_extents_of_a_mem4d_are_u16() -> None:
    body = "buffer a u16 [2]\nmem4d d a extent [1, 65536] stride [0, 0]\n"
    refused(body + ADD_ONE, "an extent is outside")


@pytest.mark.row("000.34")
def test_a_pointer_takes_the_last_value() -> None:
    body = "buffer a u16 [8]\nbuffer s u16 [3]\nmem1d d a extent 4 stride 2\n"
    body += "task main entry\n  @mov16 s(1), d\n"
    assert values(run(body, a=range(8)), "s") == [0, 6, 0]


RING = "mem1d out b extent {n}\n{line}\ntask main entry\n  @mov16 out, d\n"


def ring(line: str, count: int, size: int = 10) -> list[float]:
    body = f"buffer a u16 [{size}]\nbuffer b u16 [{count}]\n" + RING.format(n=count, line=line)
    return values(run(body, a=range(size)), "b")


@pytest.mark.row("000.35", "000.37", "000.39")
def test_a_circular_buffer_goes_around() -> None:
    assert ring("circbuf d a extent 20", 20) == [*range(10), *range(10)]
    assert ring("circbuf d a extent 13", 13) == [*range(10), 0, 1, 2]


@pytest.mark.row("000.38", "000.40")
def test_a_wraparound_is_less_than_the_array() -> None:
    assert ring("circbuf d a extent 20 wraparound 5", 20) == [*range(5)] * 4
    for wraparound in (10, 11):
        body = f"buffer a u16 [10]\ncircbuf d a extent 9 wraparound {wraparound}\n{ADD_ONE}"
        refused(body, "the wraparound must be less than the 10 elements")


TWICE = """
buffer a u16 [5]
buffer b u16 [6]
mem1d first b extent 3
mem1d second b extent 3 offset 3
circbuf d a extent 3
{before}
task main entry
  {load}
  @mov16 first, {operand}
  @mov16 second, {operand}
"""


@pytest.mark.row("000.36", "000.41")
def test_an_operation_on_a_ring_begins_at_the_base_unless_the_address_is_saved() -> None:
    register = "%dsr_src1 2"
    load = f"load {register} d xdsr 1"
    plain = TWICE.format(before="", load="set k 0", operand="d")
    assert values(run(plain, a=range(5)), "b") == [0, 1, 2, 0, 1, 2]
    for before, late in ((load, "set k 0"), ("", load)):
        body = TWICE.format(before=before, load=late, operand=register)
        assert values(run(body, a=range(5)), "b") == [0, 1, 2, 0, 1, 2]
        saved = body.replace("xdsr 1", "xdsr 1 save_address")
        assert values(run(saved, a=range(5)), "b") == [0, 1, 2, 3, 4, 0]


CHANGES = UP.format(n=12) + "mem1d d a extent 3 offset 4\nmem1d out b extent 3\n"
CHANGES += (
    "mem1d again b extent 3 offset 6\ntask main entry\n  @mov16 out, d{}\n  @mov16 again, d\n"
)


@pytest.mark.row("000.74", "000.75")
def test_a_change_leaves_the_descriptor_as_it_is() -> None:
    """of a: base and offset are replaced, for this operation only."""
    moved = values(run(CHANGES.format(" {of a}"), a=range(12)), "b")
    assert moved == [0, 1, 2, 0, 0, 0, 4, 5, 6, 0, 0, 0]
    assert values(run(CHANGES.format("[2]"), a=range(12)), "b")[:3] == [6, 7, 8]


@pytest.mark.row("000.75")
def test_a_mem4d_on_another_array_begins_at_its_start() -> None:
    body = "buffer a u16 [9]\nbuffer c u16 [9]\nbuffer b u16 [4]\nmem1d out b extent 4\n"
    body += "mem4d d a extent [2, 2] stride [1, 2] offset 4\n"
    body += "task main entry\n  @mov16 out, d {of c}\n"
    assert values(run(body, a=range(9), c=range(10, 19)), "b") == [10, 11, 13, 14]


@pytest.mark.row("000.77")
def test_a_vector_beyond_its_buffer_is_an_error_where_it_is_used() -> None:
    """The builtin checks nothing; where the documents leave the use undefined it is refused."""
    body = "buffer a u16 [4]\nmem1d d a extent 2 offset 9\nmem1d e a extent 2\ntask main entry\n"
    assert values(run(body + "  @add16 e, e, #1\n", a=[0] * 4), "a") == [1, 1, 0, 0]
    refused(body + "  @add16 d, d, #1\n", "leaves buffer a")
    run_time = body + "  set k 3\n  @add16 e[k], e, #1\n"
    refused(run_time, "leaves buffer a")


@pytest.mark.row("000.79", "000.80")
def test_lengths_of_all_but_mem4d_and_strides_of_mem1d() -> None:
    body = "buffer a u16 [9]\nbuffer b u16 [9]\nmem4d d a extent [2, 2]\nmem1d out b extent 4\n"
    body += "circbuf r a extent 4 wraparound 3\ntask main entry\n"
    refused(body + "  @mov16 out {length 2}, d {length 2}\n", "set_dsd_length: not for a mem4d")
    refused(body + "  @mov16 out, d {stride 2}\n", "set_dsd_stride: not for a mem4d")
    refused(body + "  @mov16 out, r {stride 2}\n", "set_dsd_stride: not for a circbuf")
    refused(body + "  @mov16 out {length 65536}, r {length 65536}\n", "no u16")
    result = run(body + "  @mov16 out {length 5}, r {length 5}\n", a=range(9))
    assert values(result, "b")[:6] == [0, 1, 2, 0, 1, 0]


@pytest.mark.row("000.96", "000.97")
def test_an_index_is_a_u16_and_ignored_without_the_property() -> None:
    body = UP.format(n=4) + "mem1d d a extent 2\nmem1d out b extent 2\ntask main entry\n"
    assert values(run(body + "  @mov16 out, d index (65535)\n", a=range(4)), "b") == [0, 1, 0, 0]
    refused(body + "  @mov16 out, d index (65536)\n", "an index is outside 0..65535")


@pytest.mark.row("000.10")
@pytest.mark.parametrize(
    "line",
    [
        'mem1d d tensor_access "|i|{0} -> a[i]"',
        "mem1d d a extent 0 offset 4",
        "mem4d d a extent [0, 2]",
        "circbuf d a extent 0",
    ],
)
def test_an_operation_of_no_elements_does_nothing(line: str) -> None:
    """Also if the length is 0 at run time only; what comes behind it runs."""
    body = f"buffer a u16 [4]\n{line}\nmem1d e a extent 1\ntask main entry\n"
    body += "  @add16 d, d, #1 result r\n  @add16 e, e, #5\n"
    assert values(run(body, a=[0] * 4), "a") == [5, 0, 0, 0]
    late = "buffer a u16 [4]\nmem1d d a extent 4\ntask main entry\n"
    late += "  @add16 d {length n}, d {length n}, #1\n  @add16 d, d, #2\n  set k 4\n"
    late += "  @add16 d[k] {length n}, d[k] {length 0}, #1\n"  # behind the end there is none, too
    assert values(run(late, a=[0] * 4), "a") == [2] * 4
    refused(late + "  add n 1\n  @add16 d[k] {length n}, d {length n}, #1\n", "'element 4 (k = 4)'")


@pytest.mark.row("000.10")
@pytest.mark.parametrize("length", ["extent 0", "extent 4"])
def test_a_stream_of_no_wavelets_completes_and_activates(length: str) -> None:
    """The two words on x stay for the next operation."""
    at_run_time = " {length n}" if length != "extent 0" else ""
    body = f"buffer a u32 [4]\nmem1d d a {length}\nmem1d two a extent 2\ninput_queue 2 x\n"
    body += f"fabin in queue 2 {length}\nfabin both queue 2 extent 2\ntask main entry\n"
    body += f"  @mov32 d{at_run_time}, in{at_run_time} async activate next\n"
    body += "task next\n  @mov32 two, both\n"
    assert values(run(body, xs=[7, 8]), "a") == [7, 8, 0, 0]


@pytest.mark.row("000.10")
def test_a_map_over_no_elements_calls_nothing() -> None:
    body = "buffer a u16 [4]\nmem1d d a extent 0\nmem1d e a extent 4\ntask main entry\n"
    body += "  map v from e to d as v\n    n = add.u16 n, #1\n  a(3) = mov.u16 n\n"
    assert values(run(body, a=[1] * 4), "a") == [1, 1, 1, 0]


@pytest.mark.row("000.03", "000.13", "000.24")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mem1d d v extent 4", [6, 7, 8, 9]),
        ("mem1d d v extent 4 stride -2 offset 2", [8, 6, 4, 2]),
        ('mem1d d tensor_access "|i|{2} -> v[i, i]"', [6, 10]),
        ('mem4d d tensor_access "|i, j|{2, 2} -> v[i, j + 1]"', [7, 8, 10, 11]),
        ("circbuf d v extent 5 wraparound 2", [6, 7, 6, 7, 6]),
    ],
)
def test_a_view_is_a_pointer_to_an_array_or_into_one(line: str, expected: list[float]) -> None:
    """v is a 2 x 3 array that begins at element 6 of a; a negative walk may leave it backwards."""
    body = "buffer a u16 [20]\nbuffer v u16 [2, 3] of a(6)\nbuffer b u16 [5]\n"
    body += f"{line}\nmem1d out b extent {len(expected)}\ntask main entry\n  @mov16 out, d\n"
    if "stride -2" in line:
        refused(body, "leaves buffer v of 6 elements")
        return
    result = run(body, a=range(20))
    assert values(result, "b")[: len(expected)] == expected
    assert set(result.memory) == {"a", "b"}
    assert result.counts.memory_reads == {"a": len(expected)}


@pytest.mark.row("000.03")
def test_a_view_stays_inside_its_array() -> None:
    for line, problem in (
        ("buffer v u16 [6] of a(16)", "the view leaves buffer a of 20 elements"),
        ("buffer v u16 [6] of a(-1)", "the view leaves buffer a of 20 elements"),
        ("buffer v f32 [2] of a", "a view has the dtype of its buffer"),
        ("buffer v u16 [2] of c", "a view of an unknown buffer"),
    ):
        refused(f"buffer pad u16 [4]\nbuffer a u16 [20]\n{line}\ntask main entry\n", problem)


CHOSEN = """
buffer a {dtype} [8]
buffer c {dtype} [8]
buffer b {dtype} [8]
mem1d d a extent 2 offset 5
mem1d out b extent 2
task main entry
  {point}
  @{move} out, d {{at p}}
"""


@pytest.mark.row("000.03", "000.75")
@pytest.mark.parametrize("dtype", ["u16", "f32"])
def test_a_base_that_is_chosen_at_run_time(dtype: str) -> None:
    """A branch points to one of two arrays; base and offset of the descriptor do not matter."""
    move = "mov16" if dtype == "u16" else "fmovs"
    for limit, expected in ((1, [3, 4]), (0, [10, 11])):
        point = f"if k < {limit}\n    point p a(3)\n  else\n    point p c"
        body = CHOSEN.format(dtype=dtype, move=move, point=point)
        assert values(run(body, a=range(8), c=range(10, 18)), "b")[:2] == expected
    step = f"point p a(3)\n  add p {2 if dtype == 'f32' else 1}"
    body = CHOSEN.format(dtype=dtype, move=move, point=step)
    assert values(run(body, a=range(8), c=range(10, 18)), "b")[:2] == [4, 5]


@pytest.mark.row("000.03")
def test_a_pointer_that_leads_nowhere() -> None:
    for point, problem in (
        ("point p a(8)", "buffer a has no such element"),
        ("point p q", "unknown buffer"),
        ("set p -1", "leaves the arrays of the element"),
        ("set p 70000", "leaves the arrays of the element"),
    ):
        refused(CHOSEN.format(dtype="u16", move="mov16", point=point), problem)
    odd = CHOSEN.format(dtype="f32", move="fmovs", point="set p 3")
    refused(odd, "values of two words start at even ones")


@pytest.mark.row("000.76")
def test_an_offset_counts_elements_of_the_type_that_is_given() -> None:
    body = UP.format(n=12) + "mem1d d a extent 2\nmem1d out b extent 2\ntask main entry\n"
    body += "  set k 2\n  @mov16 out, d[{}]\n"
    for offset, expected in (
        ("3", [3, 4]), ("3 as u16", [3, 4]), ("3 as f32", [6, 7]), ("k + 1 as f32", [6, 7])
    ):  # fmt: skip
        assert values(run(body.format(offset), a=range(12)), "b")[:2] == expected
    wide = "buffer a f32 [8]\nbuffer b f32 [8]\nmem1d d a extent 2\nmem1d out b extent 2\n"
    wide += "task main entry\n  @fmovs out, d[{}]\n"
    assert values(run(wide.format("4 as f16"), a=range(8)), "b")[:2] == [2, 3]
    refused(wide.format("3 as f16"), "the offset ends inside a value of buffer a")
    refused(wide.format("3 as f64"), "an offset counts an unknown type")
