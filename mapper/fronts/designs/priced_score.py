"""Score a mapping on designs that differ in numbers alone, without counting again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.mapping.score import Count, Score
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.costs import area_by, leak_power_by

_TABLES_OF_EINSUMS = (
    *("actions", "energy_by", "latency_by", "latency_of"),
    *("memory_usage", "memory_bits", "spatial_usage"),
)
_NO_TABLES: dict[str, Any] = {name: {} for name in _TABLES_OF_EINSUMS}


def priced_score(score: Score, before: Sequence[FlatArch], after: Sequence[FlatArch]) -> Score:
    """Return the score of the same mapping on a design of the same form.

    `before`, `after`: the paths of components that the Einsums take, in order of execution, of the
    design scored and of the other one. They may differ in sizes, fanouts, energies, areas and
    leakage, nothing being gated: then counts and times stay. The mapping must fit. The result
    equals that of the model to the bit.
    """
    energy_by: dict[str, float] = {}
    dynamic_energy = leak_energy = 0.0
    counts = _counts_of(score)
    for flat in after:
        dynamic = _dynamic(counts.get(flat.einsum or "", ()), flat)
        leaking = _leaking(score, flat)
        dynamic_energy += sum(dynamic.values())
        leak = 0.0
        for joules in leaking.values():  # as the model adds up, one after the other
            leak += joules
        leak_energy += leak
        energy_by |= dynamic | leaking
    conventions = conventions_called(score.conventions)
    areas, leaks = area_by(after[0], conventions), leak_power_by(after[0], conventions)
    return replace(
        score,
        energy=dynamic_energy + leak_energy,
        area=sum(areas.values()),
        leak_power=sum(leaks.values()),
        dynamic_energy=dynamic_energy,
        leak_energy=leak_energy,
        energy_by=energy_by,
        memory_usage=_memory_usage(score, after),
        spatial_usage=_spatial_usage(score, before, after),
        area_by=areas,
        leak_power_by=leaks,
    )


def joined_score(scores: Sequence[Score]) -> Score:
    """Return the score of Einsums that run one after the other and share no tensor.

    `scores`: of each, in order of execution, on one design. Sums and peaks are those of the model,
    to the bit.
    """
    if len(scores) == 1:
        return scores[0]
    joined = replace(scores[0], latency=0.0, dynamic_energy=0.0, leak_energy=0.0, **_NO_TABLES)
    capacity: dict[str, Count] = {}
    for score in scores:
        tables: dict[str, Any] = {
            name: {**getattr(joined, name), **getattr(score, name)} for name in _NO_TABLES
        }
        for memory, bits in score.capacity.items():
            capacity[memory] = max(capacity.get(memory, 0), bits)
        joined = replace(
            joined,
            latency=joined.latency + score.latency,
            dynamic_energy=joined.dynamic_energy + score.dynamic_energy,
            leak_energy=joined.leak_energy + score.leak_energy,
            capacity=capacity,
            **tables,
        )
    return replace(joined, energy=joined.dynamic_energy + joined.leak_energy)


class _ActionCount(NamedTuple):
    """How often (`times`) an action is done; `key`: of the score; `place`: (component, action)."""

    key: str
    place: tuple[str, str]
    times: float


def _counts_of(score: Score) -> dict[str, list[_ActionCount]]:
    """Return the counts of each Einsum that are not zero, in the order of the score."""
    counts: dict[str, list[_ActionCount]] = {}
    for key, count in score.actions.items():
        if count:
            einsum, component, _, action = key.split("/")
            of_einsum = counts.setdefault(einsum, [])
            of_einsum.append(_ActionCount(key, (component, action), float(count)))
    return counts


def _dynamic(counts: Sequence[_ActionCount], flat: FlatArch) -> dict[str, float]:
    energies = {(c.name, a.name): a.energy for c in flat.components for a in c.actions}
    return {key: times * energies.get(place, 0.0) for key, place, times in counts}


def _leaking(score: Score, flat: FlatArch) -> dict[str, float]:
    leaks = leak_power_by(flat, conventions_called(score.conventions))
    seconds = score.latency_of[flat.einsum or ""]
    return {f"{flat.einsum}/{name}/leak": watts * seconds for name, watts in leaks.items()}


def _memory_usage(score: Score, after: Sequence[FlatArch]) -> dict[str, float]:
    sizes = {
        (flat.einsum, c.name): c.size
        for flat in after
        for c in flat.components
        if isinstance(c, Memory)
    }
    places = ((key, *key.split("/")) for key in score.memory_bits)
    return {
        key: float(score.memory_bits[key]) / sizes[einsum, memory]
        for key, einsum, memory, _ in places
    }


def _spatial_usage(
    score: Score, before: Sequence[FlatArch], after: Sequence[FlatArch]
) -> dict[str, float]:
    usage = dict(score.spatial_usage)
    for old_flat, flat in zip(before, after, strict=True):
        for old, component in zip(old_flat.components, flat.components, strict=True):
            for old_dim, dim in zip(old.spatial, component.spatial, strict=True):
                key = f"{flat.einsum}/{component.name}/{dim.name}"
                if key in usage and old_dim.fanout != dim.fanout:
                    lanes = round(usage[key] / old_dim.usage_scale * old_dim.fanout)
                    usage[key] = float(lanes) / dim.fanout * dim.usage_scale
    return usage
