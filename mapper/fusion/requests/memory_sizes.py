"""Give memories whose size depends on the Einsum one size, and their values other widths.

A tile fills a share of the memory as the last Einsum that used it sees that memory: its bits over
the size for that Einsum (capacity.py). Values that are wider where the size is smaller fill
the same share of one size for all Einsums. The bits that actions move stay the same.

Example: Einsum A sees 100 bits, Einsum B sees 50. Both get 100 bits, and values of B twice the
width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, inf, lcm

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.requests.derived_request import DerivedRequest
from tilewright.mapper.searches.request import Request
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class EqualSizeRequest(DerivedRequest):
    """Request in which every memory has one size for all Einsums.

    `sizes`: (name, bits) of the memories that had several sizes. Values there get other bits per
    value, so that a tile fills the same share of the memory as before. A mapping has no sizes, so
    that they change nothing in it.
    """

    sizes: tuple[tuple[str, Fraction], ...] = ()

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        """Return the paths of an Einsum, one per compute, with one size per memory for all Einsums.

        Values of this Einsum get other widths in bits, so that a tile fills the same share of that
        size as it filled of the size that this Einsum saw before.
        """
        sizes = dict(self.sizes)
        return tuple(_resized_path(flat, einsum, sizes) for flat in self.source.flat_archs(einsum))


def with_equal_sizes(request: Request) -> Request:
    """Return a request in which all Einsums see each memory in one size.

    The new size is a common multiple of the sizes that Einsums see; the bits per value of an Einsum
    that saw a smaller size grow in proportion. So tiles of several Einsums can be added up in one
    unit. Example: Einsum A sees 100 bits, Einsum B 50: both get 100 bits, and values of B twice
    their width. The request itself is returned if no memory has several sizes.
    """
    unequal = _unequal_sizes(request)
    if not unequal:
        return request
    sizes = tuple((name, _common_multiple(several)) for name, several in unequal.items())
    return EqualSizeRequest(
        request.arch, request.workload, request.options, request.deadline, request, sizes
    )


def refuse_unequal_sizes(request: Request, memories: Sequence[str]) -> None:
    """Raise UnsupportedFeature if one of some memories has several sizes, by Einsum.

    `memories`: names of the memories whose usage in bits the search is to count: over several sizes
    such a number has no meaning.
    """
    unequal = _unequal_sizes(request.scoring_request)
    for name in memories:
        if name in unequal:
            raise UnsupportedFeature(
                f"the usage of {name} is not counted: its size depends on the Einsum",
                instead="one size for all Einsums, or leave that usage out",
            )


def _unequal_sizes(request: Request) -> dict[str, set[float]]:
    """Return the memories that Einsums see in several sizes: name to set of sizes in bits."""
    sizes: dict[str, set[float]] = {}
    for einsum in request.workload.einsums:
        for flat in request.flat_archs(einsum):
            for component in flat.components:
                if isinstance(component, Memory):
                    sizes.setdefault(component.name, set()).add(component.size)
    return {name: several for name, several in sizes.items() if len(several) > 1}


def _common_multiple(sizes: Iterable[float]) -> Fraction:
    """Return the least common multiple of all finite sizes above 0, in bits.

    1 if there are none.
    """
    finite = [Fraction(size) for size in sizes if 0 < size < inf]
    if not finite:
        return Fraction(1)
    return Fraction(lcm(*(f.numerator for f in finite)), gcd(*(f.denominator for f in finite)))


def _resized_path(flat: FlatArch, einsum: Einsum, sizes: Mapping[str, Fraction]) -> FlatArch:
    components = tuple(
        _resized_memory(component, einsum, sizes[component.name])
        if isinstance(component, Memory) and component.name in sizes
        else component
        for component in flat.components
    )
    return replace(flat, components=components)


def _resized_memory(memory: Memory, einsum: Einsum, size: Fraction) -> Memory:
    """Return the memory with `size` bits, and with bits per value in proportion.

    Example: 50 bits become 100: values of 8 bits get 16, so that a tile fills the same share as
    before.
    """
    if memory.size == inf:
        scale = Fraction(0)
    else:  # a single value does not fit into a memory of size 0
        scale = size / Fraction(memory.size) if memory.size else 2 * size
    widths = {
        access.tensor: memory.bits_per_value.get(access.tensor, access.bits_per_value) * scale
        for access in einsum.accesses
    }
    return replace(memory, size=float(size), bits_per_value=widths)
