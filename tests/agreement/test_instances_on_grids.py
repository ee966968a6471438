"""Einsums that run several times, each with other data: counts, energy and latency times that."""

from dataclasses import replace

import pytest
from cascades import cascade_arch
from explore import at_night
from pipeline_cases import example

from tilewright.arch.files.source import load_document
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.fronts.grid_front import GridFrontSearch
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

LAYER = """workload:
  rank_sizes: {{M: 7, K: 10, N: 6}}
  bits_per_value: {{All: 32}}
  persistent_tensors: W
  einsums:
  - einsum: "H[m, n] = X[m, k] * W[k, n]"
    renames: {{input: X, weight: W, output: H}}
    n_instances: {first}
  - {{einsum: "Z[m, n] = relu(H[m, n])", n_instances: {second}}}
"""
ARCH = cascade_arch(3, 2)


def layer(first: int, second: int, text: str = LAYER) -> Workload:
    text = text.format(first=first, second=second)
    return load_workload(load_document("layer.yaml", text=text))


def product(instances: int, text: str = LAYER) -> Workload:
    whole = layer(instances, instances, text)
    return replace(whole, einsums=whole.einsums[:1])


def search(workload: Workload, objective: str = "latency") -> GridMapping:
    return map_on_grid(ARCH, workload, GridRequest(objective=objective))  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", ["latency", *at_night("energy")])
def test_all_figures_are_those_of_an_instance_times_their_number(objective: str) -> None:
    single, several = search(layer(1, 1), objective), search(layer(5, 5), objective)
    a, b = single.execution, several.execution
    assert several.mapping == single.mapping
    assert several.certificate.is_optimal
    assert b.cycles == 5 * a.cycles
    assert [run.instance_cycles for run in b.einsums] == [run.cycles for run in a.einsums]
    assert b.counts == {key: 5 * number for key, number in a.counts.items()} == b.predicted
    assert b.lower_bound_cycles == 5 * a.lower_bound_cycles
    for metric in ("latency", "energy"):
        assert getattr(b, metric) == pytest.approx(5 * getattr(a, metric), rel=1e-12)
    assert several.value == pytest.approx(getattr(b, objective), rel=1e-12)
    again = execute(ARCH, layer(5, 5), several.mapping)
    assert (again.cycles, again.counts) == (b.cycles, b.counts)
    assert [run.utilization for run in b.einsums] == [run.utilization for run in a.einsums]


def test_the_analytical_model_multiplies_the_same() -> None:
    mapping = search(product(1)).mapping
    a, b = (evaluate(ARCH, product(number), mapping) for number in (1, 3))
    assert b.energy == pytest.approx(3 * a.energy)
    assert b.latency == pytest.approx(3 * a.latency)
    x, y = (execute(ARCH, product(number), mapping) for number in (1, 3))
    assert (y.energy / x.energy, y.latency / x.latency) == pytest.approx((3, 3))


def test_weights_of_all_instances_are_in_the_elements() -> None:
    words = ARCH.with_values({"SRAM.size": (4176 + 700) * 8})
    mapping = search(product(1)).mapping
    used = [execute(words, product(number), mapping).einsums[0].sram_bits for number in (1, 2)]
    assert used[1] > used[0]
    with pytest.raises(InfeasibleMapping, match="the tiles need"):
        execute(words, product(20), mapping)
    answer = map_on_grid(words, product(20), GridRequest())  # with weights that come from outside
    assert answer.execution.einsums[0].sram_bits // 8 <= 700


def test_a_tensor_between_different_numbers_goes_through_the_memory_outside() -> None:
    answer = search(layer(2, 3))
    assert answer.certificate.is_optimal
    assert not answer.execution.exchanges
    assert sum(n for key, n in answer.execution.counts.items() if "Z/Host/H/read" in key) == 126
    with pytest.raises(InfeasibleMapping, match="different n_instances") as refused:
        execute(ARCH, layer(2, 3), search(layer(1, 1)).mapping)
    assert "H: 2, Z: 3" in str(refused.value)
    inside = ARCH.with_values({"Host.tensors.keep": "X", "Host.tensors.may_keep": "X | Z"})
    with pytest.raises((NoFeasibleMapping, InfeasibleMapping)):
        map_on_grid(inside, layer(2, 3), GridRequest())


def test_a_front_has_all_instances() -> None:
    small = LAYER.replace("M: 7, K: 10, N: 6", "M: 3, K: 4, N: 2")
    single, several = (
        GridFrontSearch().run(grid_path(ARCH, work, work.einsums[0]), work.einsums[0])
        for work in (product(1, small), product(4, small))
    )
    assert several.certificate.is_complete
    assert min(p.execution.cycles for p in several.points) == 4 * min(
        p.execution.cycles for p in single.points
    )


def test_a_pipeline_runs_as_often() -> None:
    case = example("two layers", 4)

    def times(*numbers: int) -> Workload:
        einsums = (
            replace(einsum, n_instances=number)
            for einsum, number in zip(case.workload.einsums, numbers, strict=True)
        )
        return replace(case.workload, einsums=tuple(einsums))

    a = execute(case.arch, case.workload, case.mapping)
    b = execute(case.arch, times(*[3] * len(case.workload.einsums)), case.mapping)
    assert b.cycles == 3 * a.cycles
    assert b.counts == {key: 3 * number for key, number in a.counts.items()} == b.predicted
    with pytest.raises(InfeasibleMapping, match="different n_instances"):
        execute(case.arch, times(1, 2, 2), case.mapping)
