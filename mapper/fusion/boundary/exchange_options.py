"""The memories on chip in which Einsums may exchange tensors, from what these may keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.templates.spatial_choices import free_variables, lane_choices
from tilewright.mapper.workload.einsum import Einsum

MAX_SPATIAL_CHOICES = 200  # ways to deal lanes above a third memory: each has templates of its own
FEW_SPATIAL_CHOICES = 4  # where a memory above may keep the tensor, too
Run = tuple[Einsum, FlatArch]


def memories_of_tensors(runs: Sequence[Run], deeper: bool) -> Mapping[str, tuple[str, ...]]:
    """Return the memories below the outermost one in which Einsums may exchange each tensor.

    Those that all Einsums see, none of an Array from the third on, and none there below lanes that
    may be dealt in many ways, which are fewer if a memory above may keep the tensor. `deeper`: not
    the second one only.
    """
    reached = _memories_seen_by_all(runs)[1 : None if deeper else 2]
    found: dict[str, tuple[str, ...]] = {}
    for tensor in dict.fromkeys(tensor for einsum, _ in runs for tensor in einsum.tensors):
        places: list[str] = []
        for memory, ways in reached:
            if ways <= (FEW_SPATIAL_CHOICES if places else MAX_SPATIAL_CHOICES) and _may_exchange(
                runs, tensor, memory
            ):
                places.append(memory)
        found[tensor] = tuple(places)
    return found


def _may_exchange(runs: Sequence[Run], tensor: str, memory: str) -> bool:
    """Tell whether each Einsum that uses a tensor may keep it in a memory, and in none above it, on
    the way to some compute."""
    users = {einsum.name for einsum, _ in runs if tensor in einsum.tensors}
    ways = ((einsum, flat) for einsum, flat in runs if tensor in einsum.tensors)
    able = {einsum.name for einsum, flat in ways if _keeps_first(flat, tensor, memory)}
    return len(users) > 1 and able == users


def _keeps_first(flat: FlatArch, tensor: str, memory: str) -> bool:
    kept: dict[str, frozenset[str]] = {}
    able = False
    for component in flat.components:
        if not isinstance(component, Memory):
            continue
        rules = component.tensors.resolve(kept)
        forced = rules.keep | rules.back
        if component.name == memory:
            able = tensor in forced | rules.may_keep
        elif tensor in (rules.back if able else forced):  # `back` is kept in no memory above
            return False
        kept[component.name] = frozenset({tensor} if component.name == memory else ())
    return able


def _memories_seen_by_all(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """Return the memories that are the same on all ways, and in how many ways the lanes above may
    be dealt; of the outermost two in one."""
    found: list[tuple[str, int]] = []
    for several in zip(*(_memories_on_path(*run) for run in runs), strict=False):
        if len({(memory.name, memory.size) for memory, _ in several}) > 1:
            break
        found.append((several[0][0].name, max(ways for _, ways in several)))
    return [(name, ways if place > 1 else 1) for place, (name, ways) in enumerate(found)]


def _memories_on_path(einsum: Einsum, flat: FlatArch) -> Iterator[tuple[Memory, int]]:
    """Yield the memories of a path above any Array, with the ways to deal the lanes above."""
    ways, number = 1, 0
    for component in flat.components:
        if component.physical_fanout > 1 and number > 1:
            return
        for dim in component.spatial if component.own_fanout > 1 else ():
            variables = free_variables(dim, einsum, frozenset())
            ways *= len(lane_choices(dim, einsum, variables, dim.loop_bounds))
        if isinstance(component, Memory):
            yield component, ways
            number += 1
