"""Which tiles live at the same time, and whether they fit (accelforge.md §2.4).

While one Einsum runs, a tile of another is live too if it sits above a loop that both run in (it
survives every turn of it), or if it belongs to a tensor that an earlier Einsum left there for a
later one (lattice-dp.md §8.3).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tilewright.arch.errors import Where
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.mapping import Spatial, Temporal
from tilewright.mapper.model.occupancy import Body, Occupancy
from tilewright.mapper.model.view import Count, lowest_terms

Key = tuple[int, str]  # number of the Storage node, tensor
# (all Einsums, one, a later one) -> number of loops that both run in
SharedLoops = Callable[[list[Body], int, int], int]
# (tile, number of the Einsum that uses it) -> equal for tiles that share their room
Copy = Callable[[Occupancy, int], object]


def loops_above_the_split(bodies: list[Body], one: int, other: int) -> int:
    """Count the loops above the Sequential at which the two Einsums part."""
    mine, its = bodies[one].path, bodies[other].path
    for split, its_split in zip(mine.splits, its.splits, strict=False):
        if split.branch != its_split.branch:
            return sum(isinstance(s, Temporal | Spatial) for s in mine.steps[: split.position])
    return 0


def loops_above_exchanged(bodies: list[Body], one: int, other: int) -> int:
    """Count the loops above the tensors that are exchanged, as accelforge does.

    Loops of the mapping that no exchanged tensor sits below do not count as shared.
    """
    depths = []
    spans = _spans(bodies)
    for boundary in range(min(one, other), max(one, other)):
        alive = [depth for first, last, depth in spans.values() if first <= boundary < last]
        depths.append(max(alive, default=0))
    return min(depths, default=0)


def _spans(bodies: list[Body]) -> dict[Key, tuple[int, int, int]]:
    """Return (first user, last user, loops above) of each tensor that Einsums exchange."""
    spans: dict[Key, tuple[int, int, int]] = {}
    for number, body in enumerate(bodies):
        for held in body.held:
            if held.backing:
                first, _, depth = spans.get(_key(held), (number, 0, held.loops_above))
                spans[_key(held)] = (first, number, max(depth, held.loops_above))
    return {key: span for key, span in spans.items() if span[0] < span[1]}


def one_per_storage(held: Occupancy, einsum: int) -> object:
    """Let Einsums that use one Storage node share one tile."""
    del einsum
    return _key(held)


def one_per_einsum(held: Occupancy, einsum: int) -> object:
    """Give every Einsum a tile of its own, except of what is backed there, as accelforge does."""
    return _key(held) if held.backing else (*_key(held), einsum)


def peak_bits(bodies: list[Body], shared: SharedLoops, copy: Copy) -> dict[str, Count]:
    """Return the most bits that live at a time in one instance of each memory in use."""
    peaks: dict[str, Count] = {}
    spans = _spans(bodies)
    for number in range(len(bodies)):
        live: dict[str, dict[object, Count]] = {}
        widths = _widths(bodies, number)
        for owner, body in enumerate(bodies):
            common = shared(bodies, owner, number) if owner != number else 0
            for held in body.held:
                span = spans.get(_key(held))
                if owner == number or held.persistent or _is_live(held, span, number, common):
                    tiles = live.setdefault(held.component, {})
                    bits = _in_width(held, widths[_key(held)])
                    key = copy(held, owner)
                    tiles[key] = max(tiles.get(key, 0), bits)
        for name, tiles in live.items():
            peaks[name] = max(peaks.get(name, 0), sum(tiles.values()))
    return {name: lowest_terms(Fraction(bits)) for name, bits in peaks.items()}


def _widths(bodies: list[Body], number: int) -> dict[Key, Count]:
    """Return the bits per value of every tile while an Einsum runs: as it sees them.

    What it does not touch has the width that the last Einsum before it gave it.
    """
    later, earlier = reversed(bodies[number + 1 :]), bodies[: number + 1]
    return {_key(held): held.width for body in (*later, *earlier) for held in body.held}


def _in_width(held: Occupancy, width: Count) -> Count:
    """Return the bits of a tile in another width of its values."""
    if width == held.width or not held.width:
        return held.bits
    return Fraction(held.bits) * width / held.width


def _is_live(held: Occupancy, span: tuple[int, int, int] | None, number: int, common: int) -> bool:
    """Is a tile of another Einsum live while Einsum `number` runs, in `common` shared loops?"""
    if held.loops_above < common:
        return True
    return span is not None and span[0] <= number <= span[1]


def check_capacity(bodies: list[Body], peaks: dict[str, Count], sizes: dict[str, float]) -> None:
    """Raise InfeasibleMapping for the first memory whose tiles do not fit; `sizes` in bits."""
    for name, bits in peaks.items():
        size = sizes[name]
        if bits > size:
            tiles = _largest(bodies, name)
            raise InfeasibleMapping(
                f"the tiles in {name} need {float(bits):g} bits, but its size is {size:g} bits",
                where=tiles[0][1],
                value=float(bits),
                instead=f"smaller tile_shapes in loops above the Storage nodes of {name}: "
                + ", ".join(f"{held.tensor} takes {float(held.bits):g}" for held, _ in tiles[:3]),
            )


def _largest(bodies: list[Body], name: str) -> list[tuple[Occupancy, Where | None]]:
    """Return the tiles in memory `name` and where they are placed, the largest first."""
    tiles = [
        (held, body.path.where(body.path.origins.index(held.origin)))
        for body in bodies
        for held in body.held
        if held.component == name
    ]
    return sorted(tiles, key=lambda tile: (-tile[0].bits, tile[0].key))


def _key(held: Occupancy) -> Key:
    return held.origin, held.tensor
