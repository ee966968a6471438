"""Score a mapping with the analytical model: exact counts in closed form."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path as FilePath

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import Mapping, Node, Sequential
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.capacity import (
    check_capacity,
    check_parts,
    peak_bits,
    peak_parts,
)
from tilewright.mapper.model.conventions import Conventions, conventions_called
from tilewright.mapper.model.costs import Costs, area_by, costs_of, leak_power_by
from tilewright.mapper.model.guards import check
from tilewright.mapper.model.occupancy import PathOccupancies
from tilewright.mapper.model.offsets import counted
from tilewright.mapper.model.path import Hold, Path, paths_of, restrict
from tilewright.mapper.model.tally import EinsumCounts, tally
from tilewright.mapper.model.unfinished import unfinished
from tilewright.mapper.model.view import Count, EinsumView, make_view
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

_KEPT_VIEWS = 256


def evaluate(
    arch: Arch | FilePath | str,
    workload: Workload | FilePath | str,
    mapping: Mapping | FilePath | str,
    conventions: str = "default",
) -> Score:
    """Score `mapping` of `workload` on `arch`; each may be a path or a loaded object.

    `conventions`: "default" or "accelforge" (docs/conventions.md). MappingError if it is no
    mapping of the workload on the architecture, InfeasibleMapping if it does not fit; SpecError
    for what the files get wrong.
    """
    arch = arch if isinstance(arch, Arch) else load_arch(arch)
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    mapping = mapping if isinstance(mapping, Mapping) else load_mapping(mapping)
    chosen = conventions_called(conventions)
    workload = counted(workload, chosen.einsum)
    paths = paths_of(mapping)
    _check_einsums(paths, workload)
    try:
        runs = [(path, _view(arch, workload, path, chosen)) for path in paths]
        score = evaluate_flat(runs, chosen)
    except OverflowError:
        raise MappingError(
            "a count of this mapping, or what it costs, is larger than any float",
            where=paths[0].where(),
            instead="check bits_per_value, values_per_action and the scales of actions",
        ) from None
    notes = _notes(mapping.nodes)
    if len(paths) > 1:
        notes += unfinished(paths, workload)
    return replace(score, notes=notes) if notes else score


def _notes(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    """Say where the numbers stand for less than the mapping asks."""
    last = nodes[-1]
    if not isinstance(last, Sequential):
        return ()
    inner = tuple(note for branch in last.branches for note in _notes(branch))
    if last.kind == "Sequential":
        return inner
    note = (
        f"the {len(last.branches)} branches of a !{last.kind} are scored as a !Sequential, one "
        "after the other: latency is not overlapped"
    )
    return (note, *inner)


def evaluate_flat(runs: list[tuple[Path, EinsumView]], conventions: Conventions) -> Score:
    """Score paths of Einsums on views made with `make_view` (what the search calls)."""
    tallies = [
        tally(restrict(path, frozenset(view.tensors)), view, conventions) for path, view in runs
    ]
    for one in tallies:
        check(one)
    bodies = [PathOccupancies(one.path, one.occupancy) for one in tallies]
    peaks = peak_bits(bodies, conventions.shared, conventions.tile)
    _check_fit(bodies, peaks, [_sizes(one) for one in tallies], conventions)
    return _score(tallies, peaks, conventions)


def _check_fit(
    bodies: list[PathOccupancies],
    peaks: dict[str, Count],
    sizes: list[dict[str, float]],
    conventions: Conventions,
) -> None:
    together = {name: size for seen in sizes for name, size in seen.items()}
    if all(together | seen == together for seen in sizes):
        check_capacity(bodies, peaks, together)
    else:
        check_parts(bodies, peak_parts(bodies, conventions.shared, conventions.tile, sizes))


def _sizes(one: EinsumCounts) -> dict[str, float]:
    """Bits of each memory, as one Einsum sees them."""
    return {c.name: c.size for c in one.view.flat.components if isinstance(c, Memory)}


def view_of(einsum: Einsum, flat: FlatArch) -> EinsumView:
    """Prepare the model's tables for one Einsum on one flattened architecture."""
    return make_view(einsum, flat)


def _check_einsums(paths: tuple[Path, ...], workload: Workload) -> None:
    """Each Einsum once, in the order of the workload's data, with tensors that there are."""
    names = [einsum.name for einsum in workload.einsums]
    left, waiting = set(names), {t.tensor for e in workload.einsums for t in e.outputs}
    for path in paths:
        _check_name(path, names, left)
        left.discard(path.einsum)
        einsum = workload.einsum(path.einsum)
        _check_order(path, einsum, waiting)
        waiting.difference_update(access.tensor for access in einsum.outputs)
    tensors = frozenset(workload.tensors)
    for path in paths:
        _check_tensors(path, tensors)
    missing = [name for name in names if name in left]
    if missing:
        raise MappingError(
            f"the mapping leaves out Einsum {missing[0]}",
            where=paths[0].where(),
            value=", ".join(missing),
            instead="a branch of a Sequential for each Einsum of the workload",
        )


