"""Random operands: the same for a seed, and small enough for results of f16."""

import numpy as np

from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.drawn_operands import random_operands, workload_operands


def _layers(count: int, bits: int):
    names = "abcdef"[: count + 1]
    einsums = [
        f'"H{n + 1}[m, {names[n + 1]}] = H{n}[m, {names[n]}] * W{n}[{names[n]}, {names[n + 1]}]"'
        for n in range(count)
    ]
    sizes = ", ".join(f"{name.upper()}: 256" for name in names)
    text = (
        f"workload:\n  rank_sizes: {{M: 4, {sizes}}}\n  bits_per_value: {{All: {bits}}}\n"
        f"  einsums: [{', '.join(einsums)}]\n"
    )
    return load_workload(load_document("layers.yaml", text=text))


def test_results_of_many_layers_stay_about_as_large_as_one() -> None:
    workload = _layers(5, 16)
    operands = workload_operands(workload, 0, {})
    values = reference_values(workload, {n: v.astype(float) for n, v in operands.items()})
    for layer in range(1, 6):
        assert 0.5 < values[f"H{layer}"].std() < 2
    assert operands["W0"].dtype == np.float16


def test_values_of_f32_and_of_one_einsum_are_standard_normal() -> None:
    for workload in (_layers(5, 32), _layers(1, 16)):
        operands = workload_operands(workload, 0, {})
        drawn = random_operands(workload.einsums[0], 0)
        np.testing.assert_array_equal(operands["W0"], drawn["W0"])
        assert 0.9 < operands["W0"].astype(float).std() < 1.1


def test_given_tensors_are_not_drawn() -> None:
    workload = _layers(2, 16)
    given = workload_operands(workload, 0, {})["W0"]
    assert set(workload_operands(workload, 0, {"W0": given})) == {"H0", "W1"}
