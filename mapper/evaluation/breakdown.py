"""Where the costs of a mapping come from: by component, by tensor, by Einsum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite

from tilewright.arch.quantities import finite_or_none
from tilewright.mapper.mapping.score import Count, Score, number

_EQUAL = 1e-9  # relative: components that take equally long limit together


@dataclass(frozen=True, slots=True)
class ComponentCosts:
    """What one component costs over all Einsums.

    `energy`: J, leakage included; `leak_energy`: J; `seconds`: it is busy; `utilization`: share of
    the latency, None if nothing takes time. `actions`: calls by action. `peak_bits`: most bits of
    one instance in use; `size_bits`: bits of one instance, None for what has no finite size.
    `area`: m² of all instances. `limits`: Einsums whose latency is its time.
    """

    component: str
    energy: float
    leak_energy: float
    seconds: float
    utilization: float | None
    actions: Mapping[str, Count]
    peak_bits: Count | None
    size_bits: float | None
    area: float
    limits: tuple[str, ...]

    @property
    def occupancy(self) -> float | None:
        """Share of the memory in use when it is fullest; None without a finite size."""
        if not self.size_bits or self.peak_bits is None:
            return None
        return float(self.peak_bits) / self.size_bits

    def to_dict(self) -> dict[str, object]:
        """Return the costs as plain data for JSON."""
        return {
            "component": self.component,
            "energy": finite_or_none(self.energy),
            "leak_energy": finite_or_none(self.leak_energy),
            "seconds": finite_or_none(self.seconds),
            "utilization": self.utilization,
            "actions": {name: number(count) for name, count in self.actions.items()},
            "peak_bits": None if self.peak_bits is None else number(self.peak_bits),
            "size_bits": self.size_bits,
            "occupancy": self.occupancy,
            "area": finite_or_none(self.area),
            "limits": list(self.limits),
        }


@dataclass(frozen=True, slots=True)
class TensorCosts:
    """What moving one tensor costs over all Einsums.

    `energy`: J; `actions`: by component the calls by action (read, write, hop).
    """

    tensor: str
    energy: float
    actions: Mapping[str, Mapping[str, Count]]

    def to_dict(self) -> dict[str, object]:
        """Return the costs as plain data for JSON."""
        actions = {
            component: {name: number(count) for name, count in calls.items()}
            for component, calls in self.actions.items()
        }
        return {"tensor": self.tensor, "energy": finite_or_none(self.energy), "actions": actions}


@dataclass(frozen=True, slots=True)
class EinsumCosts:
    """What one Einsum costs.

    `energy`: J; `latency`: s; `limited_by`: components that take that long, none if nothing takes
    time; `lanes`: used share of each dimension of a fanout, by "component/dimension".
    """

    einsum: str
    energy: float
    latency: float
    limited_by: tuple[str, ...]
    lanes: Mapping[str, float]

    def to_dict(self) -> dict[str, object]:
        """Return the costs as plain data for JSON."""
        return {
            "einsum": self.einsum,
            "energy": finite_or_none(self.energy),
            "latency": finite_or_none(self.latency),
            "limited_by": list(self.limited_by),
            "lanes": dict(self.lanes),
        }


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The costs of a score, added up in three ways; each adds up to its energy.

    `components`: as in the architecture; `tensors`: the most energy first; `einsums`: as executed.
    Beside the tensors, `compute_energy` (J) and `leak_energy` (J) are the rest of the energy.
    """

    components: tuple[ComponentCosts, ...]
    tensors: tuple[TensorCosts, ...]
    einsums: tuple[EinsumCosts, ...]
    compute_energy: float
    leak_energy: float

    def to_dict(self) -> dict[str, object]:
        """Return the tables as plain data for JSON, in SI units and bits."""
        return {
            "by_component": [each.to_dict() for each in self.components],
            "by_tensor": [each.to_dict() for each in self.tensors],
            "by_einsum": [each.to_dict() for each in self.einsums],
        }


def breakdown(score: Score) -> Breakdown:
    """Return the costs of a score by component, by tensor and by Einsum."""
    limits = _limits(score)
    tensors = _tensors_moved(score)
    einsums = dict.fromkeys(_part(key, 0) for key in (*score.latency_of, *score.energy_by))
    return Breakdown(
        component_costs(score),
        tuple(sorted(tensors, key=lambda each: (-each.energy, each.tensor))),
        tuple(_einsum(score, name, limits.get(name, ())) for name in einsums),
        sum(v for key, v in score.energy_by.items() if not (_tensor(key) or _leaks(key))),
        score.leak_energy,
    )


