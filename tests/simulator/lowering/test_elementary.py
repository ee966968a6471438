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
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import execute_einsum
from tilewright.simulator.lowering.elementary import ROUNDINGS

Floats = npt.NDArray[np.float64]
UNIT = {16: 2.0**-11, 32: 2.0**-24}
LEAST = {16: 2.0**-25, 32: 0.0}
"""Half of the least number above 0 of f16; results near that of f32 are not looked at."""


def on_the_machine(function: str, values: Floats, bits: int = 32) -> tuple[Floats, Floats]:
    """Return the arguments in f32 or f16, and the machine's values of a function."""
    text = (
        f"workload:\n  rank_sizes: {{M: {len(values)}}}\n  bits_per_value: {{All: {bits}}}\n"
        f'  einsums:\n  - {{einsum: "Z[m] = {function}(A[m])", '
        "renames: {input: A, output: Z, weight: Nothing}}\n"
    )
    workload = load_workload(load_document("sweep.yaml", text=text))
    einsum = workload.einsums[0]
    flat = flatten(load_arch(HARDWARE), workload.scope(einsum.name))[0]
    space = GridMapspace(grid_of(flat), einsum)
    mapping = space.mapping_of(space.members(next(iter(space.families())))[0])
    arguments = values.astype(f"f{bits // 8}")
    run = execute_einsum(space_time(flat, einsum, mapping), operands={"A": arguments})
    return arguments.astype(np.float64), run.output.astype(np.float64)


@pytest.mark.parametrize("bits", [16, 32])
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
    function: str, exact: Callable[[Floats], Floats], values: Floats, bits: int
) -> None:
    if bits == 16 and function == "log":
        values = np.unique(np.clip(values, 2.0**-14, 65504))
    arguments, found = on_the_machine(function, values, bits)
    expected = exact(arguments)
    assert np.all(np.abs(found - expected) <= ROUNDINGS * UNIT[bits] * (1 + np.abs(expected)))


@pytest.mark.parametrize(("bits", "least", "most"), [(16, -17, 11), (32, -87, 88)])
def test_exp_errs_by_a_relative_amount(bits: int, least: int, most: int) -> None:
    arguments, found = on_the_machine("exp", np.linspace(least, most, 4000), bits)
    expected = np.exp(arguments)
    allowed = ROUNDINGS * UNIT[bits] * expected + LEAST[bits]
    assert np.all(np.abs(found - expected) <= allowed)


@pytest.mark.parametrize("bits", [16, 32])
def test_exp_of_masked_values_is_zero_and_of_large_ones_infinite(bits: int) -> None:
    """A mask of an attention is a large negative number."""
    masks = -np.array([200.0, 1e4, 6e4, 1e9, 3e30, np.inf][: 3 if bits == 16 else 6])
    masks = np.append(masks, -np.inf)
    assert np.all(on_the_machine("exp", masks, bits)[1] == 0)
    assert np.all(on_the_machine("exp", -masks, bits)[1] == np.inf)
    for function, ends in (("sigmoid", (0, 1)), ("tanh", (-1, 1))):
        for sign, end in zip((1, -1), ends, strict=True):
            assert np.all(on_the_machine(function, sign * masks, bits)[1] == end)
