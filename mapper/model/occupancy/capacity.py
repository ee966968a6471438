"""Tiles that are live at the same time, and the check that they fit (theory/model.md §4.2).

While one Einsum runs, a tile of another Einsum is live if it is above a loop that both share (it
survives every turn of that loop), or if its tensor is written by an earlier Einsum for a later one
(theory/fusion.md §3). Persistent tiles are always live.

Example: Einsum 1 leaves T (10 bits) in a buffer for Einsum 3. While Einsum 2 runs with a tile of 7
bits, 17 bits are live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile
from math import inf
from typing import NoReturn

from tilewright.arch.errors import Where
from tilewright.arch.quantities import bits_text
from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.occupancy.occupancy import Occupancy, PathOccupancies
from tilewright.mapper.model.paths.path import Path
from tilewright.mapper.model.paths.view import Count, lowest_terms
from tilewright.mapper.workload.errors import InfeasibleMapping

Key = tuple[int, str]  # number of the Storage node, tensor
Tile = tuple[int, Occupancy]  # (number of the Einsum that uses it, tile)
# Einsums in order -> number of loops that each of them shares with the next one
SharedLoops = Callable[[list[PathOccupancies]], list[int]]
# (tile, number of the Einsum that uses it) -> a key, equal for tiles that share their bits
Copy = Callable[[Occupancy, int], object]
Sizes = Mapping[str, float]  # bits of each memory, as one Einsum sees them
# (bits of a tile, its memory, number of the Einsum that last saw it) -> the amount that counts
Weight = Callable[[Count, str, int], Count | float]


def loops_above_the_split(bodies: list[PathOccupancies]) -> list[int]:
    """Return how many loops each Einsum of a fused mapping shares with the next one.

    These are the loops above the Sequential node where their paths part. `bodies`: path and tiles
    of each Einsum in order of execution; the result has one number per pair of neighbours.
    """
    return [_above_the_split(first.path, second.path) for first, second in pairwise(bodies)]


def _above_the_split(first_path: Path, second_path: Path) -> int:
    for split, second_split in zip(first_path.splits, second_path.splits, strict=False):
        if split.branch != second_split.branch:
            return sum(
                isinstance(s, Temporal | Spatial) for s in first_path.steps[: split.position]
            )
    return 0


def loops_above_exchanged(bodies: list[PathOccupancies]) -> list[int]:
    """Return how many loops each Einsum shares with the next one, by accelforge's rule.

    Only loops above the tile of a tensor that both sides exchange count. `bodies`: path and tiles
    of each Einsum in order of execution; the result has one number per pair of neighbours.
    """
    depths = [0] * (len(bodies) - 1)
    for first, last, depth in _spans(bodies).values():
        for boundary in range(first, last):
            depths[boundary] = max(depths[boundary], depth)
    return depths


def _spans(bodies: list[PathOccupancies]) -> dict[Key, tuple[int, int, int]]:
    """Return, for each tensor that Einsums exchange, (first user, last user, loops above its tile).

    Users are numbers of Einsums; only outermost holders count.
    """
    spans: dict[Key, tuple[int, int, int]] = {}
    for number, body in enumerate(bodies):
        for occupancy in body.occupancies:
            if occupancy.backing:
                first, _, depth = spans.get(_key(occupancy), (number, 0, occupancy.loops_above))
                spans[_key(occupancy)] = (first, number, max(depth, occupancy.loops_above))
    return {key: span for key, span in spans.items() if span[0] < span[1]}


def one_per_storage(occupancy: Occupancy, einsum: int) -> object:
    """Return a key of a reserved tile; tiles with equal keys share their bits in a memory.

    It is (number of the Storage node, tensor), so that Einsums that use the same Storage node
    share its tile. `einsum` is not used. Rule of the default conventions.
    """
    del einsum
    return _key(occupancy)


def one_per_einsum(occupancy: Occupancy, einsum: int) -> object:
    """Return a key of a reserved tile; tiles with equal keys share their bits in a memory.

    It has the number of the Einsum, so that each has its own tile, except for the outermost holder
    of a tensor, whose tile all Einsums below it share. Rule of the accelforge conventions.
    """
    return _key(occupancy) if occupancy.backing else (*_key(occupancy), einsum)


def peak_bits(bodies: list[PathOccupancies], shared: SharedLoops, copy: Copy) -> dict[str, Count]:
    """Return the largest number of bits in use at one time in one instance, by memory name.

    `bodies`: path and reserved tiles of each Einsum, in order of execution. `shared`: finds how
    many loops neighbours share; `copy`: (tile, Einsum number) to a key, equal for tiles that share
    bits.
    """
    peaks = _peaks(bodies, shared, copy, _all_bits)
    return {name: lowest_terms(Fraction(bits)) for name, bits in peaks.items()}


def _all_bits(bits: Count, memory: str, number: int) -> Count:
    del memory, number
    return bits


def peak_parts(
    bodies: list[PathOccupancies], shared: SharedLoops, copy: Copy, sizes: Sequence[Sizes]
) -> dict[str, Count | float]:
    """Return the largest share of its size in use at one time, by memory name; 1 is full.

    Used instead of `peak_bits` where the size of a memory depends on the Einsum. `sizes`: bits of
    each memory, as each Einsum sees them. A tile counts relative to the size that the running
    Einsum sees or, if that does not use it, the last Einsum before it that did. `bodies`,
    `shared`, `copy`: as for `peak_bits` (tiles of each Einsum, loops in common, keys of shared
    tiles).
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
        for occupancy in body.occupancies
    }
    for (number, body), tiles in zip(numbered, _alive(bodies, shared(bodies)), strict=True):
        # a tile that this Einsum does not use counts as the last Einsum before it saw the tile
        seen |= {_key(occupancy): (occupancy.width, number) for occupancy in body.occupancies}
        live: dict[str, dict[object, Count | float]] = {}
        for owner, occupancy in tiles:
            in_memory, key = live.setdefault(occupancy.component, {}), copy(occupancy, owner)
            width, last = seen[_key(occupancy)]
            counted = weight(_in_width(occupancy, width), occupancy.component, last)
            in_memory[key] = max(in_memory.get(key, 0), counted)
        for name, in_memory in live.items():
            peaks[name] = max(peaks.get(name, 0), sum(in_memory.values()))
    return peaks


