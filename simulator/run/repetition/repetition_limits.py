"""How often a machine repeats what it did between two equal states (theory/engines.md §12).

The numbers that the key of a state does not hold change by the same amount each time. So the
machine repeats itself until one of them comes to a number that it is compared with.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.store_header import NEVER
from tilewright.simulator.run.repetition.machine_state import MachineState, Snapshot

Ids = npt.NDArray[np.int64]

LEAST_LEFT: Final = 8
"""Values that an operation has before it at least: more than any number they are compared with."""
CHANGES: Final = (
    *("counters", "sets", "runs", "places", "left", "stocks", "filters", "passed", "pops", "end"),
)
"""What goes on by the same change each time."""


class States(NamedTuple):
    """Three states with one key, at equal distances in cycles: `first`, `before` and `now`."""

    first: Snapshot
    before: Snapshot
    now: Snapshot

    def change(self, name: str) -> Ids:
        """Return by how much some numbers have changed from `before` to `now`.

        name: the field of a `Snapshot` that has the numbers.
        """
        return np.asarray(getattr(self.now, name) - getattr(self.before, name))


def repetitions(state: MachineState, store: at.Table, given: tuple[Snapshot, ...]) -> int:
    """Return how often the machine will repeat what it did from the second to the third state.

    given: three states with one key, at equal distances. `store`: at the third one. 0: not once,
    since numbers changed otherwise the first time, or a limit is too near.
    """
    states = States(*given)
    earlier = States(states.first, states.first, states.before)
    alike = all(np.array_equal(states.change(name), earlier.change(name)) for name in CHANGES)
    if not alike or not _served_alike(state, store, states):
        return 0
    limits = (_of_counters, _of_operations, _of_filters, _of_streams)
    return max(0, min(limit(state, store, states) for limit in limits))


def _served_alike(state: MachineState, store: at.Table, states: States) -> bool:  # noqa: ARG001
    """Return whether the FIFOs that share links were served in the same order each time.

    Those that were served were so once per period, at equal distances; all others before all of
    them.
    """
    first, before, now = states
    moved = now.popped != before.popped
    cycles = now.cycle - before.cycle
    alike = (now.popped - before.popped == cycles) & (before.popped - first.popped == cycles)
    if not alike[moved].all() or (now.popped != first.popped)[~moved].any():
        return False
    return bool(now.popped[~moved].max(initial=-1) < first.popped[moved].min(initial=NEVER))


def _left_below(first: Ids, now: Ids, change: Ids, limits: Ids) -> int:
    """Return how often rising numbers can change before the next of their limits.

    first, now: (numbers,) at the first state and now; change: per repetition. `limits`: (numbers,
    limits) of each, in any order. A limit that was passed since the first state leaves none.
    """
    if not first.size:
        return NEVER
    following = np.where(limits > first[:, None], limits, NEVER).min(axis=1)
    return int(((following - 1 - now) // change).min())


def _of_counters(state: MachineState, store: at.Table, states: States) -> int:  # noqa: ARG001
    """Return how often all tests of counters will have the same outcome as between the states.

    A counter that is set each time is the same afterwards. One that moves may not have been set,
    only increased, and all its values since the first state lie between two numbers that it is
    compared with.
    """
    first, now, change = states.first, states.now, states.change("counters")
    was_set, times = now.sets != first.sets, NEVER
    for group in state.counters:
        moving = group.places[change[group.places] != 0]
        if not moving.size:
            continue
        if not group.rises or was_set[moving].any() or (change[moving] < 0).any():
            return 0
        limits = np.broadcast_to(
            np.append(group.limits, NEVER), (moving.size, group.limits.size + 1)
        )
        left = _left_below(first.counters[moving], now.counters[moving], change[moving], limits)
        times = min(times, left)
    return times


def _of_operations(state: MachineState, store: at.Table, states: States) -> int:
    """Return how often the operations that run can do as many values again as between the states.

    0 if one of them has begun since the first state; NEVER (no limit) if none has done a value.
    """
    change = states.change("left")
    going = np.flatnonzero(change)
    if not going.size:
        return NEVER
    operation = store[state.threads[going] + at.T_OP]
    begun = state.runs[going] + store[operation + at.O_RUNS] - state.parts.runs.start
    if (change[going] > 0).any() or (states.now.runs[begun] != states.first.runs[begun]).any():
        return 0
    return int(((states.now.left[going] - LEAST_LEFT) // -change[going]).min())


def _of_filters(state: MachineState, store: at.Table, states: States) -> int:
    """Return how often filters with counters will do the same with the words that come.

    A filter whose count moves has counted all words, and has not restarted.
    """
    change = states.change("filters")
    moving = np.flatnonzero(change)
    if not moving.size:
        return NEVER
    if (change[moving] != states.change("passed")[moving]).any():
        return 0
    rows = store[state.routers[moving][:, None] + np.arange(at.X_WIDTH)]
    if (rows[:, at.X_CONTROL_ONLY] == 1).any():
        return 0
    limit = rows[np.arange(moving.size), at.X_LIMIT + rows[:, at.X_TURN]]
    inclusive, most = rows[:, at.X_INCLUSIVE], rows[:, at.X_MOST]
    limits = np.stack([limit + 1, limit + inclusive - 1, most + inclusive], axis=1)
    first, now = states.first.filters[moving], states.now.filters[moving]
    return _left_below(first, now, change[moving], limits)


def _of_streams(state: MachineState, store: at.Table, states: States) -> int:
    """Return how often as many words can enter and leave at the border, the last one left out."""
    now, change, entering = states.now, states.change("stocks"), state.sources.size
    taken, given = -change[:entering], change[entering:]
    if (taken < 0).any() or (given < 0).any():
        return 0
    left = now.stocks[:entering] - 1
    space = store[state.sinks + at.F_CAP] - 1 - now.stocks[entering:]
    most = [left[taken > 0] // taken[taken > 0], space[given > 0] // given[given > 0]]
    ready = _of_readiness(state, store, states, taken)
    return int(np.concatenate([*most, ready]).min(initial=NEVER))


def _of_readiness(state: MachineState, store: at.Table, states: States, taken: Ids) -> Ids:
    """Return how often words of border streams will be as ready as they were: (streams,).

    taken: words of each that enter in a period. They are if as many become ready in a period, or if
    those of a period are ready at its beginning. Of a stream of a word a cycle one is enough: at
    most one enters in a cycle, so the next one stays ready.
    """
    sources, first, now = state.sources, states.first, states.now
    period, each = now.cycle - states.before.cycle, state.intervals * taken

    def early(then: Snapshot) -> Ids:
        """Return by how many cycles the words of the period behind a state are ready early."""
        entered = store[sources + at.F_CAP] - then.stocks[: sources.size]
        ahead = np.where(state.intervals == 1, 0, each)
        return np.asarray(then.cycle - state.starts - state.intervals * entered - ahead)

    lost = each - period  # cycles by which they are less early after a period
    in_step = (lost == 0) & (taken > 0)
    were_ready = np.minimum(early(first), early(now)) >= 0
    left = np.where(lost > 0, early(now) // np.maximum(lost, 1) + 1, NEVER)
    has_none = now.stocks[: sources.size] == 0
    return np.where(in_step | has_none, NEVER, np.where(were_ready, left, 0))
