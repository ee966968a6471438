"""Tensor access expressions: the table of wafer.md §6.2, refusals; builtins that change DSDs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.build.program_builder import CodeBuilder, ProgramBuilder
from tilewright.simulator.descriptors.memory_vectors import stride_registers
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import (
    Circbuf,
    Fabin,
    Fifo,
    Mem1d,
    Mem4d,
    Ref,
    mem4d_access,
    variable,
)
from tilewright.simulator.isa.dsd_changes import (
    increment_dsd_offset,
    set_dsd_base_addr,
    set_dsd_length,
    set_dsd_stride,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

ROWS = [
    ((10,), "|i|{10} -> a[i]", 0, (1,), (10,)),
    ((10,), "|i|{5} -> a[2*i+1]", 1, (2,), (5,)),
    ((10,), "|i|{10} -> a[0]", 0, (0,), (10,)),
    ((20, 20), "|i|{20} -> a[i,i]", 0, (21,), (20,)),
    ((10,), "|i|{10} -> a[2*i+42]", 42, (2,), (10,)),
    ((4, 3), "|i,j|{2,2} -> a[i,j]", 0, (1, 2), (2, 2)),
    ((1, 2, 3, 4), "|i,j,k,l|{1,2,1,4} -> a[i,j,1+k,l]", 4, (1, 1, 9, 9), (1, 2, 1, 4)),
    ((9,), "|i,j,k,l|{1,1,1,1} -> a[i+j+k+l]", 0, (1, 1, 1, 1), (1, 1, 1, 1)),
    ((20,), "|i,j|{5,5} -> a[2*i+j]", 0, (1, -2), (5, 5)),
    ((4, 5), "|i,j,k,l|{5,5,5,5} -> a[i+j,k+l+2]", 2, (1, -3, -3, -23), (5, 5, 5, 5)),
    ((10, 10), "|i,j|{2,2} -> a[i+1,j+1]", 11, (1, 9), (2, 2)),
]
"""Shape, expression, and the offset, strides (innermost first) and extents of the table."""


def code_with(shape: tuple[int, ...]) -> CodeBuilder:
    code = CodeBuilder("main")
    code.buffer("a", "i16", shape)
    return code


@pytest.mark.row("002.23")
@pytest.mark.row("000.14", "000.15", "000.16", "000.17", "000.30", "000.31", "000.32", "000.33")
@pytest.mark.parametrize(("shape", "text", "offset", "strides", "extents"), ROWS)
def test_rows_of_the_table(
    shape: tuple[int, ...],
    text: str,
    offset: int,
    strides: tuple[int, ...],
    extents: tuple[int, ...],
) -> None:
    code = code_with(shape)
    code.mem4d("d", tensor_access=text)
    dsd = code.build().dsds[0]
    assert dsd == Mem4d("d", "a", extents, strides, offset)
    if len(extents) == 1:
        code.mem1d("e", tensor_access=text)
        assert code.build().dsds[1] == Mem1d("e", "a", extents[0], strides[0], offset)


def test_register_counts_of_the_documentation() -> None:
    """A[2*i + j] needs no stride register, the four-dimensional example two."""
    needed = []
    for shape, text in ((ROWS[8][0], ROWS[8][1]), (ROWS[9][0], ROWS[9][1])):
        code = code_with(shape)
        code.mem4d("d", tensor_access=text)
        dsd = code.build().dsds[0]
        assert isinstance(dsd, Mem4d)
        needed.append(stride_registers(dsd))
    assert needed == [0, 2]


@pytest.mark.row("000.09", "000.29")
@given(st.data())
def test_the_walk_is_the_expression(data: st.DataObject) -> None:
    """The stride form visits what the expression says, in order, for any affine access."""
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    names = "ijkl"[: data.draw(st.integers(1, 4))]
    lengths = [data.draw(st.integers(1, 4)) for _ in names]
    numbers = st.integers(-5, 5)
    expressions = [([data.draw(numbers) for _ in names], data.draw(numbers)) for _ in shape]
    texts = [
        " + ".join([*(f"{c}*{n}" for c, n in zip(factors, names, strict=True)), str(constant)])
        for factors, constant in expressions
    ]
    code = code_with(shape)
    access = f"|{','.join(names)}|{{{','.join(map(str, lengths))}}} -> a[{', '.join(texts)}]"
    code.mem4d("d", tensor_access=access)
    dsd = code.build().dsds[0]
    assert isinstance(dsd, Mem4d)
    expected = []
    for values in product(*map(range, lengths)):
        linear = 0
        for size, (factors, constant) in zip(shape, expressions, strict=True):
            at = sum(f * v for f, v in zip(factors, values, strict=True)) + constant
            linear = linear * size + at
        expected.append(linear)
    position, counters, seen = dsd.offset, [0] * len(names), []
    for _ in expected:
        seen.append(position)
        for d, stride in enumerate(dsd.strides):
            counters[d] += 1
            if counters[d] < dsd.extents[::-1][d]:
                position += stride
                break
            counters[d] = 0
    assert seen == expected


REFUSED = [
    ("a[i]", "this is no tensor access expression"),
    ("|i|{4} -> b[i]", "code main: tensor access of an unknown buffer"),
    ("|i|{4} -> a[i]", "tensor access of a: one expression per dimension of the buffer"),
    ("|i,j|{4} -> a[i,j]", "tensor access of a: one to four variables and a length for each"),
    (
        "|i,j,k,l,m|{1,1,1,1,1} -> a[i,j]",
        "tensor access of a: one to four variables and a length for each",
    ),
    (
        "|i,i|{1,1} -> a[i,i]",
        "tensor access of a: variables are different names, lengths whole numbers",
    ),
    (
        "|i|{n} -> a[i,i]",
        "tensor access of a: variables are different names, lengths whole numbers",
    ),
    ("|i|{4} -> a[i*i,0]", "tensor access: a product of two variables is not affine"),
    ("|i|{4} -> a[i,j]", "tensor access: unknown name or number 'j'"),
    ("|i|{4} -> a[(i,0]", "tensor access: a parenthesis is not closed"),
    ("|i|{4} -> a[i i,0]", "tensor access: the expression goes on where it should end"),
    ("|i|{4} -> a[__import__('os'),0]", "tensor access: this is no affine expression"),
    (
        "|i|{4} -> a[" + "(" * 40 + "i" + ")" * 40 + ",0]",
        "tensor access: too many parentheses inside each other",
    ),
    ("|i|{4} -> a[" + "-" * 40 + "i,0]", "tensor access: too many signs in a row"),
    ("|i|{4} -> a[" + "999999999*" * 40 + "i,0]", "tensor access: a number is too large"),
]


@pytest.mark.row("000.19")
@pytest.mark.row("000.11", "000.12", "000.28")
@pytest.mark.parametrize(("access", "text"), REFUSED)
def test_refused(access: str, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        code_with((4, 4)).mem4d("d", tensor_access=access)
    assert str(caught.value).splitlines()[0] == text


def test_not_beside_other_properties() -> None:
    code = code_with((4,))
    for given_too in ({"buffer": "a"}, {"extent": 4}, {"stride": 2}, {"offset": 1}):
        with pytest.raises(ProgramError, match="DSD d: given beside tensor_access"):
            code.mem1d("d", tensor_access="|i|{4} -> a[i]", **given_too)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="given beside tensor_access"):
        code.mem4d("d", "a", tensor_access="|i|{4} -> a[i]")
    with pytest.raises(ProgramError, match="mem1d has one induction variable"):
        code.mem1d("d", tensor_access="|i,j|{2,2} -> a[2*i+j]")


VECTOR = Mem1d("v", "a", 8, 2, 3)
GRID = mem4d_access("g", "a", [(2, 10), (2, 1)], 11)


@pytest.mark.row("000.74", "000.75", "000.79", "000.80")
def test_changes_are_new_values() -> None:
    assert set_dsd_base_addr(VECTOR, "b") == Mem1d("v", "b", 8, 2, 0)
    assert increment_dsd_offset(GRID, -10, "up") == mem4d_access("up", "a", [(2, 10), (2, 1)], 1)
    assert set_dsd_length(Fabin("in", 2, 8), 5) == Fabin("in", 2, 5)
    assert set_dsd_length(Circbuf("c", "a", 8, 3), 20) == Circbuf("c", "a", 20, 3)
    assert set_dsd_stride(VECTOR, -128) == Mem1d("v", "a", 8, -128, 3)
    assert Mem1d("v", "a", 8, 2, 3) == VECTOR
    with pytest.raises(ProgramError, match="set_dsd_length: not for a mem4d"):
        set_dsd_length(GRID, 4)
    with pytest.raises(ProgramError, match="set_dsd_length: not for a fifo"):
        set_dsd_length(Fifo("f", "a"), 4)
    with pytest.raises(ProgramError, match="set_dsd_stride: not for a mem4d"):
        set_dsd_stride(GRID, 1)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="set_dsd_base_addr: not for a fabin"):
        set_dsd_base_addr(Fabin("in", 2, 8), "b")  # type: ignore[type-var]
    with pytest.raises(ProgramError, match="the stride is no i8"):
        set_dsd_stride(VECTOR, 128)
    with pytest.raises(ProgramError, match="the length is no u16"):
        set_dsd_length(VECTOR, 65536)
    with pytest.raises(ProgramError, match="the offset is no i16"):
        increment_dsd_offset(VECTOR, 40000)


def changing(dest: Ref, source: Ref, words: int = 12) -> list[int]:
    """Return buffer b after `mov16 dest, source`; a holds 0, 1, ..., k is 3, n is 4."""
    b = ProgramBuilder("changing", 1, 2)
    b.code("idle").buffer("pad", "u16", 3)
    code = b.code("main")
    code.buffer("a", "u16", words)
    code.buffer("b", "u16", words)
    code.mem1d("from_a", "a", 6, offset=2)
    code.mem1d("to_b", "b", 6)
    main = code.task("main", entry=True)
    main.set("k", 3)
    main.set("n", 4)
    main.set("back", -2)
    main.op("mov16", dest, source)
    b.place("idle", Area(0, 0))
    b.place("main", Area(0, 1))
    program = b.build()
    assert parse_program(print_program(program)) == program
    a = {(0, 1): np.arange(words, dtype=np.uint16)}
    memory = Machine(program, load_profile("wse3-sdk-sim")).run(memory={"a": a}).memory
    return [int(value) for value in memory["b"][0, 1]]


K, N, BACK = (variable(name) for name in ("k", "n", "back"))
A, B = Ref("from_a"), Ref("to_b")


@pytest.mark.row("000.20")
@pytest.mark.parametrize(
    ("dest", "source", "expected"),
    [
        (B, A, [2, 3, 4, 5, 6, 7]),
        (B.with_length(0), A.with_length(0), []),
        (B.with_length(N - 4), A.with_length(N - 4), []),
        (B.with_length(4), A.with_length(4), [2, 3, 4, 5]),
        (B.with_length(N), A.with_length(N), [2, 3, 4, 5]),
        (B.with_length(4), A.with_length(N), [2, 3, 4, 5]),
        (B.with_length(N), A.with_length(N).with_stride(2), [2, 4, 6, 8]),
        (B.with_length(N), A.with_length(N).with_stride(K - 1), [2, 4, 6, 8]),
        (B.with_length(N), A.at(K * 2).with_length(N).with_stride(BACK), [8, 6, 4, 2]),
        (B, A.with_stride(K - 2), [2, 3, 4, 5, 6, 7]),
        (A.of("b"), A.of("a").at(K), [3, 4, 5, 6, 7, 8]),
        (B.with_length(N).with_stride(2), A.with_length(N), [2, 0, 3, 0, 4, 0, 5]),
    ],
)
def test_operands_changed_for_one_operation(dest: Ref, source: Ref, expected: list[int]) -> None:
    assert changing(dest, source) == expected + [0] * (12 - len(expected))


CHANGES_REFUSED = [
    (B.with_length(N), A.with_length(N + 1), "the lengths of its operands differ: 4 and 5"),
    (B.with_length(N - 5), A.with_length(N - 5), "an operand's length is outside 0..65535"),
    (B, A.with_stride(K * 50), "operand's stride is outside -128..127: 150"),
    (B, A.with_stride(K), "operand from_a leaves buffer a of"),
    (B.with_length(N * 4), A.with_length(N * 4), "operand to_b leaves buffer b of"),
    (B.with_length(0), A.with_length(2), "the extents of the operands differ"),
    (B, A.with_stride(200), "set_dsd_stride: the stride is no i8"),
]


@pytest.mark.parametrize(("dest", "source", "text"), CHANGES_REFUSED)
def test_changes_that_do_not_hold(dest: Ref, source: Ref, text: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        changing(dest, source)
    assert text in str(caught.value)


def test_a_length_of_wavelets_known_at_run_time() -> None:
    """The element takes as many wavelets as its counter says, twice."""
    b = ProgramBuilder("parts", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "u32", 6)
    code.mem1d("all", "v", 6)
    code.input_queue(2, "x")
    code.fabin("in", 2, 6)
    main = code.task("main", entry=True)
    main.set("n", 2)
    main.op("mov32", Ref("all").with_length(variable("n")), Ref("in").with_length(variable("n")))
    main.increment("n", 2)
    rest = Ref("all").at(2).with_length(variable("n"))
    main.start("mov32", rest, Ref("in").with_length(variable("n")))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "u32", 6))
    program = b.build()
    xs = np.arange(6, dtype=np.uint32)[None] + 5
    result = Machine(program, load_profile("wse3-sdk-sim")).run(edges={"xs": xs})
    assert result.memory["v"].ravel().tolist() == xs.ravel().tolist()
    certificate = FastMachine(program, load_profile("generic")).certificate
    assert "Ref.length is set" in certificate.reason
