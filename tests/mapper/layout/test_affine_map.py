"""Quasi-affine maps: read, printed, evaluated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap
from tilewright.mapper.layout.affine_map import QuasiAffine, constant, dim


def test_both_notations_mean_the_same() -> None:
    ours = AffineMap.parse("(d0, d1) -> ((d0 floordiv 8) * 2 + d1 floordiv 8, d0 mod 8)")
    short = AffineMap.parse("((d0//8)*2+d1//8,d0%8)", 2)
    assert ours == short
    assert ours.value((21, 9)) == (2 * 2 + 1, 5)
    assert str(ours) == "(d0, d1) -> (d0 floordiv 8 * 2 + d1 floordiv 8, d0 mod 8)"


def test_coefficients_of_linear_results() -> None:
    read = AffineMap.parse("(d0, d1, d2) -> (d0 * 192 + 64 * d1 + d2, 0, d0 mod 2)")
    assert read.results[0].coefficients() == ({0: 192, 1: 64, 2: 1}, 0)
    assert read.results[1].coefficients() == ({}, 0)
    assert read.results[2].coefficients() is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(d0, d1) -> (d0 * d1)", "a product of two indices is not affine, at character"),
        ("(d0) -> (d0 mod 0)", "mod needs a constant of 1 or more"),
        ("(d0) -> (d0 floordiv d0)", "floordiv needs a constant"),
        ("(d0) -> (d1)", "an affine map of 1 dimensions has no d1"),
        ("(d0) -> (d0", "is missing, at the end"),
        ("(d0) -> (d0) x", "text after the end"),
        ("(d0, d2) -> (d0)", "'d1' is missing"),
        ("(d0) -> (__import__)", "an index"),
        ("(d0) -> " + "(" * 60 + "d0" + ")" * 60, "more than 40 parentheses"),
        ("(d0) -> (" + "d0 + " * 2000 + "d0)", "more than 4000 characters"),
        ("(d0)", "dimensions on the left"),
    ],
)
def test_other_text_is_refused_with_its_place(text: str, what: str) -> None:
    with pytest.raises(SpecError) as caught:
        AffineMap.parse(text)
    assert what in caught.value.what


leaves = st.one_of(st.integers(0, 2).map(dim), st.integers(-5, 9).map(constant))


def _grow(inner: st.SearchStrategy[QuasiAffine]) -> st.SearchStrategy[QuasiAffine]:
    small = st.integers(1, 7).map(constant)
    return st.one_of(
        st.builds(lambda a, b: QuasiAffine("+", 0, a, b), inner, inner),
        st.builds(lambda a, b: QuasiAffine("*", 0, a, b), inner, small),
        st.builds(lambda a, b: QuasiAffine("floordiv", 0, a, b), inner, small),
        st.builds(lambda a, b: QuasiAffine("mod", 0, a, b), inner, small),
    )


@given(st.lists(st.recursive(leaves, _grow, max_leaves=6), min_size=1, max_size=3))
def test_printed_text_means_the_same(results: list[QuasiAffine]) -> None:
    """Print, read again, and compare values at every index, one by one and vectorised."""
    affine = AffineMap(3, tuple(results))
    again = AffineMap.parse(str(affine))
    indices = list(product(range(3), range(2), range(4)))
    columns = [np.array(axis) for axis in zip(*indices, strict=True)]
    for number, index in enumerate(indices):
        assert affine.value(index) == again.value(index)
        assert affine.value(index) == tuple(int(v[number]) for v in affine.values(columns))
