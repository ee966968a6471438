"""Score a mapping with the analytical model (theory/model.md): counts, energy, latency, fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.mapping.mapping import Mapping, Node, Sequential, Storage
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.conventions import Conventions, conventions_called
from tilewright.mapper.model.costs import Costs, area_by, costs_of, leak_power_by
from tilewright.mapper.model.guards import check
from tilewright.mapper.model.occupancy.capacity import (
    check_capacity,
    check_parts,
    peak_bits,
    peak_parts,
)
from tilewright.mapper.model.occupancy.occupancy import PathOccupancies
from tilewright.mapper.model.offsets import counted
from tilewright.mapper.model.paths.path import Hold, Path, paths_of, restrict
from tilewright.mapper.model.paths.view import Count, EinsumView, make_view
from tilewright.mapper.model.tally import EinsumCounts, tally
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload import Workload

_CACHED_VIEWS = 256


def score_mapping(
    arch: Arch, workload: Workload, mapping: Mapping, conventions: str = "default"
) -> Score:
    """Score a mapping with the analytical model: energy, latency, area, leakage and all counts.

    `conventions`: "default" or "accelforge" (docs/conventions.md). The result is in joules,
    seconds, square metres and watts. Whether the mapping computes the workload is not looked at
    (mapper/evaluation/verified_score.py).

    Raises MappingError if this is no mapping of the workload on the architecture or if a count is
    larger than any float; InfeasibleMapping if tiles overfill a memory or it uses more instances
    than exist; SpecError for an error in a file; TilewrightError for unknown conventions.
    """
    chosen = conventions_called(conventions)
    workload = counted(workload, chosen.einsum)
    paths = _paths(workload, mapping)
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
    return replace(score, notes=notes) if notes else score


def check_mapping(arch: Arch, workload: Workload, mapping: Mapping) -> None:
    """Check that a mapping is one of a workload on an architecture, whether it fits or not.

    Raises MappingError, with the place in the mapping file, for a name that workload or
    architecture does not have, and for loops that do not end at tiles of 1; InfeasibleMapping if it
    uses more instances than exist.
    """
    chosen = conventions_called("default")
    workload = counted(workload, chosen.einsum)
    for path in _paths(workload, mapping):
        view = _view(arch, workload, path, chosen)
        tally(restrict(path, frozenset(view.tensors)), view, chosen)


def _paths(workload: Workload, mapping: Mapping) -> tuple[Path, ...]:
    """Return the path of each Einsum; raise MappingError unless each has one, in order."""
    tensors = {einsum.name: frozenset(einsum.tensors) for einsum in workload.einsums}
    paths = paths_of(mapping, lambda name: tensors.get(name, ()))
    _check_einsums(paths, workload, mapping)
    return paths


def _notes(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    """Return a note for each branching node whose overlap in time the model does not count."""
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
    """Score the paths of a mapping with tables that were made before; searches call this.

    `runs`: pairs (path of one Einsum from the outermost node to its Compute, its view made with
    `make_view`) in order of execution. Raises MappingError if a path is no mapping of its Einsum,
    InfeasibleMapping if tiles overfill a memory or it uses more instances than exist,
    ConservationError if the counts contradict each other (a defect of the model).
    """
    tallies = [
        tally(restrict(path, frozenset(view.tensors)), view, conventions) for path, view in runs
    ]
    for counts in tallies:
        check(counts)
    bodies = [PathOccupancies(counts.path, counts.occupancy) for counts in tallies]
    peaks = peak_bits(bodies, conventions.shared, conventions.tile)
    _check_fit(bodies, peaks, [_sizes(counts) for counts in tallies], conventions)
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


def _sizes(counts: EinsumCounts) -> dict[str, float]:
    """Return the size in bits of each memory, by name, as one Einsum sees it."""
    return {c.name: c.size for c in counts.view.flat.components if isinstance(c, Memory)}


def _check_einsums(paths: tuple[Path, ...], workload: Workload, mapping: Mapping) -> None:
    """Raise MappingError unless each Einsum has one path, after its producers.

    Also for a path with an unknown tensor.
    """
    names = [einsum.name for einsum in workload.einsums]
    remaining, unwritten = set(names), {t.tensor for e in workload.einsums for t in e.outputs}
    for path in paths:
        _check_name(path, names, remaining)
        remaining.discard(path.einsum)
        einsum = workload.einsum(path.einsum)
        _check_order(path, einsum, unwritten)
        unwritten.difference_update(access.tensor for access in einsum.outputs)
    _check_tensors(mapping, frozenset(workload.tensors))
    missing = [name for name in names if name in remaining]
    if missing:
        raise MappingError(
            f"the mapping leaves out Einsum {missing[0]}",
            where=paths[0].where(),
            value=", ".join(missing),
            instead="a branch of a Sequential for each Einsum of the workload",
        )


def _check_name(path: Path, names: list[str], remaining: set[str]) -> None:
    """Raise MappingError unless a branch names an Einsum of the workload not named before.

    `names`: all Einsums; `remaining`: those not named yet.
    """
    if path.einsum in remaining:
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


def _check_order(path: Path, einsum: Einsum, unwritten: set[str]) -> None:
    """Raise MappingError if a branch's Einsum reads a tensor that it or a later branch writes.

    `unwritten`: the tensors that these branches write.
    """
    early = [access.tensor for access in einsum.inputs if access.tensor in unwritten]
    if early:
        raise MappingError(
            f"Einsum {einsum.name} runs before the Einsum that writes {early[0]}",
            where=path.where(),
            value=early[0],
            instead="put the branch that writes it first",
        )


def _check_tensors(mapping: Mapping, tensors: frozenset[str]) -> None:
    """Raise MappingError for a Storage or Toll of a tensor that the workload does not have."""
    if tensors.issuperset(_held_in(mapping.nodes)):
        return
    for path in paths_of(mapping):
        for place, step in enumerate(path.steps):
            if isinstance(step, Hold) and step.tensor not in tensors:
                raise MappingError(
                    f"the workload has no tensor {step.tensor!r}",
                    where=path.where(place),
                    value=step.tensor,
                    instead=did_you_mean(step.tensor, tensors),
                )


def _held_in(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the tensors of all Storages and Tolls."""
    for node in nodes:
        if isinstance(node, Storage):
            yield from node.tensors
        elif isinstance(node, Sequential):
            for branch in node.branches:
                yield from _held_in(branch)


