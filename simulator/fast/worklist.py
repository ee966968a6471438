"""The worklist of the solver: a ring of units, each of them in it once."""

from __future__ import annotations

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inline_kernel
from tilewright.simulator.fast.unit_times import Times


@inline_kernel
def following(times: Times, place: int) -> Word:
    """Return the next place of the worklist's ring."""
    return place + 1 if place + 2 < times.queue.size - 1 else 0


@inline_kernel
def put(times: Times, u: int) -> None:
    """Append a unit to the worklist."""
    tail = times.queue[-1]
    times.queue[tail] = u
    times.queue[-1] = following(times, tail)


@inline_kernel
def enqueue(times: Times, u: int) -> None:
    """Put a unit at the end of the worklist, once."""
    if times.queued[u] == 1:
        return
    times.queued[u] = 1
    put(times, u)
