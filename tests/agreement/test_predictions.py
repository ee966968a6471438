"""What a mapping costs without a run: counts and energy of its execution, and a lower bound."""

from __future__ import annotations

import pytest
from cascades import cascade_arch, cascade_workload
from explore import at_night
from pipeline_cases import random_pipeline

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper import load_workload
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator import ExecutionSettings, execute, map_on_grid
from tilewright.simulator.execution.prediction import predict_execution
from tilewright.simulator.search.grid_mapping import GridRequest

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
RESHARDED = """workload:
  rank_sizes: {M: 12, K: 10, N: 8}
  bits_per_value: {All: 16}
  persistent_tensors: A | B
  n_instances: 3
  einsums: ["H[k, n] = A[k, m] * X[m, n]", "Z[k, n] = B[k, n] * H[k, n]"]
"""


def compare(arch: Arch, workload: Workload, mapping: Mapping, machine: str) -> int:
    """Compare a prediction with the execution; return the number of exchanges."""
    settings = ExecutionSettings(machine=machine)
    predicted = predict_execution(arch, workload, mapping, settings)
    run = execute(arch, workload, mapping, settings=settings)
    assert predicted.counts == run.counts
    assert predicted.lower_bound_cycles == run.lower_bound_cycles <= run.cycles
    assert predicted.latency <= run.latency
    assert {p.name for p in predicted.programs} == {r.name for r in run.runs}
    ran = {key: joule for done in run.runs for key, joule in done.energy_by.items()}
    for program in predicted.programs:
        for key, joule in program.energy_by.items():
            if key.endswith("/leak"):
                assert joule <= ran[key]
            else:
                assert joule == ran[key]
    return len(run.exchanges)


@pytest.mark.parametrize("seed", [*range(6), *at_night(*range(6, 12))])
def test_predictions_of_drawn_mappings_and_pipelines(seed: int) -> None:
    case, machine = random_pipeline(seed), MACHINES[seed % 2]
    for mapping in (case.mapping, case.in_sequence()):
        compare(case.arch, case.workload, mapping, machine)


def test_predictions_of_a_stencil_with_halos() -> None:
    arch, workload = cascade_arch(4, 4), cascade_workload("smoothing", m=12, n=12)
    answer = map_on_grid(arch, workload)
    assert compare(arch, workload, answer.mapping, MACHINES[0]) == 1


def test_predictions_of_a_reshard() -> None:
    inside = {"Host.tensors": {"keep": "X | Z", "may_keep": "Nothing"}}  # H stays
    arch, workload = cascade_arch(4, 2).with_values(inside), load_workload(RESHARDED)
    shares = {"H": GridConstraints(x="k", y="m"), "Z": GridConstraints(x="n", y="k")}
    answer = map_on_grid(arch, workload, GridRequest(constraints=shares))
    assert compare(arch, workload, answer.mapping, MACHINES[0]) == 1
