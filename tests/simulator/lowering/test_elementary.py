"""Elementary functions of scalar instructions, run on the machine beside numpy in float64."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from grid_mappings import HARDWARE
from scipy.special import expit

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.space_time import space_time
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import execute_einsum
from tilewright.simulator.lowering.elementary import ROUNDINGS

Floats = npt.NDArray[np.float64]
UNIT = 2.0**-24


def on_the_machine(function: str, values: Floats) -> tuple[Floats, Floats]:
    """Return the arguments in f32, and the machine's values of a function."""
    text = (
        f"workload:\n  rank_sizes: {{M: {len(values)}}}\n  bits_per_value: {{All: 32}}\n"
        f'  einsums:\n  - {{einsum: "Z[m] = {function}(A[m])", '
        "renames: {input: A, output: Z, weight: Nothing}}\n"
    )
    workload = load_workload(load_document("sweep.yaml", text=text))
    einsum = workload.einsums[0]
    flat = flatten(load_arch(HARDWARE), workload.scope(einsum.name))[0]
    space = GridMapspace(grid_of(flat), einsum)
    mapping = space.mapping_of(space.members(next(iter(space.families())))[0])
    arguments = values.astype(np.float32)
    run = execute_einsum(space_time(flat, einsum, mapping), operands={"A": arguments})
    return arguments.astype(np.float64), run.output


@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        ("log", np.log, np.exp(np.linspace(-80, 80, 2000))),
        ("log", np.log, np.linspace(0.5, 2, 2000)),
        ("sigmoid", expit, np.linspace(-300, 300, 2000)),
        ("sigmoid", expit, np.linspace(-12, 12, 2000)),
        ("tanh", np.tanh, np.linspace(-9, 9, 2000)),
    ],
)
def test_the_error_is_within_the_stated_roundings(
    function: str, exact: Callable[[Floats], Floats], values: Floats
) -> None:
    arguments, found = on_the_machine(function, values)
    expected = exact(arguments)
    assert np.all(np.abs(found - expected) <= ROUNDINGS * UNIT * (1 + np.abs(expected)))


def test_exp_errs_by_a_relative_amount_and_ends_in_zero() -> None:
    arguments, found = on_the_machine("exp", np.linspace(-87, 88, 4000))
    expected = np.exp(arguments)
    assert np.all(np.abs(found - expected) <= ROUNDINGS * UNIT * expected)
    assert np.all(on_the_machine("exp", np.linspace(-200, -150, 8))[1] == 0)
