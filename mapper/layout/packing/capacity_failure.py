"""Why buffers do not fit a memory: the fullest step, the tiles alive then, the smallest change."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.workload.errors import InfeasibleMapping


def fullest_step(requests: Sequence[BufferRequest]) -> tuple[int, tuple[BufferRequest, ...]]:
    """Return the first step at which the most bytes are alive, and the buffers alive then."""
    steps = sorted({request.first for request in requests})
    alive = {step: tuple(r for r in requests if r.first <= step <= r.last) for step in steps or [0]}
    step = max(alive, key=lambda at: (sum(r.bytes for r in alive[at]), -at))
    return step, alive[step]


def no_room(
    requests: Sequence[BufferRequest], capacity: int, *, proven: bool, unit: str = ""
) -> InfeasibleMapping:
    """Return the error for buffers without a packing: what is alive, and what would fit.

    `proven`: whether there is none, or only none was found in time; `unit`: whose memory it is.
    """
    step, alive = fullest_step(requests)
    needed = sum(request.bytes for request in alive)
    tiles = ", ".join(_tiles(request) for request in alive)
    where = f"{unit}: " if unit else ""
    what = f"{where}step {step} has {tiles} alive: {needed} of {capacity} bytes"
    if needed <= capacity:
        reason = "their alignments, banks and lifetimes leave no addresses"
        what = f"{what}, but {reason if proven else 'no addresses were found in time'}"
    return InfeasibleMapping(what, instead=_change(alive, needed - capacity))


def _tiles(request: BufferRequest) -> str:
    count = f"{request.depth} × " if request.depth > 1 else ""
    return f"{request.name} ({count}{request.tile_bytes} bytes)"


def _change(alive: Sequence[BufferRequest], missing: int) -> str:
    """Return the change that frees the fewest bytes of those that free enough."""
    shallower = [
        (request.stride * fewer, request.name, request.depth - fewer)
        for request in alive
        for fewer in range(1, request.depth)
        if request.stride * fewer >= missing
    ]
    if shallower:
        freed, name, depth = min(shallower)
        return f"depth {depth} for {name}, which frees {freed} bytes"
    largest = max(alive, key=lambda request: (request.tile_bytes * request.depth, request.name))
    smaller = largest.tile_bytes - -(-max(missing, 1) // largest.depth)
    if smaller > 0:
        return f"tiles of at most {smaller} bytes for {largest.name}"
    return "a larger grid or smaller tiles"
