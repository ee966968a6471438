"""Why buffers do not fit a memory: the fullest step, the tiles alive then, the smallest change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Final

from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.workload.errors import InfeasibleMapping

Fits = Callable[[Sequence[BufferRequest]], bool]
MOST_CHANGES: Final = 256


def fullest_step(requests: Sequence[BufferRequest]) -> tuple[int, tuple[BufferRequest, ...]]:
    """Return the first step at which the most bytes are alive, and the buffers alive then."""
    steps = sorted({request.first for request in requests})
    alive = {step: tuple(r for r in requests if r.first <= step <= r.last) for step in steps or [0]}
    step = max(alive, key=lambda at: (sum(r.bytes for r in alive[at]), -at))
    return step, alive[step]


def no_room(
    requests: Sequence[BufferRequest], capacity: int, fits: Fits, *, proven: bool, unit: str = ""
) -> InfeasibleMapping:
    """Return the error for buffers without a packing: what is alive, and what would fit.

    `fits`: tells whether other buffers have a packing; `proven`: whether these have none, or none
    was found in time; `unit`: whose memory it is.
    """
    step, alive = fullest_step(requests)
    needed = sum(request.bytes for request in alive)
    tiles = ", ".join(_tiles(request) for request in alive)
    where = f"{unit}: " if unit else ""
    what = f"{where}step {step} has {tiles} alive: {needed} of {capacity} bytes"
    if needed <= capacity:
        reason = "their alignments, banks and lifetimes leave no addresses"
        what = f"{what}, but {reason if proven else 'no addresses were found in time'}"
    return InfeasibleMapping(what, instead=smallest_change(requests, alive, fits))


def smallest_change(
    requests: Sequence[BufferRequest], alive: Sequence[BufferRequest], fits: Fits
) -> str:
    """Return the changes after which all buffers fit: the smallest of depths, that of one tile.

    Of depths, the fewest buffers, then the fewest bytes; of tiles, the least share of one in
    `alive`. If neither is enough, the greatest share of all tiles that fits. Each is checked by
    `fits`.
    """
    changes = [*_shallower(requests, fits), *_smaller(requests, alive, fits)]
    return ", or ".join(changes) if changes else _all_smaller(requests, fits)


def _tiles(request: BufferRequest) -> str:
    count = f"{request.depth} × " if request.depth > 1 else ""
    return f"{request.name} ({count}{request.tile_bytes} bytes)"


def _shallower(requests: Sequence[BufferRequest], fits: Fits) -> Iterator[str]:
    """Yield, as text, the smallest change of buffers' depths after which all fit, if any."""
    depths = [request.depth for request in requests]
    if prod(depths) > MOST_CHANGES:
        return

    def size(choice: tuple[int, ...]) -> tuple[int, int]:
        fewer = [depth - left for depth, left in zip(depths, choice, strict=True)]
        freed = sum(r.stride * less for r, less in zip(requests, fewer, strict=True))
        return sum(map(bool, fewer)), freed

    for choice in sorted(product(*(range(depth, 0, -1) for depth in depths)), key=size):
        changed = [replace(r, depth=d) for r, d in zip(requests, choice, strict=True)]
        if fits(changed):
            yield f"{_new_depths(requests, changed)}, which frees {size(choice)[1]} bytes"
            return


def _new_depths(requests: Sequence[BufferRequest], changed: Sequence[BufferRequest]) -> str:
    """Return, as text, the new depth of each buffer whose depth in `changed` is another one."""
    return " and ".join(
        f"depth {after.depth} for {after.name}"
        for before, after in zip(requests, changed, strict=True)
        if before.depth != after.depth
    )


def _smaller(
    requests: Sequence[BufferRequest], alive: Sequence[BufferRequest], fits: Fits
) -> Iterator[str]:
    """Yield, as text, the largest tile that fits, for the buffer that shrinks least in share."""
    best: tuple[Fraction, str, int] | None = None
    for request in alive:
        tile = _largest_tile(requests, request, fits)
        if tile:
            choice = Fraction(-tile, request.tile_bytes), request.name, tile
            best = min(best or choice, choice)
    if best:
        yield f"tiles of at most {best[2]} bytes for {best[1]}"


def _all_smaller(requests: Sequence[BufferRequest], fits: Fits) -> str:
    """Return, as text, to which whole percentage all tiles must shrink to fit.

    With single buffers if it needs them.
    """
    single = [replace(request, depth=1) for request in requests]
    for tried, with_depth in ((requests, ""), (single, " and depth 1 for every buffer")):
        for percent in range(99, 0, -1):
            changed = [replace(r, tile_bytes=max(1, r.tile_bytes * percent // 100)) for r in tried]
            if fits(changed):
                return f"tiles of at most {percent} % of these bytes{with_depth}"
    return "fewer buffers alive together"


def _largest_tile(requests: Sequence[BufferRequest], request: BufferRequest, fits: Fits) -> int:
    """Return the most bytes of one buffer's tile with which all buffers fit; 0 if none is found."""

    def fits_with(tile: int) -> bool:
        return fits([replace(r, tile_bytes=tile) if r is request else r for r in requests])

    low, high = 0, request.tile_bytes
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits_with(middle) else (low, middle)
    return low
