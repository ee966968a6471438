"""Scores of runs: the check against numpy, energies by hand, engines."""

import numpy as np
import pytest
from grids import candidate, matvec

from tilewright.simulator.cost_model import (
    SimulatedCostModel,
    WrongResult,
    action_energies,
    check_result,
    leak_energies,
    random_operands,
    spread_elements,
)
from tilewright.simulator.isa.machine_errors import MachineError


def test_elements_are_spread_evenly() -> None:
    grid = candidate(matvec(8, 24), 4, 2, shard_x="k", shard_y="m")
    assert spread_elements(grid, None) is True
    assert spread_elements(grid, 0) == ()
    assert spread_elements(grid, 1) == ((0, 0),)
    assert spread_elements(grid, 2) == ((0, 0), (1, 3))
    assert spread_elements(grid, 3) == ((0, 0), (0, 3), (1, 3))
    assert len(spread_elements(grid, 100)) == 8  # type: ignore[arg-type]


def test_operands_depend_on_seed_and_name_only() -> None:
    einsum = candidate(matvec(4, 6), 1, 1).einsum
    first, again, other = (random_operands(einsum, seed) for seed in (3, 3, 4))
    assert {name: values.shape for name, values in first.items()} == {"W": (4, 6), "x": (6,)}
    for name, values in first.items():
        assert np.array_equal(values, again[name])
        assert not np.array_equal(values, other[name])


def test_an_output_within_the_rounding_bound_passes_and_any_other_is_an_error() -> None:
    """gamma_n * sum |a| |b| with n = 6 products and the sum: an error of one bit is within it."""
    einsum = candidate(matvec(4, 6), 1, 1).einsum
    operands = random_operands(einsum, 0)
    inputs = [operands[access.tensor] for access in einsum.inputs]
    matrix = next(values for values in inputs if values.ndim == 2)
    vector = next(values for values in inputs if values.ndim == 1)
    exact = (matrix.astype(np.float64) @ vector.astype(np.float64)).astype(np.float32)
    assert check_result(einsum, operands, exact) < 1
    assert check_result(einsum, operands, np.nextafter(exact, np.float32(np.inf))) <= 1
    wrong = exact.copy()
    wrong[2] += np.float32(1e-3)
    with pytest.raises(WrongResult, match=r"at \(2,\)"):
        check_result(einsum, operands, wrong)


def test_energy_is_counts_times_the_energies_of_actions() -> None:
    grid = candidate(matvec(8, 24), 2, 2, shard_x="k", shard_y="m")
    name = grid.einsum.name
    memory = grid.grid.memory
    tensor = grid.output.name
    read = memory.action("read")
    counts = {
        f"{name}/{memory.name}/{tensor}/read": 10,
        f"{name}/{grid.grid.compute.name}/None/compute": 7,
        f"{name}/fabric/None/hop": 0,
    }
    energies = action_energies(grid, counts)
    assert energies[f"{name}/{memory.name}/{tensor}/read"] == pytest.approx(
        10 * read.energy / float(read.values_per_action[tensor])
    )
    compute = grid.grid.compute.action("compute").energy
    assert energies[f"{name}/{grid.grid.compute.name}/None/compute"] == pytest.approx(7 * compute)
    once, twice = leak_energies(grid, 1.0), leak_energies(grid, 2.0)
    assert twice == {key: 2 * value for key, value in once.items()}


def test_engines_agree_on_a_score_but_for_their_name() -> None:
    grid = candidate(matvec(8, 24), 2, 2, shard_x="k", shard_y="m")
    slow, fast = (SimulatedCostModel(engine=name).score(grid) for name in ("reference", "fast"))
    assert slow.metrics == fast.metrics
    assert slow.counts == fast.counts
    assert (slow.engine, fast.engine) == ("reference (asked for)", "fast, with certificate")


@pytest.mark.parametrize("engine", ["auto", "slow", ""])
def test_another_engine_is_refused(engine: str) -> None:
    with pytest.raises(MachineError, match="no such engine"):
        SimulatedCostModel(engine=engine).score(None)  # type: ignore[arg-type]
