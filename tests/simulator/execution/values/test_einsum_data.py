"""What numpy computes of an Einsum in blocks and windows equals its value point by point."""

import numpy as np
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.formulas.reference import joined_values, read_values
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.drawn_operands import WrongResult, random_operands
from tilewright.simulator.execution.values.einsum_data import EinsumData

EINSUMS = {
    "convolution": (
        "P: 5, Q: 4, R: 3, S: 2, C: 3, M: 2",
        "Z[m, p, q] = A[c, H: p + r, W: q + s] * B[m, c, r, s]",
    ),
    "strides": ("P: 5, R: 3, C: 1, M: 4", "Z[m, p] = A[c, H: 2*p + r] * B[m, c, r]"),
    "one place": ("P: 1, R: 3, M: 4", "Z[m, p] = A[H: p + r] * B[m, r]"),
    "diagonal": ("I: 6, J: 5", "Z[i] = A[i, H: i] * B[i, j]"),
    "three operands": ("P: 5, R: 3, M: 4, T: 2", "Z[m, p] = A[H: p + r] * B[m, r] * C[W: r + t]"),
    "windows of the result": ("P: 4, R: 3", "Z[H: p + r] = A[p] * B[r]"),
    "scalars": ("P: 4, R: 3", "Z[p] = A[] * B[] * C[H: p + r]"),
    "read twice": ("M: 4, N: 5, K: 3", "Z[m, n] = A[X: m, k] * A[X: n, k]"),
}


@pytest.mark.parametrize("form", EINSUMS)
def test_products_of_windows_equal_sums_over_all_points(form: str) -> None:
    sizes, text = EINSUMS[form]
    workload = (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 16}}\n"
        f'  einsums: ["{text}"]\n'
    )
    einsum = load_workload(load_document("windows.yaml", text=workload)).einsums[0]
    data = EinsumData(einsum, seed=3)
    points = np.ones(())
    for values in read_values(einsum, {n: v.astype(float) for n, v in data.operands.items()}):
        points = points * values
    exact = joined_values(einsum, points)
    assert data.value.shape == exact.shape
    np.testing.assert_allclose(data.value, exact, rtol=1e-14, atol=1e-14)
    magnitudes = joined_values(einsum, np.abs(points))
    assert (data.error() >= 2.0**-11 * magnitudes).all()
    data.compare(exact)


def test_sums_beyond_the_largest_f16_name_a_way_out() -> None:
    text = (
        "workload:\n  rank_sizes: {M: 2, K: 4}\n  bits_per_value: {All: 16}\n"
        '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
    )
    einsum = load_workload(load_document("sum.yaml", text=text)).einsums[0]
    large = {"A": np.full((2, 4), 300, np.float16), "B": np.array([300, 300, -300, -300])}
    data = EinsumData(einsum, {name: values.astype(np.float16) for name, values in large.items()})
    with pytest.raises(TilewrightError, match=r"beyond 65504.*gives nan") as error:
        data.compare(np.full(2, np.nan))
    assert error.value.instead == "operands of smaller values, or bits_per_value: 32"


def logarithm(**given: np.ndarray) -> EinsumData:
    text = (
        "workload:\n  rank_sizes: {M: 128, C: 768}\n  bits_per_value: {All: 16}\n"
        '  einsums: ["Z[m, c] = log(U[m, c])"]\n'
    )
    einsum = load_workload(load_document("log.yaml", text=text)).einsums[0]
    return EinsumData(einsum, given=given)


def test_operands_of_logarithms_are_normal_numbers() -> None:
    drawn = logarithm().operands["U"]
    assert drawn.dtype == np.float16
    assert drawn.min() >= np.finfo(np.float16).smallest_normal
    raw = np.abs(random_operands(logarithm().einsum, 0)["U"])
    assert raw.min() < drawn.min()  # else nothing was to be seen


def test_a_wrong_logarithm_of_a_subnormal_number_names_the_cause() -> None:
    operand = np.ones((128, 768), np.float16)
    operand[3, 4] = 3e-6
    data = logarithm(U=operand)
    output = data.value.copy()
    output[3, 4] = -10.0
    with pytest.raises(TilewrightError, match="subnormal numbers") as error:
        data.compare(output)
    assert not isinstance(error.value, WrongResult)
