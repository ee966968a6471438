"""Find the memories in which Einsums may exchange each tensor, from what memories may keep.

Every user of a tensor must be able to keep it there first: no memory above may have to keep it
(theory/fusion.md §1.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath
from tilewright.mapper.templates.spatial_choices import free_variables, lane_choices

MAX_SPATIAL_CHOICES = 200  # above a third memory: each choice has templates of its own
FEW_SPATIAL_CHOICES = 4  # where a memory above may keep the tensor, too


class MemoryOnPath(NamedTuple):
    """Pair a memory with the number of ways to use the lanes of all fanouts above it on a path.

    A way chooses how many lanes each rank variable takes in each dimension (a spatial choice).
    """

    memory: Memory
    spatial_choices: int


def memories_of_tensors(paths: Sequence[EinsumPath], deeper: bool) -> Mapping[str, tuple[str, ...]]:
    """Return, for each tensor, the memories on chip in which its users may exchange it.

    On chip means below the outermost memory. All Einsums must see such a memory with the same name
    and size, and every user of the tensor must be able to keep it there with no memory above that
    must keep it. `paths`: each Einsum with the components down to its compute. `deeper`: look below
    the second memory too; then a memory may not be in an Array, and the fanouts above it may have
    at most MAX_SPATIAL_CHOICES spatial choices (FEW_SPATIAL_CHOICES if a memory above may hold the
    tensor), because each choice is searched on its own (theory/fusion.md §1.1). The result has an
    entry for every tensor, empty for one that cannot be exchanged; the names are outermost first.
    """
    memories = _memories_seen_by_all(paths)[1 : None if deeper else 2]
    using: dict[str, list[EinsumPath]] = {}
    for path in paths:
        for tensor in dict.fromkeys(path.einsum.tensors):
            using.setdefault(tensor, []).append(path)
    memories_of: dict[str, tuple[str, ...]] = {}
    for tensor, several in using.items():
        names: list[str] = []
        for memory, choices in memories:
            limit = FEW_SPATIAL_CHOICES if names else MAX_SPATIAL_CHOICES
            if choices <= limit and _may_exchange(several, tensor, memory.name):
                names.append(memory.name)
        memories_of[tensor] = tuple(names)
    return memories_of


def _may_exchange(using: Sequence[EinsumPath], tensor: str, memory: str) -> bool:
    """Tell whether two or more Einsums use the tensor and each may keep it first in the memory.

    `using`: the paths of those that do. Each must have one to some compute on which no memory above
    must keep the tensor.
    """
    users = {einsum.name for einsum, _ in using}
    able = {einsum.name for einsum, flat in using if _may_keep_first(flat, tensor, memory)}
    return len(users) > 1 and able == users


def _may_keep_first(flat: FlatArch, tensor: str, memory: str) -> bool:
    """Tell whether the memory may keep the tensor on this path while no memory above it does.

    False, too, if a memory below has the tensor in `back`, because it would have to be the first.
    """
    kept_by_memory: dict[str, frozenset[str]] = {}
    allowed = False
    for component in flat.components:
        if not isinstance(component, Memory):
            continue
        rules = component.tensors.resolve(kept_by_memory)
        forced = rules.keep | rules.back
        if component.name == memory:
            allowed = tensor in forced | rules.may_keep
        elif tensor in (rules.back if allowed else forced):  # `back`: kept in no memory above
            return False
        kept_by_memory[component.name] = frozenset({tensor} if component.name == memory else ())
    return allowed


def _memories_seen_by_all(paths: Sequence[EinsumPath]) -> list[MemoryOnPath]:
    """Return the memories that all paths have in common, from the outermost one down.

    The list ends before the first level at which names or sizes differ. Each memory comes with the
    number of spatial choices above it, the most of any path; the two outermost ones with 1.
    """
    common: list[MemoryOnPath] = []
    for same_level in zip(*(_memories_on_path(path) for path in paths), strict=False):
        if len({(memory.name, memory.size) for memory, _ in same_level}) > 1:
            break
        choices = max(choices for _, choices in same_level) if len(common) > 1 else 1
        common.append(MemoryOnPath(same_level[0].memory, choices))
    return common


def _memories_on_path(path: EinsumPath) -> Iterator[MemoryOnPath]:
    """Yield the memories of a path, outermost first, with the number of spatial choices above each.

    Stops before the first component below the second memory that is itself an Array of instances.
    """
    choices, number = 1, 0
    for component in path.flat.components:
        if component.physical_fanout > 1 and number > 1:
            return
        for dim in component.spatial if component.own_fanout > 1 else ():
            variables = free_variables(dim, path.einsum, frozenset())
            choices *= len(lane_choices(dim, path.einsum, variables, dim.loop_bounds))
        if isinstance(component, Memory):
            yield MemoryOnPath(component, choices)
            number += 1