def _check_name(path: Path, names: list[str], left: set[str]) -> None:
    """A branch names an Einsum of the workload, one of those `left`."""
    if path.einsum in left:
        return
    if path.einsum in names:
        raise MappingError(
            f"Einsum {path.einsum} is computed twice",
            where=path.where(),
            value=path.einsum,
            instead="one branch for each Einsum",
        )
    raise MappingError(
        f"the workload has no Einsum {path.einsum!r}",
        where=path.where(),
        value=path.einsum,
        instead=did_you_mean(path.einsum, names),
    )


def _check_order(path: Path, einsum: Einsum, waiting: set[str]) -> None:
    """The Einsum of a branch reads nothing that it or a later branch writes."""
    early = [access.tensor for access in einsum.inputs if access.tensor in waiting]
    if early:
        raise MappingError(
            f"Einsum {einsum.name} runs before the Einsum that writes {early[0]}",
            where=path.where(),
            value=early[0],
            instead="put the branch that writes it first",
        )


def _check_tensors(path: Path, tensors: frozenset[str]) -> None:
    for place, step in enumerate(path.steps):
        if isinstance(step, Hold) and step.tensor not in tensors:
            raise MappingError(
                f"the workload has no tensor {step.tensor!r}",
                where=path.where(place),
                value=step.tensor,
                instead=did_you_mean(step.tensor, tensors),
            )


_views: OrderedDict[tuple[object, ...], tuple[Arch, Workload, EinsumView]] = OrderedDict()


def _view(arch: Arch, workload: Workload, path: Path, conventions: Conventions) -> EinsumView:
    """Return the view of a path's Einsum, kept for the same loaded objects and placement."""
    held: dict[str, set[str]] = {}
    for step in path.steps:
        if isinstance(step, Hold):
            held.setdefault(step.component, set()).add(step.tensor)
    kept = {component: frozenset(tensors) for component, tensors in held.items()}
    same = (path.einsum, path.component, frozenset(kept.items()), conventions.name)
    key = (id(arch), id(workload), *same)
    found = _views.get(key)
    if found is not None and found[0] is arch and found[1] is workload:
        _views.move_to_end(key)
        return found[2]
    einsum = workload.einsum(path.einsum)
    flats = flatten(arch, workload.scope(einsum), kept, conventions.switch)
    view = _make_view(einsum, flats, path)
    _views[key] = (arch, workload, view)
    if len(_views) > _KEPT_VIEWS:
        _views.popitem(last=False)
    return view


def _make_view(einsum: Einsum, flats: tuple[FlatArch, ...], path: Path) -> EinsumView:
    for flat in flats:
        if flat.compute.name == path.component:
            return make_view(einsum, flat)
    names = [flat.compute.name for flat in flats]
    raise MappingError(
        f"Einsum {path.einsum}: the architecture has no Compute {path.component!r} for it",
        where=path.where(),
        value=path.component,
        instead=did_you_mean(path.component, names) or f"one of: {', '.join(names)}",
    )


def _score(tallies: list[EinsumCounts], peaks: dict[str, Count], conventions: Conventions) -> Score:
    total = Costs()
    latency_of: dict[str, float] = {}
    for one in tallies:
        assert isinstance(one.view.flat, FlatArch)
        costs = costs_of(one, one.view.flat, conventions)
        total.add(costs)
        latency_of[one.view.einsum.name] = costs.latency
    flat = tallies[0].view.flat
    assert isinstance(flat, FlatArch)
    areas, leaks = area_by(flat, conventions), leak_power_by(flat, conventions)
    bits = {held.key: held.bits for one in tallies for held in one.occupancy}
    return Score(
        energy=total.dynamic_energy + total.leak_energy,
        latency=total.latency,
        area=sum(areas.values()),
        leak_power=sum(leaks.values()),
        dynamic_energy=total.dynamic_energy,
        leak_energy=total.leak_energy,
        conventions=conventions.name,
        actions=total.actions,
        energy_by=total.energy_by,
        latency_by=total.latency_by,
        latency_of=latency_of,
        memory_usage=_memory_usage(tallies),
        memory_bits=bits,
        capacity=peaks,
        spatial_usage=_spatial_usage(tallies),
        area_by=areas,
        leak_power_by=leaks,
    )


def _memory_usage(tallies: list[EinsumCounts]) -> dict[str, float]:
    """Return the share of its memory that each tile takes."""
    usage: dict[str, float] = {}
    for one in tallies:
        for held in one.occupancy:
            memory = one.view.component(held.component)
            assert isinstance(memory, Memory)
            usage[held.key] = float(held.bits) / memory.size
    return usage


def _spatial_usage(tallies: list[EinsumCounts]) -> dict[str, float]:
    """Return the share of each dimension's lanes that every Einsum uses."""
    usage: dict[str, float] = {}
    for one in tallies:
        for (component, dim), used in one.used.items():
            scale = one.view.dims[component, dim]
            share = float(used) / scale.fanout * scale.usage_scale
            usage[f"{one.view.einsum.name}/{component}/{dim}"] = share
    return usage