_views: OrderedDict[tuple[object, ...], tuple[Arch, Workload, EinsumView]] = OrderedDict()


def _view(arch: Arch, workload: Workload, path: Path, conventions: Conventions) -> EinsumView:
    """Return the view of a path's Einsum, cached for the same loaded objects and placement."""
    held_in: dict[str, set[str]] = {}
    for step in path.steps:
        if isinstance(step, Hold):
            held_in.setdefault(step.component, set()).add(step.tensor)
    placement = {component: frozenset(tensors) for component, tensors in held_in.items()}
    einsum_key = (path.einsum, path.component, frozenset(placement.items()), conventions.name)
    key = (id(arch), id(workload), *einsum_key)
    cached = _views.get(key)
    if cached is not None and cached[0] is arch and cached[1] is workload:
        _views.move_to_end(key)
        return cached[2]
    einsum = workload.einsum(path.einsum)
    flats = flatten(arch, workload.scope(einsum), placement, conventions.switch)
    view = _make_view(einsum, flats, path)
    _views[key] = (arch, workload, view)
    if len(_views) > _CACHED_VIEWS:
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
    for counts in tallies:
        assert isinstance(counts.view.flat, FlatArch)
        costs = costs_of(counts, counts.view.flat, conventions)
        total.add(costs)
        latency_of[counts.view.einsum.name] = costs.latency
    flat = tallies[0].view.flat
    assert isinstance(flat, FlatArch)
    areas, leaks = area_by(flat, conventions), leak_power_by(flat, conventions)
    bits = {tile.key: tile.bits for counts in tallies for tile in counts.occupancy}
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
    """Return the share of its memory's size that each tile takes, by "einsum/memory/tensor"."""
    usage: dict[str, float] = {}
    for counts in tallies:
        for tile in counts.occupancy:
            memory = counts.view.component(tile.component)
            assert isinstance(memory, Memory)
            usage[tile.key] = float(tile.bits) / memory.size
    return usage


def _spatial_usage(tallies: list[EinsumCounts]) -> dict[str, float]:
    """Return the share of lanes that each Einsum uses, by "einsum/component/dimension".

    Lanes in use / fanout * usage_scale.
    """
    usage: dict[str, float] = {}
    for counts in tallies:
        for (component, name), used in counts.used.items():
            dim = counts.view.dims[component, name]
            share = float(used) / dim.fanout * dim.usage_scale
            usage[f"{counts.view.einsum.name}/{component}/{name}"] = share
    return usage
