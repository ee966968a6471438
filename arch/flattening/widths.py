"""Widths of tensors in a component, and the directions in which a Toll charges."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from tilewright.arch.components.components import Direction
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.resolve import Resolver
from tilewright.arch.names import did_you_mean
from tilewright.arch.number_format import bits_of_format
from tilewright.arch.spec.spec import MovingSpec, TollSpec

_DIRECTIONS = ("up", "down", "up_and_down")


def bits_per_value(resolver: Resolver, spec: MovingSpec) -> dict[str, Fraction]:
    """Return the width in bits of a value of each tensor in a component.

    It is what the component writes, else the workload's width times `bits_per_value_scale` (older
    dialect). Empty without an Einsum. Raises SpecError for a width that is not above 0.
    """
    if resolver.einsum is None:
        resolver.by_tensor(spec.bits_per_value, "bits_per_value")
        return {}
    universe = resolver.einsum.universe
    widths = {tensor: universe.bits_per_value[tensor] for tensor in sorted(universe.tensors)}
    scale = spec.bits_per_value_scale
    if isinstance(scale, dict):
        for tensor, value in resolver.by_tensor(scale, "bits_per_value_scale").items():
            widths[tensor] *= resolver.fraction(value, "bits_per_value_scale")
    elif scale != 1:
        factor = resolver.fraction(scale, "bits_per_value_scale")
        widths = {tensor: width * factor for tensor, width in widths.items()}
    for tensor, value in resolver.by_tensor(spec.bits_per_value, "bits_per_value").items():
        bits = bits_of_format(value)
        widths[tensor] = resolver.fraction(value, "bits_per_value") if bits is None else bits
    return widths


def directions(resolver: Resolver, spec: TollSpec) -> dict[str, Direction]:
    """Return for each tensor which transfers a Toll charges: up, down or up_and_down.

    Raises SpecError for another word, or if a tensor is left out.
    """
    written = spec.direction
    if not isinstance(written, dict):
        one_direction = _one_direction(resolver, written)
        tensors = resolver.einsum.universe.tensors if resolver.einsum else frozenset()
        return dict.fromkeys(sorted(tensors), one_direction)
    values = resolver.by_tensor(written, "direction")
    result = {tensor: _one_direction(resolver, value) for tensor, value in values.items()}
    missing = sorted(resolver.einsum.universe.tensors - result.keys()) if resolver.einsum else []
    if missing:
        raise SpecError(
            f"direction says nothing about {', '.join(missing)}",
            where=resolver.where("direction"),
            instead="add a key `Other: up_and_down`, for example",
        )
    return result


def _one_direction(resolver: Resolver, value: object) -> Direction:
    if value == "both":
        value = "up_and_down"
    if value not in _DIRECTIONS:
        raise SpecError(
            "direction must be up, down or up_and_down",
            where=resolver.where("direction"),
            value=value,
            instead=did_you_mean(str(value), _DIRECTIONS) or None,
        )
    return cast(Direction, value)
