"""Lower bounds of the cycles of an all-reduce by a ring (theory/grid.md §6)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from tilewright.mapper.grid.schemes.ring_reduction import RingReduction
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.profiles.profile import Profile


def least_slice(ring: RingReduction, profile: Profile) -> int:
    """Return the most cycles in which an element of a ring sends the first slice of its tile."""
    load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    return load + ceil(ring.slice_words * Fraction(profile.cycles_per_wavelet))


def ring_cycles(ring: RingReduction, profile: Profile) -> float:
    """Return cycles that a ring takes at least, from the time when all elements have their tiles.

    An element sends a chunk, adds to all others, and receives these again, a word in each cycle. A
    word of a chunk passes all elements but the last one before that sends it to the farthest one.
    """
    load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    others = ring.elements - 1
    words = 3 * load + (ring.elements + others) * ring.chunk_words
    way_on = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
    step = way_on + profile.hop_cycles
    way = load + others * step + way_on + -(-others // 2) * profile.hop_cycles + ring.chunk_words
    return float(max(words, way))


def ring_end(ring: RingReduction, work: BodyCycles, output: str, profile: Profile) -> float:
    """Return the least cycle at which an element of a ring is done, by its own work alone.

    work: all of it, without waiting; `output`: name of the tensor. Behind its last addition it
    receives the chunks of all others.
    """
    load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    added = work.total - work.since[f"add {output}"]
    return added + load + (ring.elements - 1) * ring.chunk_words
