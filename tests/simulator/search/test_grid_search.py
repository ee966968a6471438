"""The search on a grid: its answer is the least of all executed mappings of the mapspace."""

from dataclasses import replace
from itertools import chain, product
from math import inf

import pytest
from explore import at_night
from grid_mappings import HARDWARE, einsum_workload, grid_arch, typed_workload
from loop_orders import ordered_choices

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.grid_search import GridObjective, GridSearch

CONSTRAINTS = {
    "matrix times vector": GridConstraints(),
    "matrix product": GridConstraints(x="k", tile="m"),
    "elementwise sum": GridConstraints(y="m"),
    "convolution": GridConstraints(),
    "largest of rows": GridConstraints(),
}


QUICK = ("largest of rows",)


def everything(form: str, settings: ExecutionSettings) -> list[tuple[float, float]]:
    """Execute all mappings, with any division of the work and any order of the loops on a tile.

    Return (latency, energy) of each.
    """
    flat, einsum = grid_arch(form, 32, 2, 2), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum, CONSTRAINTS[form])
    results = []
    further = space.further_shares(inf, 1 << 20)
    assert further is not None
    for family in chain.from_iterable(map(space.families_of, (*space.shares(), *further))):
        for choice in ordered_choices(flat, space, family):
            try:
                read = space_time(flat, einsum, space.mapping_of(choice))
                run = execute_einsum(read, settings)
            except InfeasibleMapping:
                continue
            results.append((run.latency, run.energy))
    return results


@pytest.mark.parametrize("channels", [60, 1])
@pytest.mark.parametrize("form", [*QUICK, *at_night(*sorted(CONSTRAINTS.keys() - QUICK))])
def test_the_answer_is_the_least_of_all(form: str, channels: int) -> None:
    settings = ExecutionSettings(overrides={"border_channels": channels})
    values = everything(form, settings)
    flat, einsum = grid_arch(form, 32, 2, 2), einsum_workload(form).einsums[0]
    goals: dict[GridObjective, float] = {
        "latency": min(latency for latency, _ in values),
        "energy": min(energy for _, energy in values),
        "edp": min(latency * energy for latency, energy in values),
    }
    for objective, least in goals.items():
        search = GridSearch(objective=objective, constraints=CONSTRAINTS[form], settings=settings)
        found = search.run(flat, einsum)
        assert found.value == pytest.approx(least, rel=1e-12)
        certificate = found.certificate
        assert certificate.is_optimal
        assert certificate.executed + certificate.excluded <= len(values)
        assert "shares of least work" not in {limit.name for limit in certificate.restrictions}


REGISTERS = (
    "Z[] = A[k] * B[k]",
    "Z[m] = A[m, k] * B[m, k]",
    "Z[m] = sum(square(A[m, k] - B[k]))",
    "Z[m] = A[m, k] * B[k]",
)


@pytest.mark.parametrize("integers", ["Nothing", "All"])
@pytest.mark.parametrize("formula", REGISTERS)
def test_no_other_use_of_the_register_is_better(formula: str, integers: str) -> None:
    """Each input in the register, or none, under the shares and tiles of the whole mapspace."""
    text = (
        f"workload:\n  rank_sizes: {{M: 2, K: 12}}\n  bits_per_value: {{All: 32}}\n"
        f"  integers: {integers}\n  einsums: ['{formula}']\n"
    )
    workload = load_workload(load_document("register.yaml", text=text))
    (einsum,) = workload.einsums
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 1})
    flat = grid_path(arch, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    latencies = []
    for family, scalar in product(space.families(), (None, "A", "B")):
        mapping = space.mapping_of(GridChoice(replace(family, scalar=scalar), "chain"))
        latencies.append(execute_einsum(space_time(flat, einsum, mapping)).latency)
    found = GridSearch().run(flat, einsum)
    assert found.certificate.is_optimal
    assert found.value <= min(latencies)


def test_a_limit_leaves_a_stated_gap() -> None:
    form = "matrix product"
    flat, einsum = grid_arch(form, 32, 4, 4), einsum_workload(form).einsums[0]
    seen: list[int] = []
    search = GridSearch(most_executions=1, on_progress=lambda n, *_: seen.append(n))
    found, best = search.run(flat, einsum), GridSearch().run(flat, einsum)
    assert seen == [1]
    assert found.certificate.executed == 1
    assert found.certificate.bound <= best.value <= found.value
    assert 0 <= found.gap < 1


def test_nothing_that_fits_names_the_reasons() -> None:
    form = "matrix product"
    flat, einsum = grid_arch(form, 32, 1, 1), einsum_workload(form).einsums[0]
    settings = ExecutionSettings(overrides={"sram_reserved_bytes": 49_100})
    with pytest.raises(
        NoFeasibleMapping, match=r"the grid; \d+ cannot be built: SRAM .* too small"
    ):
        GridSearch(settings=settings).run(flat, einsum)


def test_tiles_go_round_rings_where_that_is_best() -> None:
    """Least energy of a product whose operands lie in the elements, too large to lie there whole:
    both go round rings, and no word enters (theory/grid.md §11)."""
    text = (
        "workload:\n  rank_sizes: {M: 32, N: 32, K: 32}\n  bits_per_value: {All: 32}\n"
        "  persistent_tensors: A | B\n  einsums: ['C[m, n] = A[m, k] * B[k, n]']\n"
    )
    workload = load_workload(load_document("product.yaml", text=text))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 4, "variables.GridY": 4})
    flat, einsum = grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]
    settings = ExecutionSettings(overrides={"sram_reserved_bytes": 49152 - 1500})
    wanted = GridConstraints(x="n", y="m")
    found = GridSearch(objective="energy", constraints=wanted, settings=settings).run(flat, einsum)
    assert found.certificate.is_optimal
    assert {(t.name, t.shift) for t in found.execution.plan.read.shifted} == {
        ("A", "X"),
        ("B", "Y"),
    }
    assert not any("Host/A" in key or "Host/B" in key for key in found.execution.counts)


def test_a_missing_instruction_is_not_blamed_on_constraints() -> None:
    workload = typed_workload("exponential", "i32", "i32")
    flat = grid_path(load_arch(HARDWARE), workload, workload.einsums[0])
    with pytest.raises(NoFeasibleMapping, match="no instructions for exp of i32") as error:
        GridSearch().run(flat, workload.einsums[0])
    assert "another number type" in str(error.value)
    assert "constraints" not in str(error.value)
