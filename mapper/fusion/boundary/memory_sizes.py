"""Memories whose size depends on the Einsum, as memories of one size with values of other widths.

A tile fills the part of a memory that the Einsum sees which used it last (model/capacity.py): that
many bits over the size of that Einsum. Values that are wider where the size is smaller fill the
same part of one size for all. What actions move stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, inf, lcm

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class EqualSizeRequest(Request):
    """The request `whole` on memories of one size each; `sizes`: of those that had several."""

    whole: Request | None = None
    sizes: tuple[tuple[str, Fraction], ...] = ()

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        """Return the paths with these sizes."""
        assert self.whole is not None
        sizes = dict(self.sizes)
        return tuple(_resized_path(flat, einsum, sizes) for flat in self.whole.flat_archs(einsum))

    def whole_mapping(self, mapping: LoopNest) -> LoopNest:
        """Return the mapping of the whole request: it is the same."""
        assert self.whole is not None
        return self.whole.whole_mapping(mapping)

    @property
    def scoring_request(self) -> Request:
        """What was asked for."""
        assert self.whole is not None
        return self.whole.scoring_request


def with_equal_sizes(request: Request) -> Request:
    """Return a request in which all Einsums see a memory in one size."""
    sizes = tuple(
        (name, _common_multiple(found)) for name, found in _unequal_sizes(request).items()
    )
    if not sizes:
        return request
    return EqualSizeRequest(
        request.arch, request.workload, request.options, request.deadline, request, sizes
    )


def refuse_unequal_sizes(request: Request, memories: Sequence[str]) -> None:
    """Refuse to count the usage, in bits, of a memory that has none of one size."""
    several = _unequal_sizes(request.scoring_request)
    for name in memories:
        if name in several:
            raise UnsupportedFeature(
                f"the usage of {name} is not counted: its size depends on the Einsum",
                instead="one size for all Einsums, or leave that usage out",
            )


def _unequal_sizes(request: Request) -> dict[str, set[float]]:
    """Return the memories that Einsums see in several sizes, with these."""
    seen: dict[str, set[float]] = {}
    for einsum in request.workload.einsums:
        for flat in request.flat_archs(einsum):
            for component in flat.components:
                if isinstance(component, Memory):
                    seen.setdefault(component.name, set()).add(component.size)
    return {name: sizes for name, sizes in seen.items() if len(sizes) > 1}


def _common_multiple(sizes: Iterable[float]) -> Fraction:
    """Return the least number that all finite sizes divide, so that widths stay whole numbers."""
    finite = [Fraction(size) for size in sizes if 0 < size < inf]
    above, below = [one.numerator for one in finite], [one.denominator for one in finite]
    return Fraction(lcm(*above), gcd(*below)) if finite else Fraction(1)


def _resized_path(flat: FlatArch, einsum: Einsum, sizes: Mapping[str, Fraction]) -> FlatArch:
    parts = tuple(
        _resized_memory(component, einsum, sizes[component.name])
        if isinstance(component, Memory) and component.name in sizes
        else component
        for component in flat.components
    )
    return replace(flat, components=parts)


def _resized_memory(memory: Memory, einsum: Einsum, size: Fraction) -> Memory:
    if memory.size == inf:
        scale = Fraction(0)
    else:  # a single value does not fit into nothing
        scale = size / Fraction(memory.size) if memory.size else 2 * size
    widths = {
        access.tensor: memory.bits_per_value.get(access.tensor, access.bits_per_value) * scale
        for access in einsum.accesses
    }
    return replace(memory, size=float(size), bits_per_value=widths)
