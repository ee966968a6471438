"""All mappings with all orders of the loops on a tile: none takes fewer cycles than the answer."""

from itertools import chain
from math import inf

import pytest
from grid_mappings import einsum_on_grid
from loop_orders import ordered_choices

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_search import GridSearch

FORMS = {
    "product": ("Z[m, n] = A[m, k] * B[k, n]", {"M": 4, "N": 3, "K": 6}),
    "batched product": ("Z[b, m, n] = A[b, m, k] * B[b, k, n]", {"B": 2, "M": 2, "N": 3, "K": 3}),
    "convolution": (
        "Z[n, p] = A[c, H: p + r] * B[n, c, r]", {"N": 2, "P": 4, "C": 2, "R": 3},
    ),
    "convolution of images": (
        "Z[p, q] = A[H: p + r, W: q + s] * B[r, s]", {"P": 2, "Q": 4, "R": 2, "S": 3},
    ),
    "elementwise": ("Z[m, n] = A[m, n] + B[n, m]", {"M": 6, "N": 4}),
    "largest": ("Z[m] = max(A[m, k, l])", {"M": 4, "K": 3, "L": 2}),
    "distance": ("Z[m, n] = sum(square(A[m, k] - B[n, k]))", {"M": 3, "N": 4, "K": 3}),
}  # fmt: skip
MACHINES = (("wse2-sdk-sim", 16), ("wse3-sdk-sim", 32), ("wse2-sdk-sim", 32), ("wse3-sdk-sim", 16))
GRIDS = ((1, 1), (2, 2), (4, 1))
QUICK = (
    ("product", "wse2-sdk-sim", 16, (1, 1)),
    ("convolution", "wse3-sdk-sim", 32, (1, 1)),
    ("elementwise", "wse2-sdk-sim", 32, (4, 1)),
)
ALL = [
    (form, *machine, grid)
    for form in FORMS
    for grid in GRIDS
    for machine in (MACHINES if grid == (1, 1) else MACHINES[:2])
]


@pytest.mark.parametrize(
    ("form", "machine", "bits", "grid"),
    [
        *QUICK,
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in ALL if case not in QUICK),
    ],
)
def test_no_order_is_better_than_the_answer(
    form: str, machine: str, bits: int, grid: tuple[int, int]
) -> None:
    """Bounds of families and plans are not above the cycles of any."""
    text, sizes = FORMS[form]
    flat, einsum = einsum_on_grid(text, sizes, grid, bits=bits)
    settings = ExecutionSettings(machine=machine)
    space = GridMapspace(grid_of(flat), einsum)
    candidates = Candidates.unbounded("latency", settings, flat, space)
    further = space.further_shares(inf, 1 << 20)
    assert further is not None
    least = inf
    for family in chain.from_iterable(map(space.families_of, (*space.shares(), *further))):
        for choice in ordered_choices(flat, space, family):
            try:
                bound = candidates.least_cycles(choice)
                cycles = candidates.simulated_cycles(choice)
            except (InfeasibleMapping, ProgramError):
                continue
            least = min(least, cycles)
            assert candidates.quick.cycles(family) <= cycles, choice
            assert bound <= cycles, choice
    found = GridSearch(settings=settings).run(flat, einsum)
    assert found.certificate.is_optimal
    assert found.execution.cycles == least
