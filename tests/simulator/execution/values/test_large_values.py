"""Large arrays: random values, products in blocks, and how far long sums may be off."""

import numpy as np
import pytest

from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.values import exact_products
from tilewright.simulator.execution.values.einsum_data import EinsumData
from tilewright.simulator.execution.values.large_values import draw_many, widened


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_random_values_are_normal_and_follow_from_the_seed(dtype: type) -> None:
    values = draw_many((501, 401), dtype, 7)
    assert values.dtype == dtype
    assert np.array_equal(values, draw_many((501, 401), dtype, 7))
    assert not np.array_equal(values, draw_many((501, 401), dtype, 8))
    wide = values.astype(np.float64)
    assert abs(wide.mean()) < 0.01
    assert abs(wide.std() - 1) < 0.01
    assert abs(np.corrcoef(wide.ravel()[1:], wide.ravel()[:-1])[0, 1]) < 0.01
    assert np.array_equal(widened(values[3:9]), wide[3:9])


def gemv(text: str, size: int) -> EinsumData:
    sizes = f"rank_sizes: {{M: 6, N: 6, K: {size}}}"
    document = f'workload:\n  {sizes}\n  bits_per_value: {{All: 16}}\n  einsums: ["{text}"]\n'
    return EinsumData(load_workload(load_document("w.yaml", text=document)).einsums[0])


@pytest.mark.parametrize("text", ["Z[m] = A[m, k] * B[k]", "Z[m] = A[k, m] * B[k]"])
def test_blocks_change_no_result(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = gemv(text, 50), gemv(text, 50)
    output = whole.operands["B"].sum() * np.ones(6)
    with pytest.raises(WrongResult) as error:
        whole.compare(output)
    monkeypatch.setattr(exact_products, "MANY_VALUES", 1)
    monkeypatch.setattr(exact_products, "BLOCK_VALUES", 100)
    with pytest.raises(WrongResult) as again:
        parts.compare(output)
    assert str(error.value) == str(again.value)


def test_a_tensor_that_is_read_twice_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_products, "MANY_VALUES", 1)
    monkeypatch.setattr(exact_products, "BLOCK_VALUES", 2)
    data = gemv("Z[m, n] = A[m, k] * A[M: n, k]", 5)
    values = data.operands["A"].astype(np.float64)
    assert np.allclose(data.value, values @ values.T, rtol=1e-12)


def test_a_sum_of_thousands_of_f16_is_compared_too() -> None:
    """2 ** -11 for each of 16384 additions says nothing; 60 additions on each way do."""
    data = gemv("Z[m] = A[m, k] * B[k]", 16384)
    exact = data.operands["A"].astype(float) @ data.operands["B"].astype(float)
    assert 0 < data.compare(exact + 1, 60).share < 1
    with pytest.raises(WrongResult):
        data.compare(exact + 1000, 60)
