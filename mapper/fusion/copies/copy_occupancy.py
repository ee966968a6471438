"""What a copy Einsum itself takes in the memories where tensors are exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.mapper.model.occupancy.occupancy import Occupancy


@dataclass(frozen=True, slots=True)
class CopyOccupancy:
    """Say what a copy Einsum itself occupies in the memories where tensors are exchanged.

    `absent`: its tensors on chip that take no bits while it runs, because the other tensor stands
    in their place. `tile_widths`: (tensor, bits per value) of tiles that stand where this tensor's
    holder stands, and shrink with its tile. `fixed_bits`: bits of tiles below all shared loops, per
    exchange memory.
    """

    absent: frozenset[str]
    tile_widths: tuple[tuple[str, float], ...]
    fixed_bits: tuple[float, ...]


def copy_occupancy(
    occupied: Sequence[Occupancy],
    on_chip: Mapping[str, int],
    memories: Sequence[str],
    values: Mapping[str, float],
) -> CopyOccupancy:
    """Sort what a copy Einsum occupies on chip by whether loops above it would shrink it.

    `occupied`: the tiles that the model counts for the mapping of the copy alone. `on_chip`: number
    of the Storage node of each tensor that the copy keeps for other Einsums, in the first of
    `memories`; shared loops may be put above these nodes. `memories`: names of the memories in
    which tensors are exchanged. `values`: number of values of each tensor, whole.
    """
    first, *deeper = memories
    in_first = [item for item in occupied if item.component == first]
    present = _backed_tensors(in_first, on_chip)
    tensor_at = {node: tensor for tensor, node in on_chip.items()}
    tile_widths: list[tuple[str, float]] = []
    below_loops: list[Occupancy] = []
    for item in in_first:
        if item.backing and item.tensor in present:
            continue
        tensor = tensor_at.get(item.origin)
        if tensor is None:
            below_loops.append(item)
        else:
            tile_widths.append((tensor, float(item.bits) / values[tensor]))
    fixed = (_bits_in(below_loops, first), *(_bits_in(occupied, memory) for memory in deeper))
    return CopyOccupancy(frozenset(on_chip) - present, tuple(tile_widths), fixed)


def _backed_tensors(occupied: Iterable[Occupancy], node_of: Mapping[str, int]) -> frozenset[str]:
    """Return the tensors whose outermost holder is the Storage node given for them.

    `occupied`: tiles that the model counts. `node_of`: tensor to number of the node.
    """
    backed = {(item.tensor, item.origin) for item in occupied if item.backing}
    return frozenset(tensor for tensor, node in node_of.items() if (tensor, node) in backed)


def _bits_in(occupied: Iterable[Occupancy], memory: str) -> float:
    return sum(float(item.bits) for item in occupied if item.component == memory)
