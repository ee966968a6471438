"""Leave out the mappings on a grid that break a rule of the architecture.

A grid's mapspace has mappings that the machine can follow, with shares that obey the rules of the
grid's dimensions. The architecture may ask for more: tiles, tensors that are not fetched twice, a
register for some tensors only (docs/files.md).
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.arch.components.components import PlacementRules, TensorHolder
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.evaluation.broken_rules import placement_broken
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.workload.errors import ForbiddenMapping

BoundOf = Callable[[GridFamily], float]


def bounds_under_rules(bound_of: BoundOf, flat: FlatArch, space: GridMapspace) -> BoundOf:
    """Return a function that bounds families, and refuses those that break a rule.

    `bound_of`: of families that obey; `flat`: path of components to the compute. The function
    raises ForbiddenMapping with the rule. The scheme of a reduction breaks none.
    """
    if not _has_rules(flat, space):
        return bound_of

    def bound(family: GridFamily) -> float:
        choice = GridChoice(family, "chain")
        check_rules(flat, space, choice)
        space_time(flat, space.einsum, space.mapping_of(choice), space.staying)
        return bound_of(family)

    return bound


def check_rules(flat: FlatArch, space: GridMapspace, choice: GridChoice) -> None:
    """Raise ForbiddenMapping for a choice that breaks a rule of the architecture, with the rule."""
    if _has_rules(flat, space):
        conventions, mapping = conventions_called("default"), space.mapping_of(choice)
        for sentence in placement_broken(space.einsum, flat, mapping, conventions):
            raise ForbiddenMapping(sentence)


def _has_rules(flat: FlatArch, space: GridMapspace) -> bool:
    """Return whether an architecture forbids mappings that the mapspace has."""
    tensors = frozenset(space.einsum.tensors)
    for dim in flat.component(space.grid.fanout).spatial:
        if tensors - dim.may_reuse:
            return True
    held = {space.grid.host.name: tensors, space.grid.memory.name: tensors}
    holders = (part for part in flat.components if isinstance(part, TensorHolder))
    return any(_forbids(holder.name, holder.tensors.resolve(held), space) for holder in holders)


def _forbids(holder: str, rules: PlacementRules, space: GridMapspace) -> bool:
    """Return whether the rules of a holder forbid mappings of the mapspace.

    In it, inputs that are not in the elements before come from the memory outside.
    """
    grid = space.grid
    moves = rules.no_refetch_from_above | rules.no_resend_to_below
    if moves or rules.tile_shape or rules.tensor_order_options:
        return True
    if holder == grid.host.name:
        entering = {a.tensor for a in space.einsum.inputs if not a.persistent} - space.staying
        return bool(entering - rules.may_keep)
    return _forbids_inside(holder, rules, space)


def _forbids_inside(holder: str, rules: PlacementRules, space: GridMapspace) -> bool:
    """Return whether the rules of an element's memory or register forbid mappings.

    So do those of a Toll or of a further memory outside that must keep a tensor: no mapping of a
    grid has a node for it.
    """
    grid, inputs = space.grid, frozenset(access.tensor for access in space.einsum.inputs)
    if holder == grid.memory.name:
        return bool(rules.back or (inputs | space.staying) - rules.may_keep)
    if grid.register is not None and holder == grid.register.name:
        return bool(rules.keep or inputs - rules.may_keep)
    return bool(rules.keep & frozenset(space.einsum.tensors))
