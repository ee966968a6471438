"""What one Einsum and one flattened architecture bring to the model, prepared once.

The search scores thousands of mappings against one view, so everything that does not depend on
the mapping (relevance of variables, values per action, scales, keys of the results) is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from tilewright.arch.components.components import (
    Action,
    Component,
    Compute,
    Memory,
    Network,
    SpatialDim,
    Toll,
)
from tilewright.mapper.workload.einsum import Einsum, TensorAccess

Count = int | Fraction
IRRELEVANT, RELEVANT, PARTIAL = 0, 1, 2
_RELEVANCE = {"irrelevant": IRRELEVANT, "relevant": RELEVANT, "partial": PARTIAL}


class Flat(Protocol):
    """The part of tilewright.arch.flattening.flat.FlatArch that the model reads."""

    @property
    def compute(self) -> Compute: ...
    @property
    def components(self) -> tuple[Component, ...]: ...


@dataclass(frozen=True, slots=True)
class TensorView:
    """How the Einsum touches one tensor.

    `leaf`: (reads, writes, skipped reads) of one operation; `accumulates`: the output's old values
    are read before they are written; `streams`: lower holders may keep only what the loops below
    use at a time (not where a copy is taken as a tensor that rises from holder to holder).
    """

    name: str
    output: bool
    leaf: tuple[Count, Count, Count]
    accumulates: bool
    streams: bool
    relevance: Mapping[str, int]
    simple: tuple[str, ...] | None  # the variables, if each rank is one variable taken once
    ranks: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]  # (of one point, terms)
    bits_per_value: Fraction

    def tile(self, shape: Mapping[str, int]) -> int:
        """Elements under a tile of the iteration space (model.md §1.3)."""
        size = 1
        if self.simple is not None:
            for name in self.simple:
                size *= shape[name]
            return size
        for least, terms in self.ranks:
            extent = least
            for name, factor in terms:
                extent += factor * (shape[name] - 1)
            size *= extent
        return size


@dataclass(frozen=True, slots=True)
class HolderView:
    """A Memory or Toll as one tensor sees it. Scales: actions per value, `actions_scale` in it."""

    component: Memory | Toll
    is_toll: bool
    skips_first_write: bool
    down: bool  # a Toll charges what comes down …
    up: bool  # … and what goes up
    read_scale: Count
    write_scale: Count
    read_energy: float
    write_energy: float
    bits_per_value: Fraction
    read_key: str
    write_key: str
    usage_key: str


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A Network as one tensor sees it: hop actions per value."""

    component: Network
    scale: Count
    energy: float
    key: str


@dataclass(slots=True)
class EinsumView:
    """One Einsum on one flattened architecture."""

    einsum: Einsum
    flat: Flat
    index: dict[str, int]
    tensors: dict[str, TensorView]
    dims: dict[tuple[str, str], SpatialDim]
    networks: tuple[tuple[int, Network], ...]
    simple_variables: frozenset[str]
    _holders: dict[tuple[str, str], HolderView] = field(default_factory=dict)
    _network_views: dict[tuple[str, str], NetworkView] = field(default_factory=dict)

    @property
    def compute(self) -> Compute:
        return self.flat.compute

    def component(self, name: str) -> Component:
        return self.flat.components[self.index[name]]

    def holder(self, component: str, tensor: str) -> HolderView:
        """Return (and keep) how `tensor` sits in `component`, which must be a Memory or Toll."""
        key = (component, tensor)
        holder = self._holders.get(key)
        if holder is None:
            holder = self._holders[key] = _holder_view(self, component, tensor)
        return holder

    def network(self, name: str, tensor: str) -> NetworkView:
        """Return (and keep) how `tensor` travels on network `name`."""
        key = (name, tensor)
        network = self._network_views.get(key)
        if network is None:
            network = self._network_views[key] = _network_view(self, name, tensor)
        return network


def make_view(einsum: Einsum, flat: Flat) -> EinsumView:
    """Prepare the model's tables for `einsum` on `flat`."""
    components = flat.components
    index = {component.name: place for place, component in enumerate(components)}
    dims = {(c.name, dim.name): dim for c in components for dim in c.spatial}
    networks = tuple((i, c) for i, c in enumerate(components) if isinstance(c, Network))
    skips = flat.compute.skip_initial_output_write
    tensors = {access.tensor: _tensor_view(access, einsum, skips) for access in einsum.accesses}
    return EinsumView(einsum, flat, index, tensors, dims, networks, simple_variables(einsum))


