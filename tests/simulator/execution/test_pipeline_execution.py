"""Pipelines executed: what they read and leave, their counts, energy and errors."""

import numpy as np
import pytest
from cascades import cascade_arch
from pipeline_cases import PipelineCase, example, pipeline_workload

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.execution.values.einsum_data import EinsumData

ELEMENTWISE = pipeline_workload("elementwise", (("m", 6), ("n", 4)), "")


def part(einsum: str, *tensors: str) -> tuple[Node, ...]:
    loops = (Temporal("n", 1), Temporal("m", 1))
    return (
        Spatial("n", 2, "X", "Grid"),
        Storage(tensors, "SRAM"),
        *loops,
        ComputeNode(einsum, "Engine"),
    )


def partly() -> Execution:
    """S and T in three turns over m, T stays whole in the elements, and Z adds it up."""
    pipeline = Sequential((part("S", "A", "S"), part("T", "S", "B", "T")), "Pipeline")
    first = (Storage(("A", "B"), "Host"), Temporal("m", 2), pipeline)
    last = (Storage(("Z",), "Host"), *part("Z", "T", "Z"))
    return execute(cascade_arch(2, 1), ELEMENTWISE, Mapping((Sequential((first, last)),)))


def test_a_result_that_stays_is_whole_for_the_next_einsum() -> None:
    run = partly()
    (pipeline,), (last,) = run.pipelines, run.einsums
    assert (pipeline.name, pipeline.plan.turns, last.name) == ("S+T", 3, "Z")
    a, b = run.values["A"], run.values["B"]
    np.testing.assert_allclose(run.values["T"], a * a + b, rtol=1e-6)
    np.testing.assert_allclose(run.values["Z"], (a * a + b).sum(axis=1), rtol=1e-5)
    assert pipeline.memory["T"].shape == (1, 2, 1, 12)
    assert run.counts["Z/Engine/None/compute"] == 24
    assert "Z/Host/T/read" not in run.counts
    assert run.cycles == pipeline.cycles + last.cycles
    assert run.lower_bound_cycles == pipeline.lower_bound_cycles + last.lower_bound_cycles


def test_counts_are_those_of_all_einsums_together() -> None:
    (run,) = partly().pipelines
    # each value of A and B enters once; S is written and read in the elements, T written
    assert run.counts["S+T/Host/A/read"] == 24
    assert run.counts["S+T/Host/B/read"] == 4
    assert run.counts["S+T/SRAM/S/write"] == run.counts["S+T/SRAM/S/read"] == 24
    assert run.counts["S+T/SRAM/T/write"] == 24
    assert run.counts["S+T/Engine/None/compute"] == 48
    assert run.energy == pytest.approx(sum(run.energy_by.values()))
    assert {key.split("/")[0] for key in run.energy_by} == {"S", "T", "S+T"}


def test_energy_differs_from_einsums_in_turn_by_leakage_alone() -> None:
    case: PipelineCase = example("two layers", 2)
    pipeline = execute(case.arch, case.workload, case.mapping)
    sequence = execute(case.arch, case.workload, case.in_sequence())

    def dynamic(run: Execution) -> float:
        return sum(e for r in run.runs for key, e in r.energy_by.items() if "leak" not in key)

    assert dynamic(pipeline) == pytest.approx(dynamic(sequence))


def test_errors_of_operands_widen_the_bound() -> None:
    einsum = pipeline_workload(
        "two products", (("k", 2), ("l", 2), ("m", 2), ("n", 3)), ""
    ).einsums[1]
    given = {"S": np.ones((2, 3)), "C": np.full((3, 2), 2.0)}
    exact = EinsumData(einsum, given)
    wrong = EinsumData(einsum, given, errors={"S": np.full((2, 3), 0.5)})
    np.testing.assert_array_equal(exact.value, wrong.value)
    # three products of an operand that is off by 0.5, and 2
    assert (wrong.error() >= 3.0).all()
    assert (wrong.error() <= 3.01).all()
    assert (exact.error() < 1e-4).all()


def test_a_tensor_is_resharded_before_a_pipeline() -> None:
    """S has shares of n, and T and Z in a pipeline have shares of m, with turns over n."""

    def shared(einsum: str, variable: str, *tensors: str) -> tuple[Node, ...]:
        loops = (Temporal("m", 1), Temporal("n", 1))
        share = Spatial(variable, 3 if variable == "m" else 2, "X", "Grid")
        return (share, Storage(tensors, "SRAM"), *loops, ComputeNode(einsum, "Engine"))

    first = (Storage(("A",), "Host"), *shared("S", "n", "A", "S"))
    branches = (shared("T", "m", "S", "B", "T"), shared("Z", "m", "T", "Z"))
    pipeline = (Storage(("B", "Z"), "Host"), Temporal("n", 2), Sequential(branches, "Pipeline"))
    mapping = Mapping((Sequential((first, pipeline)),))
    run = execute(cascade_arch(2, 1), ELEMENTWISE, mapping)
    (exchange,) = run.exchanges
    assert (exchange.kind, exchange.einsum) == ("reshard", "T")
    assert run.pipelines[0].plan.peeled
    a, b = run.values["A"], run.values["B"]
    np.testing.assert_allclose(run.values["Z"], (a * a + b).sum(axis=1), rtol=1e-5)
    assert run.cycles == run.einsums[0].cycles + run.pipelines[0].cycles + exchange.cycles
