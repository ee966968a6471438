"""Formulas of Einsums: read, written back, mapped, and computed with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from fused_cases import two_memories

from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.formula import Formula
from tilewright.mapper.workload.formulas.reference import einsum_values, reference_values
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload, einsum_text

SOFTMAX = (
    "S[m, n] = Q[m, e] * K[n, e]",
    "M[m] = max(S[m, n])",
    "E[m, n] = exp(S[m, n] - M[m])",
    "D[m] = E[m, n]",
    "A[m, n] = E[m, n] / D[m]",
    "O[m, f] = A[m, n] * V[n, f]",
)
NORM = (
    "T[m] = sum(X[m, n] / 4)",
    "C[m, n] = X[m, n] - T[m]",
    "U[m] = sum(C[m, n] * C[m, n] / 4)",
    "Y[m, n] = C[m, n] / sqrt(U[m] + 1e-5) * G[n] + B[n]",
)
GATED = (
    "H[m, f] = X[m, n] * W[n, f]",
    "J[m, f] = X[m, n] * R[n, f]",
    "Z[m, f] = J[m, f] * sigmoid(J[m, f]) * max(H[m, f], 0.5) + relu(-H[m, f])",
)


def workload(texts: tuple[str, ...]) -> Workload:
    lines = "".join(f'  - "{text}"\n' for text in texts)
    return load_workload(
        "workload:\n  rank_sizes: {M: 3, N: 4, E: 2, F: 2}\n  bits_per_value: {All: 8}\n"
        f"  einsums:\n{lines}"
    )


def values(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def test_softmax_attention() -> None:
    given = values(Q=(3, 2), K=(4, 2), V=(4, 2))
    found = reference_values(workload(SOFTMAX), given)
    scores = given["Q"] @ given["K"].T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["O"], weights @ given["V"])


def test_layer_norm_and_a_gated_mlp() -> None:
    given = values(X=(3, 4), G=(4,), B=(4,), W=(4, 2), R=(4, 2))
    x = given["X"]
    norm = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    found = reference_values(workload(NORM), given)
    np.testing.assert_allclose(found["Y"], norm * given["G"] + given["B"])
    h, j = x @ given["W"], x @ given["R"]
    gated = j / (1 + np.exp(-j)) * np.maximum(h, 0.5) + np.maximum(-h, 0)
    np.testing.assert_allclose(reference_values(workload(GATED), given)["Z"], gated)


@pytest.mark.parametrize("texts", [SOFTMAX, NORM, GATED])
def test_formulas_are_mapped_verified_and_written_back(texts: tuple[str, ...]) -> None:
    work = workload(texts)
    assert load_workload(dump_workload(work)) == work
    result = search(two_memories(2000), work, fusion=False)
    assert result.best.score.verified
    operations = sum(einsum.operations for einsum in work.einsums)
    computed = [
        n for key, n in result.best.score.actions.items() if key.endswith("MAC/None/compute")
    ]
    assert sum(computed) == operations


def test_a_formula_is_written_with_its_inputs() -> None:
    formula = Formula("exp(_0 - _1)", "max")
    assert formula.written(["S[m, n]", "M[m]"]) == "max(exp(S[m, n] - M[m]))"
    found = formula.value([np.array([1.0, 2.0]), np.array([1.0, 1.0])])
    np.testing.assert_allclose(found, np.exp([0.0, 1.0]))
    assert einsum_text(workload(SOFTMAX).einsum("M")) == "M[m] = max(S[m, n])"


def test_a_scalar_and_a_tensor_read_twice() -> None:
    work = load_workload(
        "workload:\n  rank_sizes: {K: 4}\n  bits_per_value: {All: 8}\n"
        '  einsums: ["z[] = A[k] * A[k]", "Y[k] = A[k] / sqrt(z[])"]\n'
    )
    z = work.einsum("z")
    assert (z.tensors, z.access("z").projection, z.access("z").tile_size({})) == (("z", "A"), (), 1)
    given = values(A=(4,))
    found = reference_values(work, given)
    np.testing.assert_allclose(found["Y"], given["A"] / np.linalg.norm(given["A"]))
    result = search(two_memories(64), work)
    assert result.best.score.verified
    assert load_workload(dump_workload(work)) == work
    with pytest.raises(WorkloadError, match="has no rank, which accelforge refuses"):
        search(two_memories(64), work, conventions="accelforge")


def test_a_window_reads_zeros_in_the_padding() -> None:
    work = load_workload(
        "workload:\n  rank_sizes: {P: 4, R: 3}\n  pad: {P: 1}\n  bits_per_value: {All: 8}\n"
        '  einsums: ["Z[P: p] = A[P: p + r - 1] * F[r]"]\n'
    )
    given = {"A": np.arange(1.0, 5), "F": np.ones(3)}
    np.testing.assert_allclose(reference_values(work, given)["Z"], [3, 6, 9, 7])
    with pytest.raises(WorkloadError, match="no values of tensor F"):
        reference_values(work, {"A": given["A"]})


def test_integers_of_a_formula_wrap_around_at_their_width() -> None:
    """200 * 200 = 40,000 is -25,536 in 16 bits; a quotient, or a constant of 0.5, is a float."""
    values = np.array([200, -3], dtype=np.int16)
    square = Formula("square(_0)").value([values])
    assert square.dtype == np.int16
    assert square.tolist() == [-25_536, 9]
    assert Formula("2 * _0 + 70000").value([values]).tolist() == [4864, 4458]
    assert Formula("_0 / _0").value([values]).dtype == np.float64
    assert Formula("_0 * 0.5").value([values]).tolist() == [100.0, -1.5]


def test_positions_that_no_point_writes_are_zero() -> None:
    """Of maxima, too, in every type."""
    text = (
        "workload:\n  rank_sizes: {M: 3, K: 2}\n  bits_per_value: {All: 16}\n"
        '  einsums: ["Z[P: 2*m + 1] = max(A[m, k])"]\n'
    )
    (einsum,) = load_workload(text).einsums
    for dtype in (np.int16, np.float32):
        values = np.array([[-5, -7], [-1, -2], [4, -9]], dtype=dtype)
        assert einsum_values(einsum, {"A": values}).tolist() == [0, -5, 0, -1, 0, 4]