def component_costs(score: Score) -> tuple[ComponentCosts, ...]:
    """Return the costs of a score by component: those that have an energy or a latency, 0 or more.

    Components with an area come first, the others in the order in which they are called.
    """
    limits = _limits(score)
    return tuple(_component(score, name, limits) for name in _components_used(score))


def _limits(score: Score) -> dict[str, tuple[str, ...]]:
    return {einsum: _limiting(score, einsum) for einsum in score.latency_of}


def _components_used(score: Score) -> list[str]:
    """Return the names of components with energy or time, those with an area first."""
    used = dict.fromkeys(_part(key, 1) for key in (*score.energy_by, *score.latency_by))
    with_area = [name for name in score.area_by if name in used]
    return with_area + [name for name in used if name not in score.area_by]


def _component(score: Score, name: str, limits: Mapping[str, tuple[str, ...]]) -> ComponentCosts:
    energy = {key: value for key, value in score.energy_by.items() if _part(key, 1) == name}
    seconds = sum(value for key, value in score.latency_by.items() if _part(key, 1) == name)
    return ComponentCosts(
        name,
        sum(energy.values()),
        sum(value for key, value in energy.items() if _leaks(key)),
        seconds,
        _share_of_time(score, seconds),
        _summed((_part(k, 3), n) for k, n in score.actions.items() if _part(k, 1) == name),
        score.capacity.get(name),
        size_of(score, name),
        score.area_by.get(name, 0.0),
        tuple(einsum for einsum, components in limits.items() if name in components),
    )


def _share_of_time(score: Score, seconds: float) -> float | None:
    """Return `seconds` divided by the score's latency; None where that is not a number."""
    return seconds / score.latency if score.is_timed and isfinite(score.latency) else None


def _tensors_moved(score: Score) -> list[TensorCosts]:
    """Return the costs of moving each tensor, in the order of the score."""
    energy: dict[str, float] = {}
    for key, joules in score.energy_by.items():
        if (tensor := _tensor(key)) is not None:
            energy[tensor] = energy.get(tensor, 0) + joules
    calls: dict[str, dict[str, dict[str, Count]]] = {}
    for key, count in score.actions.items():
        if (tensor := _tensor(key)) is not None:
            actions = calls.setdefault(tensor, {}).setdefault(_part(key, 1), {})
            actions[_part(key, 3)] = actions.get(_part(key, 3), 0) + count
    return [TensorCosts(name, joules, calls.get(name, {})) for name, joules in energy.items()]


def _einsum(score: Score, name: str, limited_by: tuple[str, ...]) -> EinsumCosts:
    return EinsumCosts(
        name,
        sum(value for key, value in score.energy_by.items() if _part(key, 0) == name),
        score.latency_of.get(name, 0.0),
        limited_by,
        {k.partition("/")[2]: v for k, v in score.spatial_usage.items() if _part(k, 0) == name},
    )


def size_of(score: Score, memory: str) -> float | None:
    """Return the bits of one instance of a memory; None if it has no finite size or holds nothing.

    They follow from any tensor in it: its bits over its share of the memory.
    """
    for key, share in score.memory_usage.items():
        if _part(key, 1) == memory and share > 0:
            return float(score.memory_bits[key]) / share
    return None


def _limiting(score: Score, einsum: str) -> tuple[str, ...]:
    """Return the components that take longest for an Einsum; none if nothing takes time."""
    times = {_part(k, 1): v for k, v in score.latency_by.items() if _part(k, 0) == einsum}
    longest = max(times.values(), default=0.0)
    return tuple(n for n, v in times.items() if longest > 0 and v >= longest * (1 - _EQUAL))


def _summed(calls: Iterable[tuple[str, Count]]) -> dict[str, Count]:
    sums: dict[str, int | Fraction] = {}
    for name, count in calls:
        sums[name] = sums.get(name, 0) + count
    return sums


@lru_cache(maxsize=1 << 16)
def _parts(key: str) -> tuple[str, ...]:
    return tuple(key.split("/"))


def _part(key: str, place: int) -> str:
    return _parts(key)[place]


def _leaks(key: str) -> bool:
    return key.endswith("/leak") and key.count("/") == 2


def _tensor(key: str) -> str | None:
    """Return the tensor of a key "einsum/component/tensor/action"; None for compute and leakage."""
    parts = _parts(key)
    return parts[2] if len(parts) == 4 and parts[2] != "None" else None
