"""The score of a mapping: energy, latency, area, leakage, and every count behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Count = int | Fraction
Rows = Literal["component", "tensor", "einsum"]


@dataclass(frozen=True, slots=True)
class Score:
    """What a mapping costs, with every count behind it.

    `energy` = `dynamic_energy` + `leak_energy`, in joules; `latency` in seconds; `area` in square
    metres; `leak_power` in watts, with nothing gated. `conventions`: rules of the model used.
    `verified`: the mapping is proven to compute its workload and to fit; False if nothing was
    proven. `notes`: limits of the numbers, in words (a Pipeline scored as a Sequential).

    - `actions`: exact number of calls, by "einsum/component/tensor/action" (tensor None for
      compute).
    - `energy_by`: joules, by the same key or "einsum/component/leak".
    - `latency_by`: seconds, by "einsum/component"; `latency_of`: seconds, by Einsum.
    - `memory_usage`, `memory_bits`: fraction of the memory and bits of each tile, by
      "einsum/memory/tensor".
    - `capacity`: most bits in use at one time in one instance, by memory.
    - `spatial_usage`: used fraction of a dimension, by "einsum/component/dimension".
    - `area_by`, `leak_power_by`: square metres and watts of all instances, by component.
    """

    energy: float
    latency: float
    area: float
    leak_power: float
    dynamic_energy: float
    leak_energy: float
    conventions: str = "default"
    actions: Mapping[str, Count] = field(default_factory=dict, repr=False)
    energy_by: Mapping[str, float] = field(default_factory=dict, repr=False)
    latency_by: Mapping[str, float] = field(default_factory=dict, repr=False)
    latency_of: Mapping[str, float] = field(default_factory=dict, repr=False)
    memory_usage: Mapping[str, float] = field(default_factory=dict, repr=False)
    memory_bits: Mapping[str, Count] = field(default_factory=dict, repr=False)
    capacity: Mapping[str, Count] = field(default_factory=dict, repr=False)
    spatial_usage: Mapping[str, float] = field(default_factory=dict, repr=False)
    area_by: Mapping[str, float] = field(default_factory=dict, repr=False)
    leak_power_by: Mapping[str, float] = field(default_factory=dict, repr=False)
    verified: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def is_timed(self) -> bool:
        """Whether anything takes time; else the latency of 0 s says nothing."""
        return self.latency > 0

    @property
    def edp(self) -> float:
        """Energy times latency (energy-delay product), in joule seconds."""
        return self.energy * self.latency

    def metric(self, name: str) -> float:
        """Return a number of the score by name, in SI units or bits.

        Names: a field (J, s, m², W), "edp" (J s), or "usage.MEMORY", the most bits of that memory
        in use at one time, 0 if nothing is held there. Raises AttributeError for another name.
        """
        memory = name.removeprefix("usage.")
        return float(getattr(self, name) if memory == name else self.capacity.get(memory, 0))

    def in_short(self) -> str:
        """Return energy and latency with their units."""
        from tilewright.arch.quantities import quantity

        timed = quantity(self.latency, "latency") if self.is_timed else "time not modelled"
        return f"{quantity(self.energy, 'energy')}, {timed}"

    def _repr_html_(self) -> str:
        """Return totals and tables by component, tensor and Einsum for a notebook."""
        from tilewright.mapper.evaluation.notebook import score_html

        return score_html(self)

    def to_pandas(self, by: Rows = "component") -> Any:
        """Return the costs as a pandas DataFrame with a row per component, tensor or Einsum.

        Columns are in joules, seconds, bits and calls (`actions.read`, of tensors
        `actions.Buffer.read`). TilewrightError for another `by`, or without pandas.
        """
        from tilewright.arch.errors import TilewrightError
        from tilewright.arch.frames import frame
        from tilewright.mapper.evaluation.breakdown import breakdown

        rows = breakdown(self).to_dict().get(f"by_{by}")
        if not isinstance(rows, list):
            raise TilewrightError("no such rows", value=by, instead="component, tensor or einsum")
        return frame(rows)

    def to_dict(self) -> dict[str, object]:
        """Return the score as plain data for JSON, in SI units.

        Infinite numbers and NaN become None, and so do latency and edp if nothing takes time.
        Counts are the nearest JSON numbers; `exact` lists as "numerator/denominator" those
        fractions that no float holds.
        """
        return {
            "conventions": self.conventions,
            "energy": _finite(self.energy),
            "latency": _finite(self.latency) if self.is_timed else None,
            "edp": _finite(self.edp) if self.is_timed else None,
            "area": _finite(self.area),
            "leak_power": _finite(self.leak_power),
            "dynamic_energy": _finite(self.dynamic_energy),
            "leak_energy": _finite(self.leak_energy),
            "actions": {key: number(count) for key, count in self.actions.items()},
            "energy_by": _floats(self.energy_by),
            "latency_by": _floats(self.latency_by),
            "latency_of": _floats(self.latency_of),
            "memory_usage": _floats(self.memory_usage),
            "memory_bits": {key: number(bits) for key, bits in self.memory_bits.items()},
            "capacity": {key: number(bits) for key, bits in self.capacity.items()},
            "spatial_usage": _floats(self.spatial_usage),
            "area_by": _floats(self.area_by),
            "leak_power_by": _floats(self.leak_power_by),
            "verified": self.verified,
            "notes": list(self.notes),
            "exact": _fractions({**self.actions, **self.memory_bits, **self.capacity}),
        }


def number(count: Count) -> int | float:
    """Return a count as a number for JSON: int if it is whole, else the nearest float."""
    if isinstance(count, int):
        return count
    return count.numerator if count.denominator == 1 else float(count)


def _fractions(counts: Mapping[str, Count]) -> dict[str, str]:
    """Return the counts that no float holds exactly, as "numerator/denominator"."""
    return {
        key: f"{count.numerator}/{count.denominator}"
        for key, count in counts.items()
        if isinstance(count, Fraction) and Fraction(float(count)) != count
    }


def _floats(values: Mapping[str, float]) -> dict[str, float | None]:
    return {key: _finite(value) for key, value in values.items()}


def _finite(value: float) -> float | None:
    """Return the number, or None for infinity and NaN, which JSON does not have."""
    return float(value) if math.isfinite(value) else None