def _alive(bodies: list[PathOccupancies], shared: list[int]) -> Iterator[list[Tile]]:
    """Yield, per Einsum, the tiles that are live while it runs, each with its owner's number.

    `bodies`: tiles of each Einsum; `shared`: per pair of neighbours, how many loops they share.
    """
    tiles = [(n, occupancy) for n, body in enumerate(bodies) for occupancy in body.occupancies]
    persistent = [(n, occupancy) for n, occupancy in tiles if occupancy.persistent]
    exchanged = _exchanged_tiles(bodies)
    for number, body in enumerate(bodies):
        running = [(number, occupancy) for occupancy in body.occupancies]
        around = _above_shared_loops(bodies, shared, number)
        yield [*running, *persistent, *exchanged[number], *around]


def _exchanged_tiles(bodies: list[PathOccupancies]) -> list[list[Tile]]:
    """Return, per Einsum, the tiles of exchanged tensors that are live while it runs.

    `bodies`: tiles of each Einsum.
    """
    tiles: list[list[Tile]] = [[] for _ in bodies]
    spans = _spans(bodies)
    for owner, body in enumerate(bodies):
        for occupancy in body.occupancies:
            first, last, _ = spans.get(_key(occupancy), (0, -1, 0))
            for number in range(first, last + 1):
                tiles[number].append((owner, occupancy))
    return tiles


def _above_shared_loops(
    bodies: list[PathOccupancies], shared: list[int], number: int
) -> Iterator[Tile]:
    """Yield the tiles of other Einsums above a loop that these share with Einsum `number`.

    `shared`: per pair of neighbours, how many loops they share.
    """
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
                for occupancy in bodies[owner].occupancies
                if occupancy.loops_above < depth
            )


def _in_width(occupancy: Occupancy, width: Count) -> Count:
    """Return the bits of a tile if its values were `width` bits wide."""
    if width == occupancy.width or not occupancy.width:
        return occupancy.bits
    return Fraction(occupancy.bits) * width / occupancy.width


def check_capacity(bodies: list[PathOccupancies], peaks: Mapping[str, Count], sizes: Sizes) -> None:
    """Raise InfeasibleMapping for the first memory with more bits in use at one time than it has.

    `peaks`: most bits in use, `sizes`: bits of one instance, both by memory name; equality is
    allowed. `bodies`: path and tiles of each Einsum, to name the largest tiles and their place in
    the file.
    """
    for name, bits in peaks.items():
        if bits > sizes[name]:
            text = f"need {bits_text(float(bits))}, but its size is {bits_text(sizes[name])}"
            _refuse(bodies, name, float(bits), text)


def check_parts(bodies: list[PathOccupancies], limits: Mapping[str, Count | float]) -> None:
    """Raise InfeasibleMapping for the first memory whose largest share in use is above 1.

    `limits`: share of its size in use at one time, by memory. `bodies`: paths and tiles of the
    Einsums, to name the largest tiles in the message.
    """
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
            f"{occupancy.tensor} takes {float(occupancy.bits):,.9g}" for occupancy, _ in tiles[:3]
        ),
    )


def _largest(bodies: list[PathOccupancies], name: str) -> list[tuple[Occupancy, Where | None]]:
    """Return the tiles in memory `name` and where they are placed, the largest first.

    `bodies`: tiles of each Einsum.
    """
    tiles = [
        (occupancy, body.path.where(body.path.origins.index(occupancy.origin)))
        for body in bodies
        for occupancy in body.occupancies
        if occupancy.component == name
    ]
    return sorted(tiles, key=lambda tile: (-tile[0].bits, tile[0].key))


def _key(occupancy: Occupancy) -> Key:
    return occupancy.origin, occupancy.tensor
