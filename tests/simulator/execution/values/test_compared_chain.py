"""Whole results of several Einsums against numpy's from the inputs alone, and wrong ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cascades import CASCADES, cascade_arch, cascade_workload
from explore import at_night
from pipeline_cases import random_pipeline

from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.search.grid_mapping import map_on_grid


def workload_of(bits: str, *einsums: str) -> Workload:
    text = "workload:\n  rank_sizes: {M: 6, K: 40, N: 8, L: 5}\n" + f"  bits_per_value: {bits}\n"
    listed = "".join(f'  - "{einsum}"\n' for einsum in einsums)
    return load_workload(load_document("chain.yaml", text=f"{text}  einsums:\n{listed}"))


def executed(workload: Workload) -> Execution:
    return map_on_grid(cascade_arch(2, 2), workload).execution


PRODUCTS = ("S[m, n] = A[m, k] * B[k, n]", "T[m, n] = relu(S[m, n])", "Z[m, l] = T[m, n] * C[n, l]")
INTEGERS = "{All: 32}\n  integers: All"


def check_against_reference(workload: Workload, execution: Execution) -> None:
    """The difference is that from the reference, and the least bound of f32 is below the bound."""
    inputs = {
        name: execution.values[name].astype(np.float64)
        for name in execution.values
        if name not in {a.tensor for e in workload.einsums for a in e.outputs}
    }
    expected = reference_values(workload, inputs)
    assert set(execution.whole_result) == {"Z"}
    whole = execution.whole_result["Z"]
    found = execution.values["Z"].astype(np.float64)
    assert whole.difference == pytest.approx(np.abs(found - expected["Z"]).max(), abs=1e-12)
    assert whole.largest == pytest.approx(np.abs(expected["Z"]).max())
    assert whole.difference <= whole.bound
    assert whole.share <= 1


@pytest.mark.parametrize("name", CASCADES)
def test_the_difference_is_that_from_the_reference(name: str) -> None:
    workload = cascade_workload(name, m=8, n=8)
    check_against_reference(workload, executed(workload))


@pytest.mark.parametrize(
    "bits",
    ["{All: 32}", "{All: 16}", "{A | B: 16, S | T | C | Z: 32}"],
)
def test_number_types(bits: str) -> None:
    workload = workload_of(bits, *PRODUCTS)
    execution = executed(workload)
    check_against_reference(workload, execution)
    assert execution.whole_result["Z"].bound < 1


@pytest.mark.parametrize("part", [0, *at_night(1, 2, 3)])
def test_pipelines(part: int) -> None:
    for seed in range(5 * part, 5 * (part + 1)):
        case = random_pipeline(seed)
        for mapping in (case.mapping, case.in_sequence()):
            check_against_reference(case.workload, execute(case.arch, case.workload, mapping))


def test_a_change_of_any_operand_between_einsums_is_found() -> None:
    """Another value of an input than the machine had is a difference beyond the bound."""
    execution = executed(workload_of("{All: 32}", *PRODUCTS))
    for name in ("A", "B", "C"):
        changed = execution.values[name].copy()
        changed.flat[3] += 0.01
        wrong = replace(execution, values={**execution.values, name: changed})
        with pytest.raises(WrongResult, match="please report this"):
            _ = wrong.whole_result
    slightly = execution.values["Z"] + np.float32(4 * execution.whole_result["Z"].bound)
    with pytest.raises(WrongResult):
        _ = replace(execution, values={**execution.values, "Z": slightly}).whole_result


def test_integers_are_exact() -> None:
    workload = workload_of(INTEGERS, *PRODUCTS)
    execution = executed(workload)
    assert execution.whole_result["Z"].difference == execution.whole_result["Z"].bound == 0
    check_against_reference(workload, execution)
    one_more = execution.values["Z"] + 1
    with pytest.raises(WrongResult):
        _ = replace(execution, values={**execution.values, "Z": one_more}).whole_result


def test_one_einsum_has_no_chain() -> None:
    assert executed(workload_of("{All: 32}", PRODUCTS[0])).whole_result == {}


def test_where_a_divisor_may_be_0_by_rounding_there_is_no_bound() -> None:
    """The sum of a row and of its negative is 0 but for rounding: any quotient may come."""
    workload = workload_of(
        "{All: 32}", "S[m] = A[m, k] * B[k]", "D[m] = S[m] - S[m]", "Z[m] = C[m] / D[m]"
    )
    execution = executed(workload)
    assert execution.whole_result["Z"].bound == np.inf
    assert execution.whole_result["Z"].share == 0
