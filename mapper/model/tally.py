"""All counts of one Einsum on one path: values moved, operations, steps, occupied bits.

costs.py turns them into joules and seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.components.components import Memory, Toll
from tilewright.arch.errors import Where
from tilewright.mapper.model.conventions import Conventions
from tilewright.mapper.model.copies import no_copy
from tilewright.mapper.model.occupancy.distributed import active_places, spread
from tilewright.mapper.model.occupancy.occupancy import Occupancy, occupancies
from tilewright.mapper.model.paths.loops import PathLoop, loops_of
from tilewright.mapper.model.paths.nest import Lowering, nest_of, reservations
from tilewright.mapper.model.paths.path import Hold, Path
from tilewright.mapper.model.paths.view import Count, EinsumView
from tilewright.mapper.model.traffic.network import Hops
from tilewright.mapper.model.traffic.reuse import Traffic
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError


@dataclass(frozen=True, slots=True)
class EinsumCounts:
    """All counts of one Einsum on its path, for one of its instances.

    `path`, `view`: what was counted. `traffic`: values read and written, per tensor and holder,
    outermost first. `hops`: values times links, per tensor and network. `occupancy`: reserved
    tiles in bits. `used[component, dim]`: instances of a fanout in use. `operations`: points of
    the iteration space, 0 for a copy Einsum. `steps`: operations of the busiest Compute, one after
    the other. `places`: distributed memory to the number of its instances that share the work.
    `lanes`: product of the turns of all spatial loops.
    """

    path: Path
    view: EinsumView
    traffic: tuple[Traffic, ...]
    hops: tuple[Hops, ...]
    occupancy: tuple[Occupancy, ...]
    used: dict[tuple[str, str], Count]
    operations: int
    steps: Count
    places: dict[str, Count]
    lanes: int


def tally(path: Path, view: EinsumView, conventions: Conventions) -> EinsumCounts:
    """Count what one instance of an Einsum reads, writes, sends, computes and occupies.

    `path`: its nodes down to the Compute, with holders of the tensors of `view` only; `view`:
    tables of the Einsum and the components; `conventions`: rules by which to count
    (theory/model.md §3, theory/model.md §4, theory/model.md §6). Raises MappingError if the path
    is no mapping of the Einsum on this architecture, InfeasibleMapping if it uses more instances
    of a fanout than exist. Whether tiles fit is not checked.
    """
    _check_holders(path, view)
    path = conventions.first_tiles(path)
    loops = loops_of(path, view)
    used = _used_instances(path, loops, view, conventions)
    is_copy = view.einsum.is_copy
    shorter, tensors = (conventions.copy if is_copy else no_copy)(path, view)
    if shorter is not path:
        loops = loops_of(shorter, view)
    rules = Lowering(conventions.stops, conventions.sinks, view)
    reserved = reservations(shorter, loops, tensors, rules)
    traffic: list[Traffic] = []
    hops: list[Hops] = []
    occupancy: list[Occupancy] = []
    for tensor in tensors.values():
        nest = nest_of(tensor, shorter, loops, view, reserved)
        traffic += conventions.traffic(nest)
        occupancy += occupancies(nest)
        if view.networks:
            hops += conventions.hops(nest)
    places = _places(loops, used, view, conventions)
    if places:
        occupancy = [spread(tile, places) for tile in occupancy]
    return EinsumCounts(
        shorter,
        view,
        tuple(traffic),
        tuple(hops),
        tuple(occupancy),
        used,
        operations=0 if is_copy else view.einsum.operations,
        steps=0 if is_copy else conventions.steps(loops, view),
        places=places,
        lanes=_lanes(loops),
    )


def _places(
    loops: dict[int, PathLoop],
    used: dict[tuple[str, str], Count],
    view: EinsumView,
    conventions: Conventions,
) -> dict[str, Count]:
    """Return how many instances of each distributed memory work, by the loops over its grid.

    `loops`: the spatial loops; `used`: lanes in use by (component, dimension).
    """
    looped = {(loop.spatial, loop.dim) for loop in loops.values()}
    used_by_loops = {dim: count for dim, count in used.items() if dim in looped}
    return active_places(view, used_by_loops, conventions.places)


def _lanes(loops: dict[int, PathLoop]) -> int:
    lanes = 1
    for loop in loops.values():
        if loop.spatial is not None:
            lanes *= loop.turns
    return lanes


def _used_instances(
    path: Path, loops: dict[int, PathLoop], view: EinsumView, conventions: Conventions
) -> dict[tuple[str, str], Count]:
    used: dict[tuple[str, str], Count] = dict.fromkeys(view.dims, 1)
    for loop in loops.values():
        if loop.spatial is not None:
            used[loop.spatial, loop.dim] *= conventions.used(loop)
    for (component, name), count in used.items():
        dim = view.dims[component, name]
        if count > dim.fanout or count * dim.usage_scale > dim.fanout * (1 + 1e-12):
            scale = f" (times usage_scale {dim.usage_scale:g})" if dim.usage_scale != 1 else ""
            raise InfeasibleMapping(
                f"Einsum {view.einsum.name}: the mapping uses {float(count):g} instances{scale} of "
                f"dimension {name} of {component}, but its fanout is {dim.fanout}",
                where=next(
                    path.where(p)
                    for p, x in loops.items()
                    if (x.spatial, x.dim) == (component, name)
                ),
                value=float(count),
                instead="a larger tile_shape in the spatial loop, or a smaller one in a loop above",
            )
    return used


def _check_holders(path: Path, view: EinsumView) -> None:
    """Raise MappingError unless each tensor has known holders, none twice, in hierarchy order.

    A Toll on top is an error, too.
    """
    seen: dict[str, list[str]] = {name: [] for name in view.tensors}
    for place, step in enumerate(path.steps):
        if not isinstance(step, Hold):
            continue
        _check_holder(place, seen[step.tensor], path, view)
        seen[step.tensor].append(step.component)
    for name, components in seen.items():
        if not components:
            raise MappingError(
                f"Einsum {path.einsum}: tensor {name} is held nowhere",
                where=path.where(),
                value=name,
                instead=f"a Storage of {name} in a Memory above the Compute of {path.einsum}",
            )


def _check_holder(place: int, holders_above: list[str], path: Path, view: EinsumView) -> None:
    step, where = path.steps[place], path.where(place)
    assert isinstance(step, Hold)
    holder_names = [c.name for c in view.flat.components if isinstance(c, Memory | Toll)]
    if step.component not in holder_names:
        raise MappingError(
            f"Einsum {path.einsum}: {step.component!r} is not a Memory or Toll on the way to "
            f"{view.compute.name}",
            where=where,
            value=step.component,
            instead=f"one of: {', '.join(holder_names)}",
        )
    if isinstance(view.component(step.component), Toll) and not holders_above:
        raise MappingError(
            f"Einsum {path.einsum}: Toll {step.component} cannot be the outermost holder of "
            f"{step.tensor}, because it stores nothing",
            where=where,
            instead=f"a Storage of {step.tensor} in a Memory above it",
        )
    _check_kind(step, path, view, where)
    if holders_above and view.index[step.component] <= view.index[holders_above[-1]]:
        again = "again" if step.component in holders_above else f"below {holders_above[-1]}"
        raise MappingError(
            f"Einsum {path.einsum}: tensor {step.tensor} is held in {step.component} {again}, "
            "against the order of the memory hierarchy",
            where=where,
            instead=f"each holder of {step.tensor} once, from the outermost memory inward",
        )


def _check_kind(step: Hold, path: Path, view: EinsumView, where: Where | None) -> None:
    """Raise MappingError unless a Storage names a Memory and a Toll a Toll.

    So does accelforge 1.0.467.
    """
    toll = isinstance(view.component(step.component), Toll)
    if step.toll == toll:
        return
    written, meant = ("Storage", "Toll") if toll else ("Toll", "Storage")
    raise MappingError(
        f"Einsum {path.einsum}: {step.component} is a {'Toll' if toll else 'Memory'}, but the "
        f"mapping names it in a !{written}",
        where=where,
        value=f"!{written}",
        instead=f"!{meant} {{tensors: [{step.tensor}], component: {step.component}}}",
    )
