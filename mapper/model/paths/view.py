"""Tables of the model for one Einsum on one flattened architecture, independent of any mapping.

They hold the relevance of rank variables, the values per action, the scales, and the keys of the
results (theory/model.md §1, §3.2). A search scores thousands of mappings with one view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol

from tilewright.arch.components.components import (
    Action,
    Component,
    Compute,
    Memory,
    Network,
    SpatialDim,
    Toll,
)
from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess

Count = int | Fraction
IRRELEVANT, RELEVANT, PARTIAL = 0, 1, 2
_RELEVANCE = {"irrelevant": IRRELEVANT, "relevant": RELEVANT, "partial": PARTIAL}


class Requests(NamedTuple):
    """Values that one visit of a holder, or one operation, asks of the level above.

    `reads`, `writes`: values. `first_reads`: the part of `reads` of an output that a skipped first
    write makes needless (theory/model.md §3.3).
    """

    reads: Count
    writes: Count
    first_reads: Count


class Flat(Protocol):
    """What the model reads of a flattened architecture: a path of components.

    `compute`: the Compute at its end; `components`: all, outermost first.
    """

    @property
    def compute(self) -> Compute: ...
    @property
    def components(self) -> tuple[Component, ...]: ...


@dataclass(frozen=True, slots=True)
class TensorView:
    """How an Einsum touches one tensor, in the numbers that the model needs.

    `name`: of the tensor; `output`: it is written. `leaf`: values that one operation reads and
    writes. `accumulates`: the output's old values are read before they are written. `streams`: a
    lower holder may keep only the part of its tile that the loops below use at a time; False where
    a copy counts as one tensor that rises from holder to holder. `relevance[v]`: IRRELEVANT,
    RELEVANT or PARTIAL (theory/model.md §1.2). `simple`: the variables if each rank is one
    variable, else None. `ranks`: per rank (positions of one point, pairs of variable and factor).
    `bits_per_value`: width in the workload, in bits.
    """

    name: str
    output: bool
    leaf: Requests
    accumulates: bool
    streams: bool
    relevance: Mapping[str, int]
    simple: tuple[str, ...] | None  # the variables, if each rank is one variable taken once
    ranks: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]  # (of one point, terms)
    bits_per_value: Fraction

    def tile(self, shape: Mapping[str, int]) -> int:
        """Return how many values of the tensor a tile of the iteration space touches.

        `shape[v]`: values of rank variable v in the tile; it must have every variable of the
        tensor (theory/model.md §1.3). For `A[m, p + r]` with m = 2, p = 4, r = 3: 2 * 6 = 12.
        """
        size = 1
        if self.simple is not None:
            for name in self.simple:
                size *= shape[name]
            return size
        for point_extent, terms in self.ranks:
            extent = point_extent
            for name, factor in terms:
                extent += factor * (shape[name] - 1)
            size *= extent
        return size


@dataclass(frozen=True, slots=True)
class HolderView:
    """A Memory or Toll as one tensor sees it: actions per value, energies, keys of results.

    `is_toll`: it stores nothing and charges only reads. `skips_first_write`: the first read of an
    output there is elided, as nothing has been written. `down`, `up`: whether a Toll charges
    values on their way in, or out. `read_scale`, `write_scale`: actions per value, with
    `actions_scale`. `read_energy`, `write_energy`: joules per action. `bits_per_value`: width of a
    value there. `usage_key`: "einsum/component/tensor"; `read_key`, `write_key`: the same with
    "/read" or "/write".
    """

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
    """A Network as one tensor sees it.

    `scale`: hop actions per value and link, with `actions_scale`. `energy`: joules per action.
    `key`: "einsum/network/tensor/hop", under which `Score` lists the actions.
    """

    component: Network
    scale: Count
    energy: float
    key: str


@dataclass(slots=True)
class EinsumView:
    """Tables of the model for one Einsum on one path of components, for any mapping.

    `einsum`, `flat`: the two. `index`: component name to its position on the path, 0 the
    outermost. `tensors`: name to how the Einsum touches the tensor. `dims`: (component, dimension)
    to the spatial dimension. `networks`: pairs (position, Network), outermost first.
    `simple_variables`: rank variables that stand alone and with factor 1 in every index
    (theory/imperfect.md §6).
    """

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
        """The Compute at the end of the path."""
        return self.flat.compute

    def component(self, name: str) -> Component:
        """Return a component of the path by name; raises KeyError if there is none."""
        return self.flat.components[self.index[name]]

    def holder(self, component: str, tensor: str) -> HolderView:
        """Return how a tensor sees a Memory or Toll (scales, energies, keys); cached.

        `component`, `tensor`: names. Raises KeyError for unknown names.
        """
        key = (component, tensor)
        holder = self._holders.get(key)
        if holder is None:
            holder = self._holders[key] = _holder_view(self, component, tensor)
        return holder

    def network(self, name: str, tensor: str) -> NetworkView:
        """Return how a tensor sees a network (hop actions per value, joules, key); cached.

        `name`, `tensor`: names. Raises KeyError for unknown names.
        """
        key = (name, tensor)
        network = self._network_views.get(key)
        if network is None:
            network = self._network_views[key] = _network_view(self, name, tensor)
        return network


def make_view(einsum: Einsum, flat: Flat) -> EinsumView:
    """Build the model's tables for an Einsum on one path of components.

    A search scores thousands of mappings with them. `flat` must be flattened for this Einsum:
    every tensor has a width in every holder of the path.
    """
    components = flat.components
    index = {component.name: place for place, component in enumerate(components)}
    dims = {(c.name, dim.name): dim for c in components for dim in c.spatial}
    networks = tuple((i, c) for i, c in enumerate(components) if isinstance(c, Network))
    skips = flat.compute.skip_initial_output_write
    tensors = {access.tensor: _tensor_view(access, einsum, skips) for access in einsum.accesses}
    return EinsumView(einsum, flat, index, tensors, dims, networks, simple_variables(einsum))


def simple_variables(einsum: Einsum) -> frozenset[str]:
    """Return the rank variables that stand alone, with factor 1, in every index they occur in.

    For `A[m, 2*p + r]` that is m only. Uneven tiles of the others have no average size
    (theory/imperfect.md §6).
    """
    mixed = {
        name
        for access in einsum.accesses
        for _, form in access.projection
        for name, factor in form.terms
        if not form.is_single or factor != 1
    }
    return frozenset(einsum.bounds) - mixed


def _tensor_view(access: TensorAccess, einsum: Einsum, skips: bool) -> TensorView:
    ranks = tuple(
        (form.point_extent, tuple((name, abs(factor)) for name, factor in form.terms))
        for _, form in access.projection
    )
    accumulates = access.output and not einsum.is_copy
    return TensorView(
        name=access.tensor,
        output=access.output,
        leaf=_leaf_requests(access.output, accumulates, skips),
        accumulates=accumulates,
        streams=True,
        relevance={name: _RELEVANCE[access.relevance(name)] for name in einsum.bounds},
        simple=_single_variables(access),
        ranks=ranks,
        bits_per_value=access.bits_per_value,
    )


def _leaf_requests(output: bool, accumulates: bool, skips: bool) -> Requests:
    """Return what one operation asks of a tensor: reads, writes, and needless first reads.

    `accumulates`: old values of an output are read; `skips`: the Compute skips the first of these.
    """
    return Requests(int(accumulates or not output), int(output), int(accumulates and skips))


def _single_variables(access: TensorAccess) -> tuple[str, ...] | None:
    """Return the variable of each rank if every index is one variable or constant, else None."""
    forms = [form for _, form in access.projection]
    if all(form.point_extent == 1 and _is_variable_or_constant(form) for form in forms):
        return tuple(name for form in forms for name, _ in form.terms)
    return None


def _is_variable_or_constant(form: Affine) -> bool:
    return len(form.terms) <= 1 and all(abs(factor) == 1 for _, factor in form.terms)


def values_per_action(
    action: Action, tensor: TensorView, bits_per_value: Mapping[str, Fraction]
) -> Fraction:
    """Return how many values of a tensor one action reads or writes.

    It is the number written in the file, else bits per action / bits per value: 64-bit reads of
    8-bit values are 8. `bits_per_value`: widths in the component, in bits; the tensor's own width
    holds where it has none (theory/model.md §3.2).
    """
    fixed_values = action.values_per_action.get(tensor.name)
    if fixed_values is not None:
        return Fraction(fixed_values)
    bits = bits_per_value.get(tensor.name, tensor.bits_per_value)
    return Fraction(action.bits_per_action) / Fraction(bits)


def lowest_terms(number: Fraction) -> Count:
    """Return a count as an int if it is whole, else as the same Fraction.

    Later arithmetic is then on ints, which is faster.
    """
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
