"""Which tiles live at the same time, and whether they fit (model.md §4.2).

While one Einsum runs, a tile of another is live too if it sits above a loop that both run in (it
survives every turn of it), or if it belongs to a tensor that an earlier Einsum left there for a
later one (fusion.md §3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile
from math import inf
from typing import NoReturn

from tilewright.arch.errors import Where
from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.occupancy import Occupancy, PathOccupancies
from tilewright.mapper.model.path import Path
from tilewright.mapper.model.view import Count, lowest_terms
from tilewright.mapper.workload.errors import InfeasibleMapping

Key = tuple[int, str]  # number of the Storage node, tensor
Tile = tuple[int, Occupancy]  # with the number of the Einsum that uses it
# Einsums in order -> number of loops that each of them shares with the next one
SharedLoops = Callable[[list[PathOccupancies]], list[int]]
# (tile, number of the Einsum that uses it) -> equal for tiles that share their room
Copy = Callable[[Occupancy, int], object]
Sizes = Mapping[str, float]  # bits of each memory, as one Einsum sees them
# (bits of a tile, its memory, number of the Einsum that last saw it) -> what counts
Weight = Callable[[Count, str, int], Count | float]


def loops_above_the_split(bodies: list[PathOccupancies]) -> list[int]:
    """Count the loops above the Sequential at which an Einsum and the next one part."""
    return [_above_the_split(first.path, second.path) for first, second in pairwise(bodies)]


def _above_the_split(first_path: Path, second_path: Path) -> int:
    for split, its_split in zip(first_path.splits, second_path.splits, strict=False):
        if split.branch != its_split.branch:
            return sum(
                isinstance(s, Temporal | Spatial) for s in first_path.steps[: split.position]
            )
    return 0


def loops_above_exchanged(bodies: list[PathOccupancies]) -> list[int]:
    """Count the loops above the tensors that are exchanged, as accelforge does.

    Loops of the mapping that no exchanged tensor sits below do not count as shared.
    """
    depths = [0] * (len(bodies) - 1)
    for first, last, depth in _spans(bodies).values():
        for boundary in range(first, last):
            depths[boundary] = max(depths[boundary], depth)
    return depths


def _spans(bodies: list[PathOccupancies]) -> dict[Key, tuple[int, int, int]]:
    """Return (first user, last user, loops above) of each tensor that Einsums exchange."""
    spans: dict[Key, tuple[int, int, int]] = {}
    for number, body in enumerate(bodies):
        for occupancy in body.held:
            if occupancy.backing:
                first, _, depth = spans.get(_key(occupancy), (number, 0, occupancy.loops_above))
                spans[_key(occupancy)] = (first, number, max(depth, occupancy.loops_above))
    return {key: span for key, span in spans.items() if span[0] < span[1]}


def one_per_storage(occupancy: Occupancy, einsum: int) -> object:
    """Let Einsums that use one Storage node share one tile."""
    del einsum
    return _key(occupancy)


def one_per_einsum(occupancy: Occupancy, einsum: int) -> object:
    """Give every Einsum a tile of its own, except of what is backed there, as accelforge does."""
    return _key(occupancy) if occupancy.backing else (*_key(occupancy), einsum)


def peak_bits(bodies: list[PathOccupancies], shared: SharedLoops, copy: Copy) -> dict[str, Count]:
    """Return the most bits that live at a time in one instance of each memory in use."""
    peaks = _peaks(bodies, shared, copy, _all_bits)
    return {name: lowest_terms(Fraction(bits)) for name, bits in peaks.items()}


def _all_bits(bits: Count, memory: str, number: int) -> Count:
    del memory, number
    return bits


def peak_parts(
    bodies: list[PathOccupancies], shared: SharedLoops, copy: Copy, sizes: Sequence[Sizes]
) -> dict[str, Count | float]:
    """Return the largest part of each memory that is full at a time.

    `sizes` per Einsum: an expression may make them differ. A tile fills the part that the running
    Einsum sees, or, where that one does not use it, the last one that does (as accelforge does).
    """

    def part(bits: Count, memory: str, number: int) -> Count | float:
        size = sizes[number][memory]
        if size == inf or not bits:
            return 0
        return Fraction(bits) / Fraction(size) if size else inf

    return _peaks(bodies, shared, copy, part)


def _peaks(
    bodies: list[PathOccupancies], shared: SharedLoops, copy: Copy, weight: Weight
) -> dict[str, Count | float]:
    peaks: dict[str, Count | float] = {}
    numbered = list(enumerate(bodies))
    seen = {
        _key(occupancy): (occupancy.width, n)
        for n, body in reversed(numbered)
        for occupancy in body.held
    }
    for (number, body), tiles in zip(numbered, _alive(bodies, shared(bodies)), strict=True):
        # what an Einsum does not touch stays as the last one before it saw it
        seen |= {_key(occupancy): (occupancy.width, number) for occupancy in body.held}
        live: dict[str, dict[object, Count | float]] = {}
        for owner, occupancy in tiles:
            room, key = live.setdefault(occupancy.component, {}), copy(occupancy, owner)
            width, last = seen[_key(occupancy)]
            counted = weight(_in_width(occupancy, width), occupancy.component, last)
            room[key] = max(room.get(key, 0), counted)
        for name, room in live.items():
            peaks[name] = max(peaks.get(name, 0), sum(room.values()))
    return peaks


def _alive(bodies: list[PathOccupancies], shared: list[int]) -> Iterator[list[Tile]]:
    """Yield the tiles that live while each Einsum runs."""
    everywhere = [(n, occupancy) for n, body in enumerate(bodies) for occupancy in body.held]
    everywhere = [(n, occupancy) for n, occupancy in everywhere if occupancy.persistent]
    tiles_of_others = _left_for_others(bodies)
    for number, body in enumerate(bodies):
        own_tiles = [(number, occupancy) for occupancy in body.held]
        yield [*own_tiles, *everywhere, *tiles_of_others[number], *_around(bodies, shared, number)]


def _left_for_others(bodies: list[PathOccupancies]) -> list[list[Tile]]:
    """Return the tiles of exchanged tensors that live while each Einsum runs."""
    tiles: list[list[Tile]] = [[] for _ in bodies]
    spans = _spans(bodies)
    for owner, body in enumerate(bodies):
        for occupancy in body.held:
            first, last, _ = spans.get(_key(occupancy), (0, -1, 0))
            for number in range(first, last + 1):
                tiles[number].append((owner, occupancy))
    return tiles


def _around(bodies: list[PathOccupancies], shared: list[int], number: int) -> Iterator[Tile]:
    """Yield the tiles of other Einsums above the loops that they share with Einsum `number`."""
    for neighbours, loops in (
        (range(number + 1, len(bodies)), shared[number:]),
        (range(number - 1, -1, -1), shared[:number][::-1]),
    ):
        common = accumulate(loops, min)
        for owner, depth in takewhile(
            lambda pair: pair[1] > 0, zip(neighbours, common, strict=True)
        ):
            yield from (
                (owner, occupancy)
                for occupancy in bodies[owner].held
                if occupancy.loops_above < depth
            )


def _in_width(occupancy: Occupancy, width: Count) -> Count:
    """Return the bits of a tile in another width of its values."""
    if width == occupancy.width or not occupancy.width:
        return occupancy.bits
    return Fraction(occupancy.bits) * width / occupancy.width


def check_capacity(bodies: list[PathOccupancies], peaks: Mapping[str, Count], sizes: Sizes) -> None:
    """Raise InfeasibleMapping for the first memory whose tiles do not fit; `sizes` in bits."""
    for name, bits in peaks.items():
        if bits > sizes[name]:
            text = f"need {float(bits):g} bits, but its size is {sizes[name]:g} bits"
            _refuse(bodies, name, float(bits), text)


def check_parts(bodies: list[PathOccupancies], limits: Mapping[str, Count | float]) -> None:
    """Raise InfeasibleMapping for the first memory of which more than all is needed."""
    for name, limit in limits.items():
        if limit > 1:
            text = f"need {float(limit):g} times its size, which is not the same for all Einsums"
            _refuse(bodies, name, float(limit), text)


def _refuse(bodies: list[PathOccupancies], name: str, needed: float, text: str) -> NoReturn:
    tiles = _largest(bodies, name)
    raise InfeasibleMapping(
        f"the tiles in {name} {text}",
        where=tiles[0][1],
        value=needed,
        instead=f"smaller tile_shapes in loops above the Storage nodes of {name}: "
        + ", ".join(
            f"{occupancy.tensor} takes {float(occupancy.bits):g}" for occupancy, _ in tiles[:3]
        ),
    )


def _largest(bodies: list[PathOccupancies], name: str) -> list[tuple[Occupancy, Where | None]]:
    """Return the tiles in memory `name` and where they are placed, the largest first."""
    tiles = [
        (occupancy, body.path.where(body.path.origins.index(occupancy.origin)))
        for body in bodies
        for occupancy in body.held
        if occupancy.component == name
    ]
    return sorted(tiles, key=lambda tile: (-tile[0].bits, tile[0].key))


def _key(occupancy: Occupancy) -> Key:
    return occupancy.origin, occupancy.tensor