def simple_variables(einsum: Einsum) -> frozenset[str]:
    """Return the variables that stand alone wherever they occur (imperfect.md §6)."""
    mixed = {
        name
        for access in einsum.accesses
        for _, form in access.projection
        for name, factor in form.terms
        if not form.is_single or factor != 1
    }
    return frozenset(einsum.bounds) - mixed


def _tensor_view(access: TensorAccess, einsum: Einsum, skips: bool) -> TensorView:
    forms = [form for _, form in access.projection]
    ranks = tuple(
        (form.least, tuple((name, abs(factor)) for name, factor in form.terms)) for form in forms
    )
    alone = all(
        least == 1 and len(terms) <= 1 and all(factor == 1 for _, factor in terms)
        for least, terms in ranks
    )
    simple = tuple(name for _, terms in ranks for name, _ in terms) if alone else None
    relevance = {name: _RELEVANCE[access.relevance(name)] for name in einsum.bounds}
    accumulates = access.output and not einsum.is_copy
    return TensorView(
        name=access.tensor,
        output=access.output,
        leaf=(
            int(accumulates or not access.output),
            int(access.output),
            int(accumulates and skips),
        ),
        accumulates=accumulates,
        streams=True,
        relevance=relevance,
        simple=simple,
        ranks=ranks,
        bits_per_value=access.bits_per_value,
    )


def values_per_action(
    action: Action, tensor: TensorView, bits_per_value: Mapping[str, Fraction]
) -> Fraction:
    """Values of `tensor` per action: given, or bits per action / bits per value (model.md §3.2)."""
    fixed_values = action.values_per_action.get(tensor.name)
    if fixed_values is not None:
        return Fraction(fixed_values)
    bits = bits_per_value.get(tensor.name, tensor.bits_per_value)
    return Fraction(action.bits_per_action) / Fraction(bits)


def lowest_terms(number: Fraction) -> Count:
    """Write a whole Fraction as int: the arithmetic of the hot path is then on ints."""
    return number.numerator if number.denominator == 1 else number


def _scale(
    component: Component, name: str, tensor: TensorView, bits: Mapping[str, Fraction]
) -> tuple[Count, float]:
    try:
        action = component.action(name)
    except KeyError:
        return 0, 0.0
    values = values_per_action(action, tensor, bits)
    return lowest_terms(Fraction(component.actions_scale) / values), action.energy


def _holder_view(view: EinsumView, component_name: str, tensor_name: str) -> HolderView:
    component = view.component(component_name)
    assert isinstance(component, Memory | Toll)
    tensor = view.tensors[tensor_name]
    toll = isinstance(component, Toll)
    direction = component.direction[tensor_name] if isinstance(component, Toll) else "up_and_down"
    read_scale, read_energy = _scale(component, "read", tensor, component.bits_per_value)
    write_scale, write_energy = _scale(component, "write", tensor, component.bits_per_value)
    prefix = f"{view.einsum.name}/{component_name}/{tensor_name}"
    return HolderView(
        component=component,
        is_toll=toll,
        skips_first_write=component.skip_initial_output_write
        if isinstance(component, Memory)
        else True,
        down=direction != "up",
        up=direction != "down",
        read_scale=read_scale,
        write_scale=0 if toll else write_scale,
        read_energy=read_energy,
        write_energy=write_energy,
        bits_per_value=Fraction(component.bits_per_value.get(tensor_name, tensor.bits_per_value)),
        read_key=f"{prefix}/read",
        write_key=f"{prefix}/write",
        usage_key=prefix,
    )


def _network_view(view: EinsumView, name: str, tensor_name: str) -> NetworkView:
    component = view.component(name)
    assert isinstance(component, Network)
    tensor = view.tensors[tensor_name]
    scale, energy = _scale(component, "hop", tensor, component.bits_per_value)
    return NetworkView(component, scale, energy, f"{view.einsum.name}/{name}/{tensor_name}/hop")
