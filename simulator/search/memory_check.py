"""Whether any mapping of a workload fits the elements of a grid, before one is bounded.

A path through the Einsums sets words of an element's memory aside for the persistent tensors of all
of them, and each Einsum's other tiles have the rest. The least words that this takes follow from
the sizes of the tiles (theory/grid.md §8). What does not fit by them has no mapping; what does may
still have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.exchange import intermediates
from tilewright.simulator.search.bounds.quick_bound import QuickBound
from tilewright.simulator.search.grid_mapping import GridRequest, grid_paths
from tilewright.simulator.search.grid_search import no_mapping

BYTES: Final = 2
"""Of a word of an element's memory."""
Sizes = npt.NDArray[np.int64]
"""By family of mappings of one Einsum, the words of persistent tensors, and those of its tiles."""


def check_memory(arch: Arch, workload: Workload, request: GridRequest) -> None:
    """Raise NoFeasibleMapping if no mapping of a workload fits the elements of a grid.

    The text says which Einsum takes too much of an element's memory, or that all together do.
    Raises InfeasibleMapping for constraints that no mapping obeys.
    """
    flats = grid_paths(arch, workload)
    bounds = {
        einsum.name: list(_quick_bounds(flats[einsum.name], einsum, workload, request))
        for einsum in workload.einsums
    }
    if not all(each[0].has_exact_numbers for each in bounds.values()):
        return
    free = min(each[0].free_words for each in bounds.values())
    # Mostly one of the mappings that exchange nothing fits.
    for most in (1, None):
        sizes = {name: _sizes(each[:most]) for name, each in bounds.items()}
        if all(map(len, sizes.values())) and least_words([*sizes.values()]) <= free:
            return
    for einsum in workload.einsums:
        if not len(sizes[einsum.name]):
            _raise_reason(einsum, bounds[einsum.name][0])
    raise _too_large(sizes, free)


def least_words(sizes: Sequence[Sizes]) -> int:
    """Return the least words that one family of each Einsum needs together.

    They are the sum of those of the persistent tensors, and the most of the tiles of any of them.
    `sizes`: by Einsum, of all its families.
    """
    most = np.unique(np.concatenate([each[:, 1] for each in sizes]))
    total = most.copy()
    for each in sizes:
        by_tiles = each[np.argsort(each[:, 1], kind="stable")]
        fitting = np.searchsorted(by_tiles[:, 1], most, side="right")
        least = np.concatenate([[_NONE], np.minimum.accumulate(by_tiles[:, 0])])
        total = np.minimum(total + least[fitting], _NONE)
    return int(total.min())


_NONE: Final = 1 << 60
"""More words than any element has: where no family has so small tiles."""


def _too_large(sizes: Mapping[str, Sizes], free: int) -> NoFeasibleMapping:
    """Return the error for families of which none fit `free` words of an element."""
    beyond = {name: least_words([each]) for name, each in sizes.items()}
    name = max(beyond, key=lambda name: beyond[name] > free)
    what, least = f"no mapping of {name} fits the grid: its tensors take", beyond[name]
    if least <= free:
        what = (
            "no mapping fits the grid: the persistent tensors of all Einsums, and the tiles of one,"
            " take"
        )
        least = least_words([*sizes.values()])
    return NoFeasibleMapping(
        f"{what} at least {BYTES * least:,} bytes of an element, of which {BYTES * free:,} are"
        " free",
        instead="more elements or smaller sizes, or fewer constraints",
    )


def _raise_reason(einsum: Einsum, plain: QuickBound) -> None:
    """Raise the error for an Einsum of which the mapspace has no mapping."""
    next(plain.space.families(), None)
    raise no_mapping(einsum, Counter())


def _quick_bounds(
    flat: FlatArch, einsum: Einsum, workload: Workload, request: GridRequest
) -> Iterator[QuickBound]:
    """Yield what bounds the families of an Einsum, those that exchange nothing first.

    With any tensors that may stay in the elements, and all kinds of mapspaces that a search tries.
    """
    grid = grid_of(flat)
    profile = request.settings.profile(grid)
    constraints = request.constraints.get(einsum.name, NO_CONSTRAINTS)
    between = [t for t in dict.fromkeys(einsum.tensors) if t in intermediates(workload)]
    staying = [frozenset(c) for n in range(len(between) + 1) for c in combinations(between, n)]
    for kind in ("", "nests", "wide"):
        for tensors in staying:
            space = GridMapspace(
                grid,
                einsum,
                constraints,
                tensors,
                nests=kind == "nests",
                is_wide=kind == "wide",
                has_parts=bool(tensors) and request.objective != "latency",
            )
            yield QuickBound(space, flat, profile)


def _sizes(bounds: Sequence[QuickBound]) -> Sizes:
    """Return the sizes of the families of some mapspaces."""
    return np.concatenate([np.zeros((0, 2), dtype=np.int64), *map(_sizes_of, bounds)])


def _sizes_of(bound: QuickBound) -> Sizes:
    """Return the sizes of a mapspace's families; none where no mapping obeys its constraints."""
    try:
        families = list(bound.space.families())
    except InfeasibleMapping:
        return np.zeros((0, 2), dtype=np.int64)
    words, persistent = bound.words_together(families)
    return np.stack([persistent, words - persistent], axis=1)
