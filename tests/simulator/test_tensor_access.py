"""Tensor access expressions: the table of wafer.md §6.2, and refusals."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.descriptors.memory_vectors import stride_registers
from tilewright.simulator.isa.dsd import Mem1d, Mem4d
from tilewright.simulator.isa.machine_errors import ProgramError

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
