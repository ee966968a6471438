"""Bits that each holder occupies in one instance of its memory (theory/model.md §4.1, §4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.model.paths.nest import ReservationItem, TensorNest
from tilewright.mapper.model.paths.path import Hold, Path
from tilewright.mapper.model.paths.view import Count, lowest_terms


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The tile of one tensor that is reserved in one instance of a memory.

    `component`, `tensor`: names. `bits`: of the tile; `width`: bits per value. `origin`: number of
    the holder's node in the mapping. `loops_above`: loops above the place from which the tile
    needs capacity, -1 for a persistent tensor. `persistent`: it stays for all instances of the
    Einsum. `backing`: the outermost holder of the tensor. `key`: "einsum/memory/tensor".
    """

    component: str
    tensor: str
    bits: Count
    width: Count
    origin: int
    loops_above: int
    persistent: bool
    backing: bool
    key: str


@dataclass(frozen=True, slots=True)
class PathOccupancies:
    """The path of one Einsum, and the tiles that its tensors reserve in memories.

    `path`: its nodes from the outermost down to the Compute; `occupancies`: one per tensor and
    memory.
    """

    path: Path
    occupancies: tuple[Occupancy, ...]


def occupancies(nest: TensorNest) -> list[Occupancy]:
    """Return the tile that a tensor reserves in each memory that holds it, outermost first.

    `nest`: the loop nest as this tensor sees it. Tolls hold nothing. A persistent tensor counts
    once per instance of the Einsum.
    """
    tensor, path, loops, view = nest.tensor, nest.path, nest.loops, nest.view
    shape = dict(view.einsum.bounds)
    occupancies_found: list[Occupancy] = []
    loops_above = 0
    top = next(item for item in nest.items if isinstance(item, int) and item not in loops)
    for item in nest.items:
        if not isinstance(item, ReservationItem):
            if item in loops:
                shape[loops[item].variable] = loops[item].largest
                loops_above += 1
            continue
        step = path.steps[item.holder]
        assert isinstance(step, Hold)
        holder = view.holder(step.component, tensor.name)
        if holder.is_toll:
            continue
        bits = lowest_terms(tensor.tile(shape) * holder.bits_per_value)
        found = Occupancy(
            step.component,
            tensor.name,
            bits * view.einsum.n_instances if step.persistent else bits,
            holder.bits_per_value,
            path.origins[item.holder],
            -1 if step.persistent else loops_above,
            step.persistent,
            item.holder == top,
            holder.usage_key,
        )
        occupancies_found.append(found)
    return occupancies_found
